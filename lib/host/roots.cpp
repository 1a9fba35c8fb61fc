// PyModuleDef and PyMethodDef as CPython lays them out (Include/moduleobject.h, methodobject.h): a module definition starts
// with PyModuleDef_Base (object header of 16 bytes, 32 in free-threaded builds, then m_init, m_index, m_copy), followed by
// m_name, m_doc, m_size, m_methods, m_slots. A slot is {int, pointer}; Py_mod_create is 1, Py_mod_exec 2. A method is {name,
// function, flags, doc}. All pointers are relocations, so the tables can be read before anything runs. Without the exec
// slots every Cython module looks harmless: its PyInit only returns the definition.
#include "roots.h"

#include <algorithm>
#include <set>

#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace ELF = llvm::ELF;

namespace {

constexpr uint64_t kBaseSizes[] = {40, 56}; // of PyModuleDef_Base
constexpr uint64_t kSlotsAt = 32;           // from m_name
constexpr int kMaxSlots = 64;
constexpr uint64_t kMethodSize = 32; // of a PyMethodDef

bool is_identifier(std::string_view text) {
  if (text.empty() || text.size() > 200) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (!letter(text[0])) return false;
  return std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; });
}

// Calls `visit` with each data address that the instructions of `f` refer to.
template <typename Visit> void for_each_data_reference(const Program &program, const Function &f, Visit visit) {
  const std::span<const uint8_t> code = program.bytes(f);
  const Image &image = program.image();
  for (uint32_t at = 0; (at = program.skip_data(f, at)) < code.size();) {
    Insn insn;
    if (!decode(code.subspan(at), insn)) {
      ++at;
      continue;
    }
    if (insn.rip_relative()) {
      const uint64_t address = f.start + at + insn.length + static_cast<uint64_t>(displacement(code.data() + at, insn));
      visit(address);
      if (insn.map == Map::one && insn.opcode == 0x8b && image.may_have_relocation(address))
        if (const std::optional<uint64_t> pointer = image.pointer_at(address)) visit(*pointer);
    } else if (insn.map == Map::one && (insn.opcode & 0xf8) == 0xb8 && insn.imm_size == 4) {
      visit(static_cast<uint32_t>(immediate(code.data() + at, insn)));
    }
    at += insn.length;
  }
}

class ModuleFinder {
public:
  ModuleFinder(const Graph &graph, size_t file, Roots &roots) : graph_(graph), file_(file), roots_(roots) {}

  // Adds the slots of every module definition that the functions reached from `start` by calls refer to.
  void run(Node start, std::string_view module) {
    std::vector<Node> todo{start};
    std::set<Node> seen{start};
    const Program &program = graph_.program(file_);
    while (!todo.empty()) {
      const Node node = todo.back();
      todo.pop_back();
      const Function &f = graph_.function(file_, node);
      for_each_data_reference(program, f, [&](uint64_t address) { try_definition(address, module); });
      for (const Edge &e : program.edges(f)) {
        if (e.kind == EdgeKind::address || e.external) continue;
        const Node next = graph_.node_at(file_, e.target);
        if (next == kNoNode || seen.contains(next)) continue;
        if (seen.size() >= kMaxFunctions) {
          roots_.cut = true;
          continue;
        }
        seen.insert(next);
        todo.push_back(next);
      }
    }
  }

private:
  static constexpr size_t kMaxFunctions = 20000;

  void try_definition(uint64_t address, std::string_view module) {
    const Image &image = graph_.program(file_).image();
    for (const uint64_t base : kBaseSizes) {
      const uint64_t name_at = address + base;
      if (!image.may_have_relocation(name_at) || !image.may_have_relocation(name_at + kSlotsAt)) continue;
      const std::optional<uint64_t> name = image.pointer_at(name_at), slots = image.pointer_at(name_at + kSlotsAt);
      if (!name || !slots || !is_identifier(image.string_at(*name))) continue;
      if (!seen_.insert(*slots).second) continue;
      for (int i = 0; i < kMaxSlots; ++i) {
        const uint64_t at = *slots + 16 * static_cast<uint64_t>(i);
        const uint8_t *slot = image.bytes_at(at, 16);
        const uint32_t id = slot ? read_le<uint32_t>(slot) : 0;
        if (id == 0) break;
        const std::optional<uint64_t> function = id <= 2 ? image.pointer_at(at + 8) : std::nullopt;
        const Node node = function ? graph_.node_at(file_, *function) : kNoNode;
        if (node == kNoNode) continue;
        roots_.import.push_back({node, (id == 1 ? "create slot of " : "exec slot of ") + std::string(module)});
        run(node, module);
      }
    }
  }

