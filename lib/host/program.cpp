#include "program.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "sweep.h"
#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace ELF = llvm::ELF;

namespace {

constexpr uint64_t kBlock = 256;                     // of the index from addresses to functions
constexpr uint64_t kJobBytes = uint64_t{512} * 1024; // text swept by one job
constexpr int kRounds = 4;                           // of looking into gaps

// Two sorted parts as one. (std::inplace_merge would do with less memory, but clang finds libstdc++'s deprecated.)
template <typename T, typename Less> std::vector<T> merged(const std::vector<T> &list, size_t middle, Less less) {
  std::vector<T> out;
  out.reserve(list.size());
  const auto at = list.begin() + static_cast<ptrdiff_t>(middle);
  std::merge(list.begin(), at, at, list.end(), std::back_inserter(out), less);
  return out;
}

// What each instruction class means, without what every x86-64 CPU has.
struct ClassTable {
  std::vector<IsaSet> faulting, silent;
  ClassSet any_faulting, any_silent;
  ClassTable() {
    const auto count = static_cast<uint16_t>(insn_class_count());
    for (uint16_t i = 0; i < count; ++i) {
      faulting.push_back(insn_class(i).features - psabi_level(1));
      silent.push_back(insn_class(i).silent);
      if (!faulting.back().empty()) any_faulting.insert(i);
      if (!silent.back().empty()) any_silent.insert(i);
    }
  }
};
const ClassTable &class_table() {
  static const ClassTable kTable;
  return kTable;
}

} // namespace

IsaSet faulting(const ClassSet &classes) {
  IsaSet set;
  classes.for_each_in(class_table().any_faulting, [&](uint16_t i) { set |= class_table().faulting[i]; });
  return set;
}

IsaSet silent(const ClassSet &classes) {
  IsaSet set;
  classes.for_each_in(class_table().any_silent, [&](uint16_t i) { set |= class_table().silent[i]; });
  return set;
}

// ------------------------------------------------------------------ all functions

Program::Program(const Image &image, const ParallelFor &parallel, std::vector<uint64_t> watched)
    : image_(&image), watched_(std::move(watched)) {
  for (const CodeRange &r : image.code()) {
    if (!r.plt) continue;
    Stubs s{r.start, r.end, std::vector<Callee>((r.end - r.start) / 8 + 1)};
    for (uint64_t at = r.start; at < r.end; at += 8)
      if (const std::optional<uint64_t> slot = image.plt_slot(at)) s.callees[(at - r.start) / 8] = resolve_slot(*slot);
    stubs_.push_back(std::move(s));
  }
  find_starts();
  make_functions();
  index_functions();
  std::vector<uint64_t> called, taken;
  sweep(0, parallel, called, taken);
  for (const Relocation &r : image.relocations())
    if (r.is_local() && image.code_at(r.value)) taken.push_back(r.value);

  for (int round = 0; round < kRounds; ++round) {
    keep_gaps(called);
    keep_gaps(taken);
    if (called.empty() && taken.empty()) break;
    const size_t before = functions_.size();
    fill_gaps(std::move(called), std::move(taken));
    called.clear();
    taken.clear();
    sweep(before, parallel, called, taken);
    const auto fresh = functions_.begin() + static_cast<ptrdiff_t>(before);
    functions_.erase(std::remove_if(fresh, functions_.end(), [](const Function &f) { return f.referred && f.start == f.end; }),
                     functions_.end());
    if (functions_.size() > before)
      functions_ = merged(functions_, before, [](const Function &a, const Function &b) { return a.start < b.start; });
    index_functions();
  }
  std::ranges::sort(holes_, {}, &Extent::start);
  index_references();
}

// Leaves those that lie in no function, no stub and no data.
void Program::keep_gaps(std::vector<uint64_t> &addresses) const {
  std::ranges::sort(addresses);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  std::erase_if(addresses, [&](uint64_t a) {
    const CodeRange *r = image_->code_at(a);
    if (!r || r->plt || function_at(a) != kNoFunction) return true;
    const auto d = std::ranges::upper_bound(data_, a, {}, &Extent::start);
    return d != data_.begin() && std::prev(d)->contains(a);
  });
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
  const size_t unwound = starts_.size(); // so far in order
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
  const auto before = [](const Start &a, const Start &b) { return a.start != b.start ? a.start < b.start : a.end > b.end; };
  const auto symbols = starts_.begin() + static_cast<ptrdiff_t>(unwound);
  if (!std::is_sorted(starts_.begin(), symbols, before)) std::sort(starts_.begin(), symbols, before);
  std::sort(symbols, starts_.end(), before);
  starts_ = merged(starts_, unwound, before);
  const auto same = [](const Start &a, const Start &b) { return a.start == b.start; };
  starts_.erase(std::unique(starts_.begin(), starts_.end(), same), starts_.end());
  std::ranges::sort(data_, {}, &Extent::start);
}

// Makes a function of every start.
void Program::make_functions() {
  functions_.reserve(starts_.size());
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
  starts_ = {};
  end_at_data(0);
}

