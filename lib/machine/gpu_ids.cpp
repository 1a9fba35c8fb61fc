// PCI device ids of AMD GPUs (vendor 0x1002), with the processor of each: for kernels whose KFD has no gfx_target_version, for
// machines without KFD, and for names.
//
// Sources: libhsakmt/src/topology.c (gfxip_lookup_table), rocminfo's rocm_agent_enumerator (ISA_TO_ID), KFD topologies
// published by users for the newer ones; names from libdrm's amdgpu.ids and the PCI id repository. Core versions:
// linux/drivers/gpu/drm/amd/amdkfd/kfd_device.c.
#include <algorithm>
#include <string>

#include "isa-audit/machine/kfd.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace isa_audit {

namespace {

struct IdRow {
  uint16_t id;
  std::string_view processor, name;
};

// By id.
constexpr IdRow kIds[] = {
    {0x1114, "gfx1152", "Radeon 860M / 840M Graphics"},
    {0x13c0, "gfx1036", "Radeon Graphics (Granite Ridge)"},
    {0x13f9, "gfx1013", ""},
    {0x13fa, "gfx1013", ""},
    {0x13fb, "gfx1013", ""},
    {0x13fc, "gfx1013", ""},
    {0x13fe, "gfx1013", ""},
    {0x143f, "gfx1013", ""},
    {0x150e, "gfx1150", "Radeon 890M / 880M Graphics"},
    {0x1586, "gfx1151", "Radeon 8060S / 8050S Graphics"},
    {0x15bf, "gfx1103", "Radeon 780M / 760M Graphics"},
    {0x15c8, "gfx1103", "Radeon 740M Graphics"},
    {0x15d8, "gfx902", "Radeon Vega Graphics (Picasso)"},
    {0x15dd, "gfx902", "Radeon Vega Graphics (Raven Ridge)"},
    {0x15e7, "gfx90c", "Radeon Vega Graphics (Barcelo)"},
    {0x1636, "gfx90c", "Radeon Vega Graphics (Renoir)"},
    {0x1638, "gfx90c", "Radeon Vega Graphics (Cezanne)"},
    {0x163f, "gfx1033", "Van Gogh"},
    {0x164c, "gfx90c", "Radeon Vega Graphics (Lucienne)"},
    {0x164d, "gfx1035", "Radeon Graphics (Rembrandt)"},
    {0x164e, "gfx1036", "Radeon Graphics (Raphael)"},
    {0x164f, "gfx1103", ""},
    {0x1681, "gfx1035", "Radeon 680M / 660M Graphics"},
    {0x1900, "gfx1103", "Radeon 780M Graphics (Hawk Point)"},
    {0x1901, "gfx1103", "Radeon Graphics (Hawk Point)"},
    {0x1902, "gfx1152", ""},
    {0x66a0, "gfx906", "Radeon Instinct MI60 / MI50"},
    {0x66a1, "gfx906", "Radeon Pro VII / Instinct MI50"},
    {0x66a2, "gfx906", ""},
    {0x66a3, "gfx906", "Radeon Pro Vega II"},
    {0x66a4, "gfx906", ""},
    {0x66a7, "gfx906", ""},
    {0x66af, "gfx906", "Radeon VII"},
    {0x67a0, "gfx701", ""},
    {0x67a1, "gfx701", ""},
    {0x67a2, "gfx701", ""},
    {0x67a8, "gfx701", ""},
    {0x67a9, "gfx701", ""},
    {0x67aa, "gfx701", ""},
    {0x67b0, "gfx701", "Radeon R9 290X / 390X"},
    {0x67b1, "gfx701", "Radeon R9 290 / 390"},
    {0x67b8, "gfx701", ""},
    {0x67b9, "gfx701", ""},
    {0x67ba, "gfx701", ""},
    {0x67be, "gfx701", ""},
    {0x67c0, "gfx803", ""},
    {0x67c1, "gfx803", ""},
    {0x67c2, "gfx803", ""},
    {0x67c4, "gfx803", ""},
    {0x67c7, "gfx803", ""},
    {0x67c8, "gfx803", ""},
    {0x67c9, "gfx803", ""},
    {0x67ca, "gfx803", ""},
    {0x67cc, "gfx803", ""},
    {0x67cf, "gfx803", ""},
    {0x67d0, "gfx803", ""},
    {0x67df, "gfx803", "Radeon RX 470 / 480 / 570 / 580"},
    {0x67e0, "gfx803", ""},
    {0x67e1, "gfx803", ""},
    {0x67e3, "gfx803", ""},
    {0x67e7, "gfx803", ""},
    {0x67e8, "gfx803", ""},
    {0x67e9, "gfx803", ""},
    {0x67eb, "gfx803", ""},
    {0x67ef, "gfx803", "Radeon RX 460 / 560"},
    {0x67ff, "gfx803", "Radeon RX 550 / 560"},
    {0x6860, "gfx900", "Radeon Instinct MI25"},
    {0x6861, "gfx900", "Radeon Pro WX 9100"},
    {0x6862, "gfx900", ""},
    {0x6863, "gfx900", "Radeon Vega Frontier Edition"},
    {0x6864, "gfx900", ""},
    {0x6867, "gfx900", ""},
    {0x6868, "gfx900", "Radeon Pro WX 8200"},
    {0x6869, "gfx900", ""},
    {0x686a, "gfx900", ""},
    {0x686b, "gfx900", ""},
    {0x686c, "gfx900", "Radeon Instinct MI25 MxGPU"},
    {0x686d, "gfx900", ""},
    {0x686e, "gfx900", ""},
    {0x687f, "gfx900", "Radeon RX Vega 56 / 64"},
    {0x694c, "gfx803", ""},
    {0x694e, "gfx803", ""},
    {0x694f, "gfx803", ""},
    {0x6980, "gfx803", ""},
    {0x6981, "gfx803", ""},
    {0x6985, "gfx803", ""},
    {0x6986, "gfx803", ""},
    {0x6987, "gfx803", ""},
    {0x6995, "gfx803", ""},
    {0x6997, "gfx803", ""},
    {0x699f, "gfx803", ""},
    {0x69a0, "gfx904", ""},
    {0x69a1, "gfx904", ""},
    {0x69a2, "gfx904", ""},
    {0x69a3, "gfx904", ""},
    {0x69af, "gfx904", ""},
    {0x6fdf, "gfx803", ""},
    {0x7300, "gfx803", "Radeon R9 Fury / Nano"},
    {0x730f, "gfx803", ""},
    {0x7310, "gfx1010", "Radeon Pro W5700X"},
    {0x7312, "gfx1010", "Radeon Pro W5700"},
    {0x7318, "gfx1010", ""},
    {0x731a, "gfx1010", ""},
    {0x731e, "gfx1010", ""},
    {0x731f, "gfx1010", "Radeon RX 5600 XT / 5700 / 5700 XT"},
    {0x7340, "gfx1012", "Radeon RX 5500 / 5500 XT"},
    {0x7341, "gfx1012", "Radeon Pro W5500"},
    {0x7347, "gfx1012", ""},
    {0x7360, "gfx1011", "Radeon Pro 5600M / V520"},
    {0x7362, "gfx1011", "Radeon Pro V520"},
    {0x7388, "gfx908", "Instinct MI100"},
    {0x738c, "gfx908", "Instinct MI100"},
    {0x738e, "gfx908", "Instinct MI100"},
    {0x7390, "gfx908", "Instinct MI100"},
    {0x73a0, "gfx1030", ""},
    {0x73a1, "gfx1030", "Radeon PRO V620"},
    {0x73a2, "gfx1030", ""},
    {0x73a3, "gfx1030", "Radeon PRO W6800"},
    {0x73a5, "gfx1030", "Radeon RX 6950 XT"},
    {0x73a8, "gfx1030", ""},
    {0x73a9, "gfx1030", ""},
    {0x73ab, "gfx1030", ""},
    {0x73ac, "gfx1030", ""},
    {0x73ad, "gfx1030", ""},
    {0x73ae, "gfx1030", ""},
    {0x73af, "gfx1030", "Radeon RX 6900 XT"},
    {0x73bf, "gfx1030", "Radeon RX 6800 / 6800 XT / 6900 XT"},
    {0x73c0, "gfx1031", ""},
    {0x73c1, "gfx1031", ""},
    {0x73c3, "gfx1031", ""},
    {0x73da, "gfx1031", ""},
    {0x73db, "gfx1031", ""},
    {0x73dc, "gfx1031", ""},
    {0x73dd, "gfx1031", ""},
    {0x73de, "gfx1031", ""},
    {0x73df, "gfx1031", "Radeon RX 6700 / 6700 XT / 6750 XT / 6800M"},
    {0x73e0, "gfx1032", ""},
    {0x73e1, "gfx1032", "Radeon PRO W6600M"},
    {0x73e2, "gfx1032", ""},
    {0x73e3, "gfx1032", "Radeon PRO W6600"},
    {0x73e8, "gfx1032", ""},
    {0x73e9, "gfx1032", ""},
    {0x73ea, "gfx1032", ""},
    {0x73eb, "gfx1032", ""},
    {0x73ec, "gfx1032", ""},
    {0x73ed, "gfx1032", ""},
    {0x73ef, "gfx1032", "Radeon RX 6650 XT / 6700S / 6800S"},
    {0x73ff, "gfx1032", "Radeon RX 6600 / 6600 XT / 6600M"},
    {0x7408, "gfx90a", "Instinct MI250X"},
    {0x740c, "gfx90a", "Instinct MI250X / MI250"},
    {0x740f, "gfx90a", "Instinct MI210"},
    {0x7410, "gfx90a", "Instinct MI210 VF"},
    {0x7420, "gfx1034", ""},
    {0x7421, "gfx1034", "Radeon PRO W6500M"},
    {0x7422, "gfx1034", "Radeon PRO W6400"},
    {0x7423, "gfx1034", ""},
    {0x743f, "gfx1034", "Radeon RX 6400 / 6500 XT"},
    {0x7448, "gfx1100", "Radeon PRO W7900"},
    {0x7449, "gfx1100", "Radeon PRO W7800 48GB"},
    {0x744a, "gfx1100", "Radeon PRO W7900 Dual Slot"},
    {0x744c, "gfx1100", "Radeon RX 7900 XT / 7900 XTX / 7900 GRE"},
    {0x745e, "gfx1100", "Radeon PRO W7800"},
    {0x7470, "gfx1101", "Radeon PRO W7700"},
    {0x747e, "gfx1101", "Radeon RX 7700 XT / 7800 XT"},
    {0x7480, "gfx1102", "Radeon RX 7600 / 7600 XT / PRO W7600"},
    {0x7483, "gfx1102", "Radeon RX 7600M"},
    {0x7489, "gfx1102", "Radeon PRO W7500"},
    {0x7499, "gfx1102", ""},
    {0x74a0, "gfx942", "Instinct MI300A"},
    {0x74a1, "gfx942", "Instinct MI300X"},
    {0x74a2, "gfx942", "Instinct MI308X"},
    {0x74a5, "gfx942", "Instinct MI325X"},
    {0x74a9, "gfx942", "Instinct MI300X HF"},
    {0x74b5, "gfx942", "Instinct MI300X VF"},
    {0x74b6, "gfx942", "Instinct MI308X VF"},
    {0x74bd, "gfx942", "Instinct MI300X HF VF"},
    {0x7550, "gfx1201", "Radeon RX 9070 / 9070 XT"},
    {0x7551, "gfx1201", "Radeon AI PRO R9700"},
    {0x7590, "gfx1200", "Radeon RX 9060 XT"},
    {0x75a0, "gfx950", "Instinct MI350X"},
    {0x75a3, "gfx950", "Instinct MI355X"},
};
static_assert(std::ranges::is_sorted(kIds, {}, &IdRow::id));

struct CoreRow {
  uint8_t major, minor, revision;
  std::string_view processor;
};

constexpr CoreRow kCores[] = {
    {9, 0, 1, "gfx900"},    {9, 1, 0, "gfx902"},   {9, 2, 1, "gfx904"},   {9, 2, 2, "gfx902"},   {9, 3, 0, "gfx90c"},
    {9, 4, 0, "gfx906"},    {9, 4, 1, "gfx908"},   {9, 4, 2, "gfx90a"},   {9, 4, 3, "gfx942"},   {9, 4, 4, "gfx942"},
    {9, 5, 0, "gfx950"},    {10, 1, 1, "gfx1012"}, {10, 1, 2, "gfx1011"}, {10, 1, 3, "gfx1013"}, {10, 1, 4, "gfx1013"},
    {10, 1, 10, "gfx1010"}, {10, 3, 0, "gfx1030"}, {10, 3, 1, "gfx1033"}, {10, 3, 2, "gfx1031"}, {10, 3, 3, "gfx1035"},
    {10, 3, 4, "gfx1032"},  {10, 3, 5, "gfx1034"}, {10, 3, 6, "gfx1036"}, {10, 3, 7, "gfx1036"}, {11, 0, 0, "gfx1100"},
    {11, 0, 1, "gfx1103"},  {11, 0, 2, "gfx1102"}, {11, 0, 3, "gfx1101"}, {11, 0, 4, "gfx1103"}, {11, 5, 0, "gfx1150"},
    {11, 5, 1, "gfx1151"},  {11, 5, 2, "gfx1152"}, {11, 5, 3, "gfx1153"}, {12, 0, 0, "gfx1200"}, {12, 0, 1, "gfx1201"},
};

} // namespace

