// From a file to its device code, in three steps: the ranges that may hold some (for an ELF file .hip_fatbin, and every other
// allocated byte that is not code: TensorFlow keeps most bundles in .rodata); walking each range for pieces; decoding the
// pieces, each on its own and therefore on any thread. Magics also stand in machine code as immediates, so executable sections
// are not searched.
#include "isa-audit/device/read_device.h"

#include <algorithm>

#include "aks2.h"
#include "code_object_reader.h"
#include "kpack.h"
#include "nv_fatbin.h"
#include "piece_decoder.h"
#include "range_walker.h"
#include "wrappers.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

const char *carrier_name(Carrier carrier) {
  switch (carrier) {
  case Carrier::bundle: return "bundle";
  case Carrier::ccob: return "ccob";
  case Carrier::elf: return "elf";
  case Carrier::offload_binary: return "offload-binary";
  case Carrier::aks2: return "aks2";
  case Carrier::kpack: return "kpack";
  case Carrier::nv_fatbin: return "nv-fatbin";
  }
  return "";
}

namespace {

bool is_dedicated(std::string_view section) {
  return section.starts_with(".hip_fatbin") || section.starts_with(".llvm.offloading");
}

std::vector<DeviceRange> device_ranges(const Elf &elf) {
  std::vector<DeviceRange> out;
  for (Elf::Range &range : elf.data_ranges())
    out.push_back({range.name, range.offset, range.address, range.bytes, is_dedicated(range.name)});
  // .llvm.offloading is excluded from the link and therefore not allocated.
  for (const ElfSection &section : elf.sections())
    if (!section.allocated() && is_dedicated(section.name) && !section.bytes.empty())
      out.push_back({std::string(section.name), section.offset, 0, section.bytes, true});
  return out;
}

// Relocatable device code of the old driver: one section for each target, named by the magic and the entry id, holding bitcode
// that the link step compiles.
void read_rdc_sections(const Elf &elf, const Origin &origin, DeviceCode &code, Problems &problems) {
  for (const ElfSection &section : elf.sections()) {
    if (!section.name.starts_with(kBundleMagic)) continue;
    auto id = parse_entry_id(section.name.substr(kBundleMagic.size()));
    if (!id) {
      Origin where = origin;
      where.place = std::string(section.name);
      where.pos = section.offset;
      problems.push_back({Level::warning, std::move(where), llvm::toString(id.takeError())});
      continue;
    }
    if (!id->target) continue;
    CodeObject object;
    object.claimed = section.name.substr(kBundleMagic.size());
    object.target = *id->target;
    object.carrier = Carrier::bundle;
    object.loadable = false;
    object.offset = section.offset;
    object.size = section.bytes.size();
    code.loose.push_back(std::move(object));
  }
}

bool calls_hip(const Elf &elf) {
  bool found = false;
  elf.for_each_symbol(true, [&](const ElfSymbol &symbol) {
    found |=
        symbol.section == llvm::ELF::SHN_UNDEF && (symbol.name == "__hipRegisterFatBinary" || symbol.name == "hipLaunchKernel");
  });
  return found;
}

// What starts each part of a text bundle (clang/docs/ClangOffloadBundler: assembly, LLVM IR, C), with the comment mark of its
// language; empty where `text` is none.
std::string_view text_bundle_magic(std::string_view text) {
  using namespace std::string_view_literals;
  for (std::string_view magic : {"# __CLANG_OFFLOAD_BUNDLE____START__ "sv, "; __CLANG_OFFLOAD_BUNDLE____START__ "sv,
                                 "// __CLANG_OFFLOAD_BUNDLE____START__ "sv})
    if (text.starts_with(magic) || (text.starts_with('\n') && text.substr(1).starts_with(magic))) return magic;
  return {};
}

std::string text_bundle_note(std::string_view text, std::string_view magic) {
  constexpr size_t kShown = 8, kMaxId = 200;
  std::string ids;
  size_t count = 0;
  for (size_t at = text.find(magic); at != std::string_view::npos; at = text.find(magic, at)) {
    at += magic.size();
    std::string_view id = text.substr(at, kMaxId);
    id = id.substr(0, id.find_first_of("\r\n"));
    if (++count <= kShown) ids += (ids.empty() ? "" : ", ") + std::string(id);
  }
  if (count > kShown) ids += llvm::formatv(" and {0} more", count - kShown).str();
  return "text bundle of intermediate code, which nothing loads: " + ids;
}

} // namespace

DeviceCode read_elf_device(const Elf &elf, const Origin &origin, const DeviceLimits &limits, const ParallelFor &parallel,
                           Problems &problems) {
  DeviceCode code;
  std::vector<DevicePiece> pieces;
  for (const DeviceRange &range : device_ranges(elf)) walk_range(range, origin, parallel, pieces, problems);
  check_wrappers(elf, origin, pieces, code, problems);
  read_rdc_sections(elf, origin, code, problems);
  decode_pieces(pieces, origin, limits, parallel, code, problems);
  code.nvidia = read_nv_fatbins(elf, origin, problems);
  code.hip_host = calls_hip(elf);
  read_kpack_reference(elf, origin, code, problems);
  code.runtime_internal = elf.soname().starts_with("libhsa-runtime64");
  return code;
}

const char *device_file_format(const Bytes &head) {
  std::string_view text = head.text();
  if (text.starts_with(kAks2Magic)) return "aks2";
  if (is_kpack(head)) return "kpack";
  if (!text_bundle_magic(text).empty()) return "text-bundle";
  // A section copied out of a library may start with its padding.
  if (text.starts_with('\0')) text.remove_prefix(std::min(text.size(), text.find_first_not_of('\0')));
  if (is_amdgpu_elf(text)) return "elf-amdgpu";
  if (text.starts_with(kBundleMagic)) return "offload-bundle";
  using namespace std::string_view_literals;
  if (text.starts_with("\x10\xff\x10\xad"sv)) return "offload-bundle";
  // Four letters may start any file; the version is a small number in whatever of it is there.
  if (text.starts_with(kCcobMagic) && (text.size() < 6 || text[5] == 0)) return "offload-bundle";
  return nullptr;
}

DeviceCode read_device_file(const Bytes &file, const Origin &origin, const DeviceLimits &limits, const ParallelFor &parallel,
                            Problems &problems) {
  DeviceCode code;
  code.standalone = true;
  if (is_kpack(file)) {
    read_kpack(file, origin, limits, code, problems);
    tell_undecoded(code, origin, problems);
    return code;
  }
  if (std::string_view magic = text_bundle_magic(file.text()); !magic.empty()) {
    problems.push_back({Level::note, origin, text_bundle_note(file.text(), magic)});
    return code;
  }
  std::vector<DevicePiece> pieces;
  if (is_amdgpu_elf(file.text())) {
    DevicePiece &piece = pieces.emplace_back();
    piece.magic = Magic::elf;
    piece.bytes = file;
  } else if (file.text().starts_with(kAks2Magic)) {
    read_aks2(file, origin, limits.max_bundle, pieces, problems);
  } else {
    walk_range({"", 0, 0, file, true}, origin, parallel, pieces, problems);
    bool any = std::ranges::any_of(problems,
                                   [&](const Problem &p) { return p.origin.path == origin.path && p.level == Level::error; });
    // A file of a few bytes has a magic but nothing that a scan could report.
    if (pieces.empty() && !any)
      problems.push_back({Level::error, origin, "starts like device code, but holds none that can be read"});
  }
  decode_pieces(pieces, origin, limits, parallel, code, problems);
  return code;
}

} // namespace isa_audit
