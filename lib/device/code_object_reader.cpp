// AMDGPU ELF code objects (llvm/docs/AMDGPUUsage, "Code Object"). The target stands in e_flags: the machine number in bits
// 0..7, the settings of xnack and sramecc above it, in a different encoding for each object version (EI_ABIVERSION + 2). In
// version 2 the machine number is not valid: the target stands in notes of owner "AMD". The traps: in versions 4 and later
// a zero xnack field means "unsupported" and not "off"; the generic version in bits 24..31 exists in version 6 only; metadata
// is MessagePack from version 3 on (note 32 of owner "AMDGPU"), and says nothing of the difference between 5 and 6.
#include "code_object_reader.h"

#include <algorithm>
#include <iterator>

#include "isa-audit/device/processors.h"
#include "pack_reader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace ELF = llvm::ELF;
namespace msgpack = llvm::msgpack;

uint32_t KernelNames::number(std::string_view name) {
  return numbers_.try_emplace(std::string(name), static_cast<uint32_t>(numbers_.size())).first->second;
}

std::vector<std::string_view> KernelNames::names_of(const CodeObject &object) const {
  std::vector<std::string_view> all(numbers_.size()), out;
  for (const auto &[name, number] : numbers_) all[number] = name;
  out.reserve(object.kernels.size());
  for (uint32_t kernel : object.kernels) out.push_back(all[kernel]);
  return out;
}

std::vector<std::string> KernelNames::take() {
  std::vector<std::string> out(numbers_.size());
  while (!numbers_.empty()) {
    auto node = numbers_.extract(numbers_.begin());
    out[node.mapped()] = std::move(node.key());
  }
  return out;
}

bool is_amdgpu_elf(std::string_view head) {
  return is_elf(head, ELF::EM_AMDGPU) && head.substr(ELF::EI_CLASS, 3) == "\x02\x01\x01";
}

Payload sniff_payload(const Bytes &bytes) {
  using namespace std::string_view_literals;
  std::string_view text = bytes.text();
  if (is_amdgpu_elf(text)) return Payload::amdgpu_elf;
  if (is_elf(text, ELF::EM_CUDA)) return Payload::cuda_elf;
  if (text.starts_with("BC\xc0\xde"sv)) return Payload::bitcode;
  if (text.starts_with("\x03\x02\x23\x07"sv) || text.starts_with("\x07\x23\x02\x03"sv)) return Payload::spirv;
  if (text.substr(0, 4096).find(".version") != std::string_view::npos &&
      text.substr(0, 4096).find(".target") != std::string_view::npos)
    return Payload::ptx;
  return Payload::unknown;
}

