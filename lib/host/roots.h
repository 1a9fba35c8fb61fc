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
  std::string name; // as Python knows it
};

struct Roots {
  std::vector<Root> load;        // initialisers, IFUNC resolvers, the entry point of an executable
  std::vector<Root> import;      // PyInit_*, and the create and exec slots of the modules that they return
  std::vector<Root> exports;     // other exported functions
  bool is_python_module = false; // has a PyInit_*
  bool cut = false;              // too many functions to look for all module definitions
};
Roots find_roots(const Graph &graph, size_t file);

// The functions of the PyMethodDef tables in the file's relocated data.
std::vector<PythonFunction> find_python_functions(const Graph &graph, size_t file);

} // namespace isa_audit::host
