// Decodes the executable code of x86-64 ELF files and tells what it needs of a CPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "isa-audit/base/parallel.h"
#include "isa-audit/elf/elf.h"
#include "isa-audit/host/host_code.h"

namespace isa_audit {

// A file of a set. `path` is its place in the distribution, "faiss/_swigfaiss_avx2.so": the last part is what DT_NEEDED of
// other files names, and siblings that differ by an instruction set are known by it. The bytes must outlive the call.
struct HostInput {
  const Elf *elf = nullptr;
  std::string path;
};

// Analyses files that are loaded together (those of a distribution): calls between them are followed through DT_NEEDED. One
// result for each input, in their order; it depends neither on the order nor on how `parallel` runs. Every input is x86-64
// (EM_X86_64, 64 bit). `problems`, if given, receives one list for each input: messages without origin.
std::vector<HostCode> analyse_host_set(std::span<const HostInput> inputs, const ParallelFor &parallel,
                                       std::vector<std::vector<std::string>> *problems = nullptr);

// Only what a file uses, and its notes: `used`, `declared_…`, `…_level` and the byte counts are filled, guards_analysed is
// false. Takes a fraction of the time.
HostCode list_host(const Elf &elf, const ParallelFor &parallel);

// A single file: what it calls in other files is not known.
HostCode analyse_host(const Elf &elf, const ParallelFor &parallel, std::vector<std::string> &problems);

} // namespace isa_audit