namespace {

Setting setting_of(uint32_t field) {
  constexpr Setting kSettings[] = {Setting::unsupported, Setting::any, Setting::off, Setting::on};
  return kSettings[field & 3];
}

void target_from_flags(uint32_t flags, uint8_t version, CodeObject &object) {
  uint8_t mach = flags & 0xff;
  const Processor *p = find_processor_by_mach(mach);
  TargetId &target = object.target;
  target.processor = p ? std::string(p->name) : llvm::formatv("mach-{0:x}", unsigned(mach)).str();
  target.kind = p && p->is_generic ? TargetKind::generic : TargetKind::native;
  if (version == 3) {
    // Two states only: a bare processor means off.
    if (!p || p->xnack) target.xnack = flags & ELF::EF_AMDGPU_FEATURE_XNACK_V3 ? Setting::on : Setting::off;
    if (!p || p->sramecc) target.sramecc = flags & ELF::EF_AMDGPU_FEATURE_SRAMECC_V3 ? Setting::on : Setting::off;
    return;
  }
  target.xnack = setting_of((flags & ELF::EF_AMDGPU_FEATURE_XNACK_V4) >> 8);
  target.sramecc = setting_of((flags & ELF::EF_AMDGPU_FEATURE_SRAMECC_V4) >> 10);
  // Compilers of different age write any or on for gfx125x, where nothing can be chosen.
  object.fixed_xnack = target.xnack == Setting::on && target.processor.starts_with("gfx125");
  if (p && !p->xnack && !p->sramecc) target.xnack = target.sramecc = Setting::unsupported;
  if (version >= 6) object.generic_version = flags >> 24;
}

// What the note of object version 2 names: an odd stepping stands for the processor below it with xnack on (ROCR-Runtime
// libamdhsacode/amd_hsa_code.cpp, ConvertOldTargetNameToNew).
struct OldName {
  std::string_view steps; // major, minor, stepping
  std::string_view processor;
  bool xnack;
};
constexpr OldName kOldNames[] = {
    {"8.0.0", "gfx802", false}, {"8.0.1", "gfx801", true}, {"8.0.4", "gfx803", false}, {"8.1.0", "gfx810", true},
    {"9.0.1", "gfx900", true},  {"9.0.3", "gfx902", true}, {"9.0.5", "gfx904", true},  {"9.0.7", "gfx906", true},
};

// Note NT_AMD_HSA_ISA_VERSION (3): two name lengths, then major, minor, stepping. The flags say nothing: compilers of that age
// wrote a machine number there, of which the lowest bit was xnack to older ones.
void target_from_isa_note(const Bytes &desc, CodeObject &object) {
  if (desc.size() < 16) return;
  auto word = [&](unsigned at) { return read_le<uint32_t>(desc.data() + at); };
  std::string steps = llvm::formatv("{0}.{1}.{2}", word(4), word(8), word(12)).str();
  auto old = std::ranges::find(kOldNames, steps, &OldName::steps);
  std::string name = old != std::end(kOldNames)
                         ? std::string(old->processor)
                         : llvm::formatv("gfx{0}{1}{2}", word(4), word(8), llvm::utohexstr(word(12), true)).str();
  bool xnack = old != std::end(kOldNames) && old->xnack;
  if (const Processor *p = find_processor(name)) {
    object.target.processor = p->name;
    if (p->xnack) object.target.xnack = xnack ? Setting::on : Setting::off;
    if (p->sramecc) object.target.sramecc = Setting::off;
  }
}

struct DetailKey {
  std::string_view key;
  uint32_t KernelDetails::*field;
};
constexpr DetailKey kDetailKeys[] = {
    {".agpr_count", &KernelDetails::agprs},
    {".group_segment_fixed_size", &KernelDetails::lds},
    {".private_segment_fixed_size", &KernelDetails::scratch},
    {".sgpr_count", &KernelDetails::sgprs},
    {".sgpr_spill_count", &KernelDetails::sgpr_spills},
    {".vgpr_count", &KernelDetails::vgprs},
    {".vgpr_spill_count", &KernelDetails::vgpr_spills},
    {".wavefront_size", &KernelDetails::wavefront},
};

// Walks the MessagePack tree of the metadata as a stream of tokens: nothing is built, nothing recurses, and of each kernel
// only two of its twenty keys are wanted as a rule.
class MetadataReader {
public:
  MetadataReader(std::string_view blob, CodeObject &object, KernelNames &names, bool details)
      : reader_(blob), object_(object), names_(names), details_(details) {}

  bool read() {
    PackReader::Token root;
    if (!reader_.next(root) || root.Kind != msgpack::Type::Map) return false;
    for (size_t i = 0; i < root.Length; ++i) {
      PackReader::Token key, value;
      if (!reader_.next(key) || key.Kind != msgpack::Type::String || !reader_.next(value)) return false;
      if (key.Raw == "amdhsa.target" && value.Kind == msgpack::Type::String)
        object_.metadata_target = value.Raw.str();
      else if (key.Raw == "amdhsa.kernels" && value.Kind == msgpack::Type::Array) {
        if (!kernels(value.Length)) return false;
      } else if (!reader_.skip(value))
        return false;
    }
    return true;
  }

private:
  bool kernels(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      PackReader::Token kernel;
      if (!reader_.next(kernel) || kernel.Kind != msgpack::Type::Map) return false;
      KernelDetails details;
      bool named = false;
      for (size_t k = 0; k < kernel.Length; ++k) {
        PackReader::Token key, value;
        if (!reader_.next(key) || !reader_.next(value)) return false;
        bool text = key.Kind == msgpack::Type::String;
        if (text && key.Raw == ".name" && value.Kind == msgpack::Type::String && !named) {
          details.name = names_.number({value.Raw.data(), value.Raw.size()});
          named = true;
        } else if (value.Kind == msgpack::Type::UInt || value.Kind == msgpack::Type::Int) {
          if (text) number(text_of(key), value, details);
        } else if (!reader_.skip(value))
          return false;
      }
      if (!named) details.name = names_.number("?");
      object_.kernels.push_back(details.name);
      if (details_) object_.kernel_details.push_back(details);
    }
    return true;
  }

