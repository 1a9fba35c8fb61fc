// From a file to its device code, in three steps: the ranges that may hold some (for an ELF file .hip_fatbin, and every other
// allocated byte that is not code: TensorFlow keeps most bundles in .rodata); walking each range for pieces; decoding the
// pieces, each on its own and therefore on any thread. Magics also stand in machine code as immediates, so executable sections
// are not searched.
#include "isa-audit/device/read_device.h"

#include <algorithm>
#include <numeric>

#include "code_object_reader.h"
#include "nv_fatbin.h"
#include "offload_binary.h"
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

// Checking the MD5 takes longer than decompressing; larger bundles are checked on request.
constexpr uint64_t kVerifyBelow = uint64_t{16} << 20;

// What decoding one piece gives.
struct Decoded {
  DeviceImage image;             // of a bundle
  std::vector<CodeObject> loose; // of a naked image or an offload binary; kernels count into image.kernel_names
  Problems problems;
};

class PieceDecoder {
public:
  PieceDecoder(const DevicePiece &piece, const Origin &origin, const DeviceLimits &limits, Decoded &out)
      : piece_(piece), origin_(origin), limits_(limits), out_(out) {}

  void decode() {
    out_.image.place = piece_.place;
    out_.image.pos = piece_.pos;
    switch (piece_.magic) {
    case Magic::bundle: bundle(piece_.bytes, piece_.header, Carrier::bundle); break;
    case Magic::ccob: ccob(); break;
    case Magic::elf: naked(); break;
    case Magic::offload_binary: offload_binary(); break;
    }
    out_.image.kernel_names = names_.take();
  }

private:
  void ccob() {
    thread_local ScratchBuffer scratch;
    auto header = parse_ccob_header(piece_.bytes);
    if (!header) return tell(Level::error, llvm::toString(header.takeError()));
    bool verify = limits_.verify_all || header->uncompressed_size <= kVerifyBelow;
    auto plain = decompress_ccob(piece_.bytes, *header, limits_.max_bundle, verify, scratch);
    if (!plain) return tell(Level::error, llvm::toString(plain.takeError()));
    for (const std::string &warning : plain->warnings) tell(Level::warning, warning);
    BundleHeader inner = parse_bundle_header(plain->bundle);
    for (const std::string &error : inner.errors) tell(Level::error, "decompressed bundle: " + error);
    bundle(plain->bundle, inner, Carrier::ccob);
  }

  void bundle(const Bytes &bytes, const BundleHeader &header, Carrier carrier) {
    out_.image.carrier = carrier;
    for (const BundleEntry &entry : header.entries) {
      auto id = parse_entry_id(entry.id);
      if (!id) {
        llvm::consumeError(id.takeError());
        continue;
      }
      if (id->kind == "host") continue;
      CodeObject object;
      object.carrier = carrier;
      object.claimed = entry.id;
      object.offset = entry.offset;
      object.size = entry.size;
      if (id->target) object.target = *id->target;
      std::string what = llvm::formatv(" entry {0}", entry.index).str();
      if (entry.size == 0) {
        tell(Level::warning, llvm::formatv("'{0}' holds no code", entry.id).str(), what);
        continue;
      }
      if (payload(llvm::cantFail(bytes.slice(entry.offset, entry.size)), object, what))
        out_.image.code_objects.push_back(std::move(object));
    }
  }

  void naked() {
    CodeObject object;
    object.offset = piece_.pos;
    object.size = piece_.bytes.size();
    if (payload(piece_.bytes, object, "")) out_.loose.push_back(std::move(object));
  }

  void offload_binary() {
    auto binary = parse_offload_binary(piece_.bytes, limits_.max_bundle);
    if (!binary) return tell(Level::error, llvm::toString(binary.takeError()));
    for (const std::string &error : binary->errors) tell(Level::error, error);
    for (size_t i = 0; i < binary->entries.size(); ++i) {
      const OffloadEntry &entry = binary->entries[i];
      if (entry.image.empty()) continue;
      CodeObject object;
      object.carrier = Carrier::offload_binary;
      object.offset = piece_.pos;
      object.size = entry.image.size();
      object.claimed = llvm::formatv("{0}-{1}-{2}", entry.offload_kind == 1 ? "openmp" : "hip", entry.triple, entry.arch).str();
      if (auto id = parse_entry_id(object.claimed)) {
        if (id->target) object.target = *id->target;
      } else
        llvm::consumeError(id.takeError());
      if (payload(entry.image, object, llvm::formatv(" image {0}", i).str())) out_.loose.push_back(std::move(object));
    }
  }