std::vector<std::string_view> processors_by_name(std::string_view name) {
  const auto folded = [](std::string_view text) {
    std::string out;
    for (char c : text)
      if (llvm::isAlnum(c)) out += llvm::toLower(c);
    return out;
  };
  const std::string wanted = folded(name);
  std::vector<std::string_view> whole, part;
  if (wanted.size() < 4) return whole;
  for (const IdRow &row : kIds) {
    llvm::SmallVector<llvm::StringRef> names;
    llvm::StringRef(row.name).split(names, '/');
    for (llvm::StringRef one : names) {
      const std::string known = folded(one);
      // "mi300x" is not "MI300X HF" as well: whoever says a whole name means it.
      // The table writes "Radeon RX 7900 XT / 7900 XTX".
      if (known.ends_with(wanted) || (known.size() >= 4 && std::string_view(wanted).ends_with(known)))
        whole.push_back(row.processor);
      else if (known.find(wanted) != std::string::npos)
        part.push_back(row.processor);
    }
  }
  std::vector<std::string_view> &out = whole.empty() ? part : whole;
  std::ranges::sort(out);
  const auto [first, last] = std::ranges::unique(out);
  out.erase(first, last);
  if (out.size() > 4) out.clear(); // "radeon"
  return out;
}

std::optional<PciGpu> find_pci_gpu(uint32_t device_id) {
  const IdRow *row = std::ranges::lower_bound(kIds, device_id, {}, &IdRow::id);
  if (row == std::end(kIds) || row->id != device_id) return std::nullopt;
  return PciGpu{row->processor, row->name};
}

std::string_view processor_by_core(unsigned major, unsigned minor, unsigned revision) {
  for (const CoreRow &row : kCores)
    if (row.major == major && row.minor == minor && row.revision == revision) return row.processor;
  return {};
}

} // namespace isa_audit
