#include "program.h"

#include <algorithm>

#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace ELF = llvm::ELF;

namespace {

constexpr uint64_t kBlock = 256;                     // of the index from addresses to functions
constexpr uint64_t kJobBytes = uint64_t{512} * 1024; // text swept by one job
constexpr int kRounds = 4;                           // of looking into gaps

// What each instruction class means, without what every x86-64 CPU has.
struct ClassTable {
  std::vector<IsaSet> faulting, silent;
  ClassSet bmi_only; // TZCNT
  ClassSet any_faulting, any_silent;
  ClassTable() {
    const auto count = static_cast<uint16_t>(insn_class_count());
    for (uint16_t i = 0; i < count; ++i) {
      faulting.push_back(insn_class(i).features - psabi_level(1));
      silent.push_back(insn_class(i).silent);
      if (silent.back().contains(Feature::bmi)) bmi_only.insert(i);
      if (!faulting.back().empty()) any_faulting.insert(i);
      if (!silent.back().empty()) any_silent.insert(i);
    }
  }
};
const ClassTable &class_table() {
  static const ClassTable kTable;
  return kTable;
}

// JB, JAE, JE, JNE, JBE, JA and their SETcc and CMOVcc: readers of the flags that TZCNT sets and BSF does not.
bool reads_carry_or_zero(const Insn &i) {
  const uint8_t condition = i.opcode & 15;
  if (condition < 2 || condition > 7) return false;
  if (i.map == Map::one) return (i.opcode & 0xf0) == 0x70;
  return i.map == Map::x0f && ((i.opcode & 0xf0) == 0x80 || (i.opcode & 0xf0) == 0x90 || (i.opcode & 0xf0) == 0x40);
}

} // namespace

IsaSet faulting(const ClassSet &classes) {
  IsaSet set;
  if (!classes.intersects(class_table().any_faulting)) return set;
  const auto count = static_cast<uint16_t>(insn_class_count());
  for (uint16_t i = 0; i < count; ++i)
    if (classes.contains(i)) set |= class_table().faulting[i];
  return set;
}

IsaSet silent(const ClassSet &classes) {
  IsaSet set;
  if (!classes.intersects(class_table().any_silent)) return set;
  const auto count = static_cast<uint16_t>(insn_class_count());
  for (uint16_t i = 0; i < count; ++i)
    if (classes.contains(i)) set |= class_table().silent[i];
  return set;
}

// ------------------------------------------------------------------ one function

namespace {

bool is_padding(const Insn &i) {
  return (i.map == Map::one && (i.opcode == 0x90 || i.opcode == 0xcc)) || (i.map == Map::x0f && i.opcode == 0x1f);
}

// The pass over one function: decodes, and hands on what leads out of it.
class Sweeper {
public:
  Sweeper(const Program &program, Function &f, std::vector<Edge> &edges, std::vector<uint64_t> &outside,
          std::vector<std::pair<uint64_t, uint64_t>> &references)
      : program_(program), image_(program.image()), f_(f), edges_(edges), outside_(outside), references_(references) {}

  void run();

private:
  void step(const Insn &insn, const uint8_t *at, uint64_t address);
  void branch(uint64_t target, uint64_t address, EdgeKind kind, bool conditional);
  void slot(uint64_t slot, uint64_t address, EdgeKind kind);
  void reference(const Insn &insn, const uint8_t *at, uint64_t address);
  void add(const Program::Callee &callee, uint64_t address, EdgeKind kind, bool conditional);
  uint64_t resume_after(uint64_t address) const;