  // What the bytes themselves say, into `object`; false when they are no device code.
  bool payload(const Bytes &bytes, CodeObject &object, const std::string &what) {
    switch (sniff_payload(bytes)) {
    case Payload::amdgpu_elf: return amdgpu(bytes, object, what);
    case Payload::bitcode:
      // Linked or compiled later; a link-time input is not something a loader takes.
      object.loadable = object.target.kind == TargetKind::spirv;
      return !object.target.processor.empty();
    case Payload::spirv:
      if (object.target.kind != TargetKind::spirv)
        object.target = {"amdgcnspirv", Setting::unsupported, Setting::unsupported, TargetKind::spirv, Vendor::amd};
      return true;
    case Payload::cuda_elf:
    case Payload::ptx: object.target.vendor = Vendor::nvidia; return !object.target.processor.empty();
    case Payload::unknown: break;
    }
    tell(Level::error, llvm::formatv("'{0}' holds no code object that can be recognised", object.claimed).str(), what);
    return false;
  }

  bool amdgpu(const Bytes &bytes, CodeObject &object, const std::string &what) {
    auto elf = Elf::read(bytes);
    if (!elf) {
      tell(Level::error, llvm::toString(elf.takeError()), what);
      return false;
    }
    for (const std::string &problem : elf->problems()) tell(Level::error, problem, what);
    object.target = {};
    std::vector<std::string> problems;
    bool known = read_amdgpu_elf(*elf, object, names_, problems);
    for (const std::string &problem : problems) tell(known ? Level::warning : Level::error, problem, what);
    return known;
  }

  void tell(Level level, std::string message, const std::string &what = "") {
    Origin origin = origin_;
    origin.place = piece_.place + what;
    origin.pos = piece_.pos;
    out_.problems.push_back({level, std::move(origin), std::move(message)});
  }

  const DevicePiece &piece_;
  const Origin &origin_;
  const DeviceLimits &limits_;
  Decoded &out_;
  KernelNames names_;
};

// Decodes the pieces, the largest first so that no thread is left with it at the end, and puts the results in file order.
void decode_pieces(const std::vector<DevicePiece> &pieces, const Origin &origin, const DeviceLimits &limits,
                   const ParallelFor &parallel, DeviceCode &code, Problems &problems) {
  std::vector<Decoded> decoded(pieces.size());
  std::vector<size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return pieces[i].bytes.size(); });
  auto body = [&](size_t i) { PieceDecoder(pieces[order[i]], origin, limits, decoded[order[i]]).decode(); };
  if (pieces.size() > 1)
    parallel(pieces.size(), body);
  else if (!pieces.empty())
    body(0);
  KernelNames loose_names;
  for (Decoded &one : decoded) {
    problems.insert(problems.end(), one.problems.begin(), one.problems.end());
    for (CodeObject &object : one.loose) {
      for (uint32_t &kernel : object.kernels) kernel = loose_names.number(one.image.kernel_names[kernel]);
      std::ranges::sort(object.kernels);
      code.loose.push_back(std::move(object));
    }
    if (!one.image.code_objects.empty()) code.images.push_back(std::move(one.image));
  }
  code.loose_kernel_names = loose_names.take();
  std::ranges::stable_sort(code.images, {}, &DeviceImage::pos);
  std::ranges::stable_sort(code.loose, {}, &CodeObject::offset);
}

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
  code.external |= elf.find_section(".rocm_kpack_ref") != nullptr;
  code.runtime_internal = elf.soname().starts_with("libhsa-runtime64");
  return code;
}

bool is_device_file(const Bytes &head) {
  std::string_view text = head.text();
  // A section copied out of a library may start with its padding.
  if (text.starts_with('\0')) text.remove_prefix(std::min(text.size(), text.find_first_not_of('\0')));
  if (is_amdgpu_elf(text) || text.starts_with(kBundleMagic)) return true;
  using namespace std::string_view_literals;
  if (text.starts_with("\x10\xff\x10\xad"sv)) return true;
  // Four letters may start any file; the version is a small number in whatever of it is there.
  return text.starts_with(kCcobMagic) && (text.size() < 6 || text[5] == 0);
}

DeviceCode read_device_file(const Bytes &file, const Origin &origin, const DeviceLimits &limits, const ParallelFor &parallel,
                            Problems &problems) {
  DeviceCode code;
  code.standalone = true;
  std::vector<DevicePiece> pieces;
  if (is_amdgpu_elf(file.text())) {
    DevicePiece &piece = pieces.emplace_back();
    piece.magic = Magic::elf;
    piece.bytes = file;
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