// Adds functions for addresses in gaps.
void Program::fill_gaps(std::vector<uint64_t> called, std::vector<uint64_t> taken) {
  const size_t before = functions_.size();
  std::vector<uint64_t> more;
  std::ranges::set_union(called, taken, std::back_inserter(more));
  for (size_t i = 0; i < more.size(); ++i) {
    Function f;
    f.start = more[i];
    f.open = true;
    f.referred = !std::ranges::binary_search(called, f.start);
    f.end = image_->code_at(f.start)->end;
    const auto next = std::upper_bound(functions_.begin(), functions_.begin() + static_cast<ptrdiff_t>(before), f.start,
                                       [](uint64_t a, const Function &g) { return a < g.start; });
    if (next != functions_.begin() + static_cast<ptrdiff_t>(before)) f.end = std::min(f.end, next->start);
    if (i + 1 < more.size()) f.end = std::min(f.end, more[i + 1]);
    functions_.push_back(f);
  }
  end_at_data(before);
}

// Data in text ends a function.
void Program::end_at_data(size_t first) {
  for (size_t i = first; i < functions_.size() && !data_.empty(); ++i) {
    const auto d = std::ranges::upper_bound(data_, functions_[i].start, {}, &Extent::start);
    if (d != data_.end()) functions_[i].end = std::min(functions_[i].end, d->start);
  }
}

// Sweeps the functions from `first` on.
void Program::sweep(size_t first, const ParallelFor &parallel, std::vector<uint64_t> &called, std::vector<uint64_t> &taken) {
  std::vector<uint32_t> todo(functions_.size() - first);
  std::iota(todo.begin(), todo.end(), static_cast<uint32_t>(first));
  std::vector<size_t> jobs{0};
  uint64_t size = 0;
  for (size_t i = 0; i < todo.size(); ++i) {
    size += functions_[todo[i]].end - functions_[todo[i]].start;
    if (size < kJobBytes && i + 1 < todo.size()) continue;
    jobs.push_back(i + 1);
    size = 0;
  }
  std::vector<Sweeper::Found> parts(jobs.size() - 1);
  parallel(parts.size(), [&](size_t job) {
    Sweeper(*this, parts[job]).run(functions_, std::span(todo).subspan(jobs[job], jobs[job + 1] - jobs[job]));
    auto &references = parts[job].references; // many are the same
    std::ranges::sort(references);
    references.erase(std::unique(references.begin(), references.end()), references.end());
  });
  size_t edges = edges_.size(), references = found_.size();
  for (const Sweeper::Found &part : parts) {
    edges += part.edges.size();
    references += part.references.size();
  }
  edges_.reserve(edges);
  found_.reserve(references);
  for (size_t job = 0; job < parts.size(); ++job) {
    for (size_t i = jobs[job]; i < jobs[job + 1]; ++i) functions_[todo[i]].first_edge += static_cast<uint32_t>(edges_.size());
    edges_.insert(edges_.end(), parts[job].edges.begin(), parts[job].edges.end());
    called.insert(called.end(), parts[job].called.begin(), parts[job].called.end());
    taken.insert(taken.end(), parts[job].taken.begin(), parts[job].taken.end());
    found_.insert(found_.end(), parts[job].references.begin(), parts[job].references.end());
    holes_.insert(holes_.end(), parts[job].data.begin(), parts[job].data.end());
    parts[job] = {};
  }
}

void Program::index_functions() {
  index_.clear();
  indexed_ = functions_.size();
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

// The last function that starts at or before `address`.
uint32_t Program::candidate_at(uint64_t address) const {
  for (const Index &index : index_) {
    if (address < index.start || address >= index.end) continue;
    uint32_t i = index.first[(address - index.start) / kBlock];
    while (i + 1 < indexed_ && functions_[i + 1].start <= address) ++i;
    return i < indexed_ && functions_[i].start <= address ? i : kNoFunction;
  }
  return kNoFunction;
}

uint32_t Program::function_at(uint64_t address) const {
  const uint32_t i = candidate_at(address);
  return i != kNoFunction && address < functions_[i].end ? i : kNoFunction;
}

uint32_t Program::end_of_data(const Function &f, uint32_t at) const {
  const auto after = std::ranges::upper_bound(holes_, f.start + at, {}, &Extent::start);
  if (after == holes_.begin() || !std::prev(after)->contains(f.start + at)) return at;
  return static_cast<uint32_t>(std::min(std::prev(after)->end, f.end) - f.start);
}

bool Program::is_inside(uint64_t address) const {
  const uint32_t i = candidate_at(address);
  if (i == kNoFunction) return false;
  const Function &f = functions_[i]; // while an open one is swept, its end is not known to others
  return f.open ? f.start == address : address < f.end;
}

std::span<const uint8_t> Program::bytes(const Function &f) const {
  const CodeRange *range = image_->code_at(f.start);
  if (!range) return {};
  return {range->bytes + (f.start - range->start), static_cast<size_t>(std::min(f.end, range->end) - f.start)};
}

Program::Callee Program::resolve(uint64_t target) const {
  for (const Stubs &s : stubs_) {
    if (target < s.start || target >= s.end) continue;
    return (target - s.start) % 8 == 0 ? s.callees[(target - s.start) / 8] : Callee{};
  }
  return {target, false, true};
}

Program::Callee Program::resolve_slot(uint64_t slot) const {
  const Relocation *r = image_->relocation_at(slot);
  if (r && r->is_local()) return {r->value, false, true};
  if (r && r->symbol) return {r->symbol, true, true};
  if (r && r->resolver) return {}; // whatever the resolver chooses: guarded by it
  const std::optional<uint64_t> pointer = image_->pointer_at(slot);
  return pointer ? Callee{*pointer, false, true} : Callee{};
}

} // namespace isa_audit::host
