// Decodes pieces, each on its own and therefore on any thread: decompresses, goes through the entries of bundles and offload
// binaries, and reads what each code object says of itself.
#include "piece_decoder.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "check_code.h"
#include "code_object_reader.h"
#include "offload_binary.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

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
    ccob_version_ = static_cast<uint8_t>(header->version);
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
      object.ccob_version = ccob_version_;
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
    object.carrier = piece_.carrier;
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
    if (!recognise(bytes, object, what)) return false;
    if (limits_.sink && object.target.vendor == Vendor::amd) limits_.sink(object, where(what), bytes, names_.names_of(object));
    return true;
  }

  bool recognise(const Bytes &bytes, CodeObject &object, const std::string &what) {
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
    bool known = read_amdgpu_elf(*elf, object, names_, problems, limits_.kernel_details);
    for (const std::string &problem : problems) tell(known ? Level::warning : Level::error, problem, what);
    compare_claim(object);
    if (known && limits_.decode) check_code(*elf, object);
    return known;
  }

  Origin where(const std::string &what) const {
    Origin origin = origin_;
    origin.place = piece_.place + what;
    origin.pos = piece_.pos;
    return origin;
  }

  void tell(Level level, std::string message, const std::string &what = "") {
    out_.problems.push_back({level, where(what), std::move(message)});
  }

  const DevicePiece &piece_;
  const Origin &origin_;
  const DeviceLimits &limits_;
  Decoded &out_;
  uint8_t ccob_version_ = 0;
  KernelNames names_;
};

} // namespace

void tell_undecoded(const DeviceCode &code, const Origin &origin, Problems &problems) {
  std::map<std::string, uint64_t> objects;
  auto look = [&](const CodeObject &object) {
    if (object.code.state == CodeCheck::State::unsupported) ++objects[object.target.processor];
  };
  for (const DeviceImage &image : code.images) std::ranges::for_each(image.code_objects, look);
  std::ranges::for_each(code.loose, look);
  for (const auto &[processor, count] : objects)
    problems.push_back({Level::note, origin,
                        llvm::formatv("the code of {0} code object{1} for {2} was not checked: LLVM {3} cannot decode for it",
                                      count, count == 1 ? "" : "s", processor, ISA_AUDIT_LLVM_VERSION)
                            .str()});
}

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
      for (KernelDetails &details : object.kernel_details)
        details.name = loose_names.number(one.image.kernel_names[details.name]);
      std::ranges::sort(object.kernel_details);
      code.loose.push_back(std::move(object));
    }
    if (!one.image.code_objects.empty()) code.images.push_back(std::move(one.image));
  }
  code.loose_kernel_names = loose_names.take();
  tell_undecoded(code, origin, problems);
  std::ranges::stable_sort(code.images, {}, &DeviceImage::pos);
  std::ranges::stable_sort(code.loose, {}, &CodeObject::offset);
}

} // namespace isa_audit
