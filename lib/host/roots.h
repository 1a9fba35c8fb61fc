// Where the loader and the Python interpreter enter a file.
#pragma once

#include <string>
#include <vector>

#include "graph.h"

namespace isa_audit::host {

struct Root {
  Node node = kNoNode;
  std::string name; // "PyInit__C", ".init_array", "exec slot of _C"
};

struct PythonFunction {
  Node node = kNoNode;
  std::string name;   // as Python knows it
  uint64_t table = 0; // address of the table that it is in
};

struct Roots {
  std::vector<Root> load;        // initialisers, IFUNC resolvers, the entry point of an executable
  std::vector<Root> import;      // PyInit_*, and the create and exec slots of the modules that they return
  std::vector<Root> exports;     // other exported functions
  bool is_python_module = false; // has a PyInit_*
  bool cut = false;              // too many functions to look for all module definitions
};
Roots find_roots(const Graph &graph, size_t file);

// The functions of the PyMethodDef tables in the file's relocated data; those of one table one after the other.
std::vector<PythonFunction> find_python_functions(const Graph &graph, size_t file);
// The functions that refer to the table at `address`, or to the object (a module definition, a type) that points to it.
std::vector<Node> owners_of_table(const Graph &graph, size_t file, uint64_t address);

} // namespace isa_audit::host