  const Program &program_;
  const Image &image_;
  Function &f_;
  std::vector<Edge> &edges_;
  std::vector<uint64_t> &outside_;
  std::vector<std::pair<uint64_t, uint64_t>> &references_;
  std::vector<uint64_t> inside_; // targets of branches within the function
  uint64_t furthest_ = 0;
  bool ends_ = false; // the last instruction does not fall through
  bool call_ = false;
};

void Sweeper::run() {
  const CodeRange *range = image_.code_at(f_.start);
  if (!range) return;
  const uint64_t limit = std::min(f_.end, range->end);
  uint64_t address = f_.start;
  uint16_t pending = 0; // TZCNT, until it is known whether someone looks at its flags
  while (address < limit) {
    const uint8_t *at = range->bytes + (address - range->start);
    Insn insn;
    if (!decode({at, static_cast<size_t>(range->end - address)}, insn) || insn.length > limit - address) {
      address = f_.open ? limit : resume_after(address);
      if (f_.open) f_.end = std::min(f_.end, address);
      continue;
    }
    f_.decoded += insn.length;
    if (pending && reads_carry_or_zero(insn)) f_.classes.insert(pending);
    pending = 0;
    if (insn.klass) {
      if (class_table().bmi_only.contains(insn.klass))
        pending = insn.klass;
      else
        f_.classes.insert(insn.klass);
    }
    const bool ended = ends_ && is_padding(insn);
    ends_ = call_ = false;
    step(insn, at, address);
    ends_ |= ended;
    if (insn.rip_relative()) reference(insn, at, address);
    address += insn.length;
    if (f_.open && ends_ && address > furthest_) {
      f_.end = address;
      break;
    }
  }
  // A second entry in the middle of a function: the first part runs into the second.
  if (!f_.open && !ends_ && !call_ && f_.end < range->end && f_.decoded == f_.end - f_.start)
    add({f_.end, false, true}, f_.end - 1, EdgeKind::jump, false);
}

// The first branch target after bytes that are no code.
uint64_t Sweeper::resume_after(uint64_t address) const {
  uint64_t best = f_.end;
  for (const uint64_t target : inside_)
    if (target > address && target < best) best = target;
  return best;
}

void Sweeper::add(const Program::Callee &callee, uint64_t address, EdgeKind kind, bool conditional) {
  if (!callee.known) return;
  if (!callee.external && !image_.code_at(callee.target)) return;
  Edge e;
  e.target = callee.target;
  e.site = static_cast<uint32_t>(address - f_.start);
  e.kind = kind;
  e.conditional = conditional;
  e.external = callee.external;
  if (kind == EdgeKind::jump) f_.returns = true;
  edges_.push_back(e);
  if (!callee.external) outside_.push_back(callee.target);
}

void Sweeper::branch(uint64_t target, uint64_t address, EdgeKind kind, bool conditional) {
  if (target >= f_.start && target < f_.end) {
    if (target > address) {
      inside_.push_back(target);
      furthest_ = std::max(furthest_, target);
    }
    if (kind == EdgeKind::jump || target != f_.start) return;
  }
  add(program_.resolve(target), address, kind, conditional);
}

void Sweeper::slot(uint64_t slot, uint64_t address, EdgeKind kind) {
  if (image_.may_have_relocation(slot)) add(program_.resolve_slot(slot), address, kind, false);
}

void Sweeper::reference(const Insn &insn, const uint8_t *at, uint64_t address) {
  const uint64_t target = address + insn.length + static_cast<uint64_t>(displacement(at, insn));
  if (insn.map == Map::one && insn.opcode == 0xff) return; // a call through a slot
  if (!image_.is_writable(target)) return;
  if (image_.may_have_relocation(target)) {
    const std::optional<uint64_t> pointer = image_.pointer_at(target);
    if (pointer && image_.code_at(*pointer)) return;
    if (pointer && image_.is_writable(*pointer)) references_.emplace_back(*pointer, f_.start);
  }
  references_.emplace_back(target, f_.start);
}

void Sweeper::step(const Insn &insn, const uint8_t *at, uint64_t address) {
  const uint64_t next = address + insn.length;
  const uint8_t op = insn.opcode;
  if (insn.map == Map::one) {
    switch (op) {
    case 0xe8: call_ = true; return branch(next + static_cast<uint64_t>(immediate(at, insn)), address, EdgeKind::call, false);
    case 0xe9:
    case 0xeb: ends_ = true; return branch(next + static_cast<uint64_t>(immediate(at, insn)), address, EdgeKind::jump, false);
    case 0xc3:
    case 0xc2:
    case 0xcb:
    case 0xcf: f_.returns = true; [[fallthrough]];
    case 0xcc:
    case 0xf4: ends_ = true; return;
    case 0xff:
      ends_ = insn.reg() == 4;
      call_ = insn.reg() == 2;
      f_.returns |= ends_;
      f_.indirect |= (ends_ || call_) && !insn.rip_relative();
      if (insn.rip_relative() && (ends_ || call_))
        slot(next + static_cast<uint64_t>(displacement(at, insn)), address, ends_ ? EdgeKind::jump : EdgeKind::call);
      return;
    case 0x8d:
      if (insn.rip_relative()) {
        const uint64_t target = next + static_cast<uint64_t>(displacement(at, insn));
        if (image_.code_at(target) && !(target > f_.start && target < f_.end))
          add(program_.resolve(target), address, EdgeKind::address, false);
      }
      return;
    case 0x8b:
      if (insn.rip_relative() && !insn.segment)
        slot(next + static_cast<uint64_t>(displacement(at, insn)), address, EdgeKind::address);
      return;
    default:
      if ((op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0)
        return branch(next + static_cast<uint64_t>(immediate(at, insn)), address, EdgeKind::jump, true);
      if ((op & 0xf8) == 0xb8 && insn.imm_size == 4 && image_.elf().type() == ELF::ET_EXEC) {
        const uint64_t target = static_cast<uint32_t>(immediate(at, insn));
        if (image_.code_at(target) && !(target > f_.start && target < f_.end))
          add(program_.resolve(target), address, EdgeKind::address, false);
      }
      return;
    }
  }
  if (insn.map != Map::x0f) return;
  if ((op & 0xf0) == 0x80) return branch(next + static_cast<uint64_t>(immediate(at, insn)), address, EdgeKind::jump, true);
  if (op == 0x0b) ends_ = true;                                                            // UD2
  if (op == 0xa2) f_.detects = true;                                                       // CPUID
  if (op == 0x01 && insn.modrm == 0xd0) f_.detects = true;                                 // XGETBV
  if (op == 0x1e && insn.pp == 2 && insn.mod() == 3 && insn.reg() == 1) f_.detects = true; // RDSSP
}

} // namespace

// ------------------------------------------------------------------ all functions

Program::Program(const Image &image, const ParallelFor &parallel) : image_(&image) {
  for (const CodeRange &r : image.code()) {
    if (!r.plt) continue;
    Stubs s{r.start, r.end, std::vector<uint64_t>((r.end - r.start) / 8 + 1)};
    for (uint64_t at = r.start; at < r.end; at += 8)
      if (const std::optional<uint64_t> slot = image.plt_slot(at)) s.slot[(at - r.start) / 8] = *slot;
    stubs_.push_back(std::move(s));
  }
  find_starts();
  make_functions({});

  std::vector<uint64_t> outside;
  std::vector<uint32_t> todo(functions_.size());
  for (uint32_t i = 0; i < todo.size(); ++i) todo[i] = i;
  sweep(std::move(todo), parallel, outside);
  for (const Relocation &r : image.relocations())
    if (!r.symbol && image.code_at(r.value)) outside.push_back(r.value);

  for (int round = 0; round < kRounds; ++round) {
    index_functions();
    std::ranges::sort(outside);
    outside.erase(std::unique(outside.begin(), outside.end()), outside.end());
    std::erase_if(outside, [&](uint64_t a) {
      const CodeRange *r = image.code_at(a);
      return !r || r->plt || function_at(a) != kNoFunction ||
             std::ranges::any_of(data_, [&](const Extent &d) { return d.contains(a); });
    });
    if (outside.empty()) break;
    const size_t before = functions_.size();
    make_functions(std::move(outside));
    outside.clear();
    todo.clear();
    for (auto i = static_cast<uint32_t>(before); i < functions_.size(); ++i) todo.push_back(i);
    sweep(std::move(todo), parallel, outside);
    std::ranges::sort(functions_, {}, &Function::start);
  }
  index_functions();
  index_references();
}

void Program::index_references() {
  std::ranges::sort(found_);
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  references_.reserve(found_.size());
  for (const auto &[address, start] : found_)
    if (const uint32_t function = function_at(start); function != kNoFunction) references_.push_back({address, function});
  found_ = {};
}

std::span<const Reference> Program::references(uint64_t address, uint64_t size) const {
  if (address + size < address) return {};
  const auto first = std::ranges::lower_bound(references_, address, {}, &Reference::address);
  const auto last = std::ranges::lower_bound(references_, address + size, {}, &Reference::address);
  return {first, last};
}

void Program::find_starts() {
  const Elf &elf = image_->elf();
  const auto start_at = [&](uint64_t address, uint64_t size) {
    const CodeRange *r = image_->code_at(address);
    if (r && !r->plt) starts_.push_back({address, size && address + size > address ? std::min(address + size, r->end) : 0});
  };
  for (const Extent &e : image_->unwind_ranges()) start_at(e.start, e.end - e.start);
  for (const bool dynamic : {false, true}) {
    if (dynamic && elf.type() == ELF::ET_REL) continue;
    elf.for_each_symbol(dynamic, [&](const ElfSymbol &s) {
      if (s.section == ELF::SHN_UNDEF || s.section >= ELF::SHN_LORESERVE) return;
      uint64_t address = s.value;
      if (elf.type() == ELF::ET_REL && s.section < elf.sections().size()) address += elf.sections()[s.section].offset;
      if (s.type == ELF::STT_FUNC || s.type == ELF::STT_GNU_IFUNC)
        start_at(address, s.size);
      else if (s.type == ELF::STT_NOTYPE && s.binding != ELF::STB_LOCAL)
        start_at(address, s.size);
      else if (s.type == ELF::STT_OBJECT && image_->code_at(address))
        data_.push_back({address, address + std::max<uint64_t>(s.size, 1)});
    });
  }
  for (const uint64_t address : image_->initialisers()) start_at(address, 0);
  for (const Relocation &r : image_->relocations())
    if (r.resolver) start_at(r.value, 0);
  if (elf.type() == ELF::ET_EXEC || elf.type() == ELF::ET_DYN) {
    const uint8_t *header = elf.file().data(); // e_entry
    if (elf.file().size() >= 32) start_at(read_le<uint64_t>(header + 24), 0);
  }
  std::ranges::sort(starts_,
                    [](const Start &a, const Start &b) { return a.start != b.start ? a.start < b.start : a.end > b.end; });
  const auto same = [](const Start &a, const Start &b) { return a.start == b.start; };
  starts_.erase(std::unique(starts_.begin(), starts_.end(), same), starts_.end());
  std::ranges::sort(data_, {}, &Extent::start);
}

// The first call makes a function of every start. Later ones add functions for `more`, addresses in gaps.
void Program::make_functions(std::vector<uint64_t> more) {
  const size_t before = functions_.size();
  if (more.empty()) {
    uint64_t cover = 0; // end of the ranges so far: a start without size inside one ends with it
    for (size_t i = 0; i < starts_.size(); ++i) {
      const Start &s = starts_[i];
      const CodeRange *range = image_->code_at(s.start);
      Function f;
      f.start = s.start;
      f.open = s.end == 0 && s.start >= cover;
      f.end = s.end ? s.end : f.open ? range->end : cover;
      cover = std::max(cover, s.end);
      f.end = std::min(f.end, range->end);
      if (i + 1 < starts_.size()) f.end = std::min(f.end, starts_[i + 1].start);
      functions_.push_back(f);
    }
  }
  for (size_t i = 0; i < more.size(); ++i) {
    Function f;
    f.start = more[i];
    f.open = true;
    f.end = image_->code_at(f.start)->end;
    const auto next = std::upper_bound(functions_.begin(), functions_.begin() + static_cast<ptrdiff_t>(before), f.start,
                                       [](uint64_t a, const Function &g) { return a < g.start; });
    if (next != functions_.begin() + static_cast<ptrdiff_t>(before)) f.end = std::min(f.end, next->start);
    if (i + 1 < more.size()) f.end = std::min(f.end, more[i + 1]);
    functions_.push_back(f);
  }
  // Data in text ends a function.
  for (size_t i = before; i < functions_.size() && !data_.empty(); ++i) {
    const auto d = std::ranges::upper_bound(data_, functions_[i].start, {}, &Extent::start);
    if (d != data_.end()) functions_[i].end = std::min(functions_[i].end, d->start);
  }
}

void Program::sweep(std::vector<uint32_t> todo, const ParallelFor &parallel, std::vector<uint64_t> &outside) {
  std::vector<size_t> jobs{0};
  uint64_t size = 0;
  for (size_t i = 0; i < todo.size(); ++i) {
    size += functions_[todo[i]].end - functions_[todo[i]].start;
    if (size < kJobBytes && i + 1 < todo.size()) continue;
    jobs.push_back(i + 1);
    size = 0;
  }
  std::vector<Part> parts(jobs.size() - 1);
  parallel(parts.size(), [&](size_t job) {
    Part &part = parts[job];
    for (size_t i = jobs[job]; i < jobs[job + 1]; ++i) {
      Function &f = functions_[todo[i]];
      f.first_edge = static_cast<uint32_t>(part.edges.size());
      Sweeper(*this, f, part.edges, part.outside, part.references).run();
      f.edge_count = static_cast<uint32_t>(part.edges.size()) - f.first_edge;
    }
    std::ranges::sort(part.outside);
    part.outside.erase(std::unique(part.outside.begin(), part.outside.end()), part.outside.end());
  });
  for (size_t job = 0; job < parts.size(); ++job) {
    for (size_t i = jobs[job]; i < jobs[job + 1]; ++i) functions_[todo[i]].first_edge += static_cast<uint32_t>(edges_.size());
    edges_.insert(edges_.end(), parts[job].edges.begin(), parts[job].edges.end());
    outside.insert(outside.end(), parts[job].outside.begin(), parts[job].outside.end());
    found_.insert(found_.end(), parts[job].references.begin(), parts[job].references.end());
    parts[job] = {};
  }
}

void Program::index_functions() {
  index_.clear();
  uint32_t next = 0;
  for (const CodeRange &r : image_->code()) {
    Index index{r.start, r.end, {}};
    for (uint64_t block = r.start; block < r.end; block += kBlock) {
      while (next < functions_.size() && functions_[next].start <= block) ++next;
      index.first.push_back(next ? next - 1 : 0);
    }
    index_.push_back(std::move(index));
  }
}

uint32_t Program::function_at(uint64_t address) const {
  for (const Index &index : index_) {
    if (address < index.start || address >= index.end) continue;
    uint32_t i = index.first[(address - index.start) / kBlock];
    while (i + 1 < functions_.size() && functions_[i + 1].start <= address) ++i;
    if (i < functions_.size() && functions_[i].start <= address && address < functions_[i].end) return i;
  }
  return kNoFunction;
}

std::span<const uint8_t> Program::bytes(const Function &f) const {
  const CodeRange *range = image_->code_at(f.start);
  if (!range) return {};
  return {range->bytes + (f.start - range->start), static_cast<size_t>(std::min(f.end, range->end) - f.start)};
}

Program::Callee Program::resolve(uint64_t target) const {
  for (const Stubs &s : stubs_) {
    if (target < s.start || target >= s.end) continue;
    const uint64_t slot = (target - s.start) % 8 == 0 ? s.slot[(target - s.start) / 8] : 0;
    return slot ? resolve_slot(slot) : Callee{};
  }
  return {target, false, true};
}

Program::Callee Program::resolve_slot(uint64_t slot) const {
  const Relocation *r = image_->relocation_at(slot);
  if (r && r->symbol) {
    const std::optional<DynamicSymbol> s = image_->symbol(r->symbol);
    if (!s) return {};
    if (s->defined && s->type != ELF::STT_GNU_IFUNC) return {s->value + r->value, false, true};
    return {r->symbol, true, true};
  }
  if (r && r->resolver) return {}; // whatever the resolver chooses: guarded by it
  const std::optional<uint64_t> pointer = image_->pointer_at(slot);
  return pointer ? Callee{*pointer, false, true} : Callee{};
}

} // namespace isa_audit::host
