#include "names.h"

#include <algorithm>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Demangle/Demangle.h"

namespace isa_audit::host {

namespace ELF = llvm::ELF;

std::map<uint64_t, FunctionName> function_names(const Image &image, std::vector<uint64_t> addresses) {
  std::ranges::sort(addresses);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  struct Best {
    std::string_view name;
    uint64_t start = 0;
    bool global = false, weak = false;
  };
  std::vector<Best> best(addresses.size());
  const Elf &elf = image.elf();
  for (const bool dynamic : {false, true}) {
    elf.for_each_symbol(dynamic, [&](const ElfSymbol &s) {
      if (s.section == ELF::SHN_UNDEF || s.section >= ELF::SHN_LORESERVE || s.name.empty()) return;
      if (s.type != ELF::STT_FUNC && s.type != ELF::STT_GNU_IFUNC && s.type != ELF::STT_NOTYPE) return;
      uint64_t start = s.value;
      if (elf.type() == ELF::ET_REL && s.section < elf.sections().size()) start += elf.sections()[s.section].offset;
      const uint64_t end = start + std::max<uint64_t>(s.size, 1);
      const bool global = s.binding != ELF::STB_LOCAL;
      for (auto it = std::ranges::lower_bound(addresses, start); it != addresses.end() && *it < end; ++it) {
        Best &b = best[static_cast<size_t>(it - addresses.begin())];
        // The nearest start; of several names there, a global one, then the first by spelling: never by table order.
        const bool better = b.name.empty() || start > b.start ||
                            (start == b.start && (global > b.global || (global == b.global && s.name < b.name)));
        if (better) b = {s.name, start, global, s.binding == ELF::STB_WEAK || s.binding == ELF::STB_GNU_UNIQUE};
      }
    });
  }
  std::map<uint64_t, FunctionName> names;
  for (size_t i = 0; i < addresses.size(); ++i)
    if (!best[i].name.empty()) names[addresses[i]] = {llvm::demangle(best[i].name), best[i].weak};
  return names;
}

} // namespace isa_audit::host