  void number(std::string_view key, const PackReader::Token &value, KernelDetails &details) {
    uint64_t number = value.Kind == msgpack::Type::UInt ? value.UInt : static_cast<uint64_t>(value.Int);
    if (key == ".wavefront_size") object_.wavefront_sizes |= number == 32 ? 1 : number == 64 ? 2 : 0;
    if (!details_) return;
    auto at = std::ranges::find(kDetailKeys, key, &DetailKey::key);
    if (at != std::end(kDetailKeys)) details.*(at->field) = static_cast<uint32_t>(std::min<uint64_t>(number, UINT32_MAX));
  }

  PackReader reader_;
  CodeObject &object_;
  KernelNames &names_;
  bool details_;
};

// Kernel descriptors: objects named *.kd from version 3 on, symbols of a type of their own (STT_AMDGPU_HSA_KERNEL) in
// version 2.
void kernels_from_symbols(const Elf &elf, CodeObject &object, KernelNames &names) {
  for (bool dynamic : {true, false}) {
    elf.for_each_symbol(dynamic, [&](const ElfSymbol &symbol) {
      std::string_view name = symbol.name;
      if (symbol.section == ELF::SHN_UNDEF) return;
      if (symbol.type == ELF::STT_AMDGPU_HSA_KERNEL)
        object.kernels.push_back(names.number(name));
      else if (name.ends_with(".kd"))
        object.kernels.push_back(names.number(name.substr(0, name.size() - 3)));
    });
    if (!object.kernels.empty()) return;
  }
}

} // namespace

bool read_amdgpu_elf(const Elf &elf, CodeObject &object, KernelNames &names, std::vector<std::string> &problems, bool details) {
  constexpr uint8_t kNewestAbi = ELF::ELFABIVERSION_AMDGPU_HSA_V6;
  bool hsa = elf.os_abi() == ELF::ELFOSABI_AMDGPU_HSA;
  object.object_version = hsa ? elf.abi_version() + 2 : 0;
  object.loadable = hsa && (elf.type() == ELF::ET_DYN || elf.type() == ELF::ET_EXEC);
  if (hsa && elf.abi_version() > kNewestAbi)
    problems.push_back(llvm::formatv("code object version {0} is newer than this program knows; read as version 6",
                                     unsigned(object.object_version))
                           .str());
  if (object.object_version != 2) target_from_flags(elf.flags(), object.object_version, object);
  Bytes metadata;
  elf.for_each_note([&](const ElfNote &note) {
    if (note.owner == "AMDGPU" && note.type == ELF::NT_AMDGPU_METADATA) metadata = note.desc;
    if (note.owner == "AMD" && note.type == ELF::NT_AMD_HSA_ISA_VERSION && object.object_version == 2)
      target_from_isa_note(note.desc, object);
  });
  if (!metadata.empty() && !MetadataReader(metadata.text(), object, names, details).read()) {
    object.kernels_known = false;
    problems.push_back("the metadata note is damaged: kernels counted as far as it could be read");
  }
  if (metadata.empty()) kernels_from_symbols(elf, object, names);
  std::ranges::sort(object.kernels);
  std::ranges::sort(object.kernel_details);
  if (object.target.processor.empty()) {
    problems.push_back("code object version 2 without a note that names its processor");
    return false;
  }
  return true;
}

void compare_claim(CodeObject &object) {
  if (object.claimed.empty()) return;
  auto id = parse_entry_id(object.claimed);
  if (id)
    object.claim_differs = id->target && *id->target != object.target;
  else
    llvm::consumeError(id.takeError());
}

} // namespace isa_audit