  const Graph &graph_;
  size_t file_;
  Roots &roots_;
  std::set<uint64_t> seen_;
};

} // namespace

Roots find_roots(const Graph &graph, size_t file) {
  Roots roots;
  const Image &image = graph.program(file).image();
  const auto add = [&](std::vector<Root> &list, uint64_t address, std::string name) {
    const Node node = graph.node_at(file, address);
    if (node != kNoNode) list.push_back({node, std::move(name)});
  };
  for (const uint64_t address : image.initialisers()) add(roots.load, address, "initialiser");
  for (const Relocation &r : image.relocations())
    if (r.resolver) add(roots.load, r.value, "IFUNC resolver");
  for (const DynamicSymbol &s : image.exports()) {
    if (s.type == ELF::STT_GNU_IFUNC) {
      add(roots.load, s.value, "IFUNC resolver");
    } else if (s.name.starts_with("PyInit_") && s.type == ELF::STT_FUNC) {
      roots.is_python_module = true;
      const Node node = graph.node_at(file, s.value);
      if (node == kNoNode) continue;
      roots.import.push_back({node, std::string(s.name)});
      ModuleFinder(graph, file, roots).run(node, s.name.substr(7));
    } else if (s.type == ELF::STT_FUNC || s.type == ELF::STT_NOTYPE) {
      if (image.code_at(s.value)) add(roots.exports, s.value, std::string(s.name));
    }
  }
  return roots;
}

std::vector<PythonFunction> find_python_functions(const Graph &graph, size_t file) {
  std::vector<PythonFunction> functions;
  const Image &image = graph.program(file).image();
  const std::vector<Relocation> &relocations = image.relocations();
  uint64_t table = 0, next = 0; // the next entry of the table
  for (size_t i = 0; i + 1 < relocations.size(); ++i) {
    const Relocation &name = relocations[i], &function = relocations[i + 1];
    if (function.where != name.where + 8 || name.symbol || name.resolver) continue;
    const uint8_t *entry = image.bytes_at(name.where, 32);
    if (!entry) continue;
    const auto flags = read_le<uint32_t>(entry + 16);
    if (flags == 0 || flags > 0x3ff || read_le<uint32_t>(entry + 20) != 0) continue;
    const std::string_view text = image.string_at(name.value);
    if (!is_identifier(text)) continue;
    // The next word is the doc string: null or a pointer.
    if (read_le<uint64_t>(entry + 24) != 0 && !image.relocation_at(name.where + 24)) continue;
    const std::optional<uint64_t> address = image.pointer_at(function.where);
    const Node node = address && image.code_at(*address) ? graph.node_at(file, *address) : kNoNode;
    if (node == kNoNode || graph.function(file, node).start != *address) continue;
    if (name.where != next) table = name.where;
    next = name.where + kMethodSize;
    functions.push_back({node, std::string(text), table});
  }
  return functions;
}

std::vector<Node> owners_of_table(const Graph &graph, size_t file, uint64_t address) {
  constexpr uint64_t kObjectReach = 512; // from the start of an object to its pointer: 64 in PyModuleDef, 232 in PyTypeObject
  const Program &program = graph.program(file);
  std::vector<Node> owners;
  const auto add = [&](std::span<const Reference> references) {
    for (const Reference &r : references) owners.push_back(graph.first(file) + r.function);
  };
  add(program.references(address, 1));
  for (const Relocation &r : program.image().relocations()) {
    if (r.value != address || !r.is_local()) continue;
    const uint64_t from = r.where > kObjectReach ? r.where - kObjectReach : 0;
    const std::span<const Reference> near = program.references(from, r.where + 1 - from);
    if (!near.empty()) add(program.references(near.back().address, 1));
  }
  return owners;
}

} // namespace isa_audit::host
