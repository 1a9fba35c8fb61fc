// Hand-made inventories and machines for the tests of verdicts and reports.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "isa-audit/machine/machine.h"
#include "isa-audit/verdict/inventory.h"
#include "isa-audit/verdict/judge.h"

namespace isa_audit::test {

inline TargetId target(std::string_view text) { return llvm::cantFail(parse_target_id(text)); }

// An entry of a bundle whose id says the same as its flags. `kernels` are indices into the image's names.
inline CodeObject object(const std::string &text, std::vector<uint32_t> kernels = {0}) {
  CodeObject out;
  out.target = target(text);
  out.claimed = "hipv4-amdgcn-amd-amdhsa--" + text;
  out.object_version = out.target.kind == TargetKind::spirv ? 0 : out.target.kind == TargetKind::generic ? 6 : 5;
  out.generic_version = out.target.kind == TargetKind::generic ? 1 : 0;
  out.carrier = Carrier::bundle;
  out.size = 1000;
  out.kernels = std::move(kernels);
  out.wavefront_sizes = 2;
  return out;
}

inline DeviceImage image(const std::vector<std::string> &targets, std::vector<std::string> kernels = {"kernel"}) {
  DeviceImage out;
  out.place = ".hip_fatbin+0x0";
  for (const std::string &text : targets) {
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < kernels.size(); ++i) all.push_back(i);
    out.code_objects.push_back(object(text, std::move(all)));
  }
  out.kernel_names = std::move(kernels);
  return out;
}

inline DeviceCode device(std::vector<DeviceImage> images) {
  DeviceCode out;
  out.images = std::move(images);
  uint64_t pos = 0;
  for (DeviceImage &i : out.images) i.pos = pos += 0x1000;
  return out;
}

// A file that is a code object itself.
inline DeviceCode standalone(const std::string &text) {
  DeviceCode out;
  out.standalone = true;
  out.loose = {object(text)};
  out.loose[0].claimed.clear();
  out.loose[0].carrier = Carrier::elf;
  out.loose_kernel_names = {"kernel"};
  return out;
}

inline HostCode host(IsaSet unguarded) {
  HostCode out;
  out.used = out.unguarded = unguarded;
  for (Feature feature : unguarded.list())
    out.evidence.push_back(
        {feature, Strength::unguarded, Grade::possible, 0x1000, "dot_f32", "c4e27d58", "an instruction", {}, ""});
  out.code_bytes = out.decoded_bytes = 4096;
  return out;
}

// Builds an inventory of one wheel, or adds more inputs.
class World {
public:
  World() { input("kern-1.2-py3-none-any.whl", "wheel"); }
  explicit World(std::string path, std::string kind) { input(std::move(path), std::move(kind)); }

  World &input(std::string path, std::string kind) {
    inventory.inputs.push_back({std::move(path), std::move(kind), 5000, "", ""});
    return *this;
  }
  World &distribution(std::string name, std::string version = "1.2") {
    inventory.distributions.push_back({name, std::move(version), last_input(), name + ".dist-info", {}});
    return *this;
  }
  Binary &file(std::string path, std::string distribution = "") {
    Binary binary;
    binary.origin = {last_input(), std::move(path), "", 0};
    binary.distribution = std::move(distribution);
    binary.format = "elf-x86_64";
    binary.size = 5000;
    inventory.bytes += binary.size;
    ++inventory.files;
    inventory.binaries.push_back(std::move(binary));
    return inventory.binaries.back();
  }
  World &device_file(std::string path, std::vector<DeviceImage> images, std::string distribution = "") {
    file(std::move(path), std::move(distribution)).device = device(std::move(images));
    return *this;
  }
  World &code_object(std::string path, const std::string &text, std::string distribution = "") {
    Binary &binary = file(std::move(path), std::move(distribution));
    binary.format = "elf-amdgpu";
    binary.device = standalone(text);
    return *this;
  }
  // A file of a side-car that is no code object, known by its path.
  SideFile &side_file(std::string path, std::string distribution = "") {
    SideFile file = recognise_side_file(path).value();
    file.origin = {last_input(), std::move(path), "", 0};
    file.distribution = std::move(distribution);
    inventory.side_files.push_back(std::move(file));
    return inventory.side_files.back();
  }
  World &host_file(std::string path, HostCode code, std::string distribution = "") {
    file(std::move(path), std::move(distribution)).host = std::move(code);
    return *this;
  }
  World &problem(Level level, std::string path, std::string message) {
    inventory.problems.push_back({level, {last_input(), std::move(path), "", 0}, std::move(message)});
    return *this;
  }

  Inventory inventory;

private:
  uint32_t last_input() const { return static_cast<uint32_t>(inventory.inputs.size() - 1); }
};

// GPUs with concrete settings, as texts.
inline Machine gpus(const std::vector<std::string> &texts) {
  Machine out;
  out.judge_gpus = true;
  for (const std::string &text : texts) {
    Gpu gpu;
    gpu.target = target(text);
    out.gpus.push_back(std::move(gpu));
  }
  return out;
}

inline Cpu make_cpu(std::string name, const IsaSet &features) {
  Cpu out;
  out.name = std::move(name);
  out.features = features;
  return out;
}

inline Machine cpu(std::string name, const IsaSet &features) {
  Machine out;
  out.cpu = make_cpu(std::move(name), features);
  return out;
}

inline IsaSet level_set(int level) {
  IsaSet out;
  for (int i = 1; i <= level; ++i) out |= psabi_level(i);
  return out;
}

inline Policy require(const std::vector<std::string> &targets) {
  Policy out;
  for (const std::string &text : targets) out.required.push_back(target(text));
  return out;
}

inline std::vector<std::string> rules_of(const Judgement &judgement) {
  std::vector<std::string> out;
  for (const Finding &finding : judgement.findings) out.push_back(finding.rule);
  return out;
}

} // namespace isa_audit::test
