// How fast code is decoded: `decode_benchmark LIBRARY [MIB]` reads the first MIB (default 64, 0: all) of .text with our short
// way (as the pass over all code uses it, at two places in turns, and alone), our whole decoder, Zydis and LLVM MC, on one
// thread. Prints megabytes a second of processor time, the best of three rounds, and how many times as fast as each of the
// others the first of them is. Figures of one run belong together: compare no others.
#include "classify.h"
#include "support/llvm_x86.h"

#include "isa-audit/elf/elf.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "llvm/Support/MemoryBuffer.h"

#ifdef ISA_AUDIT_HAS_ZYDIS
#include <Zydis/Zydis.h>
#endif

namespace {

using namespace isa_audit;

constexpr int kRounds = 3;

double seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Calls length_at(offset) for one instruction after the other; 0 is no instruction. Megabytes a second.
template <typename LengthAt> double measure(const char *name, std::span<const uint8_t> code, LengthAt length_at) {
  double best = 1e9;
  size_t count = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = seconds();
    count = 0;
    for (size_t at = 0; at < code.size(); ++count) {
      const size_t length = length_at(at);
      at += length ? length : 1;
    }
    best = std::min(best, seconds() - start);
  }
  const double speed = static_cast<double>(code.size()) / best / 1e6;
  std::printf("%-24s %8.1f MB/s  %6.2f ns an instruction  %zu instructions\n", name, speed,
              best / static_cast<double>(count) * 1e9, count);
  return speed;
}

// The short way at two places in turns, which hides the time that each has to wait for the length of its instruction.
double measure_in_turns(std::span<const uint8_t> code, uint64_t (&classes)[host::kMaxClasses / 64]) {
  double best = 1e9;
  size_t count = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = seconds();
    const uint8_t *a = code.data(), *const middle = a + code.size() / 2, *b = middle;
    const uint8_t *const end = code.data() + code.size() - host::kStepRoom;
    count = 0;
    const auto note = [&](const uint8_t *&at) {
      const host::Step step = host::classify_insn(at);
      classes[step.klass() >> 6] |= uint64_t{1} << (step.klass() & 63);
      at += step.length() ? step.length() : 1;
      ++count;
    };
    while (a < middle && b < end) {
      note(a);
      note(b);
    }
    while (a < middle) note(a);
    while (b < end) note(b);
    best = std::min(best, seconds() - start);
  }
  const double speed = static_cast<double>(code.size()) / best / 1e6;
  std::printf("%-24s %8.1f MB/s  %6.2f ns an instruction  %zu instructions\n", "isa-audit, two in turns", speed,
              best / static_cast<double>(count) * 1e9, count);
  return speed;
}

int run(const char *path, uint64_t limit) {
  auto buffer = llvm::MemoryBuffer::getFile(path, false, false);
  if (!buffer) {
    std::fprintf(stderr, "%s: %s\n", path, buffer.getError().message().c_str());
    return 1;
  }
  const llvm::StringRef text = (*buffer)->getBuffer();
  auto elf = Elf::read(Bytes::borrowed({reinterpret_cast<const uint8_t *>(text.data()), text.size()}));
  if (!elf) {
    std::fprintf(stderr, "%s: %s\n", path, llvm::toString(elf.takeError()).c_str());
    return 1;
  }
  const ElfSection *section = elf->find_section(".text");
  if (!section) {
    std::fprintf(stderr, "%s: no section .text\n", path);
    return 1;
  }
  std::span<const uint8_t> code(section->bytes.data(), section->bytes.size());
  if (limit && code.size() > limit) code = code.first(limit);

  uint64_t classes[host::kMaxClasses / 64] = {}; // so that nothing is optimised away
  if (code.size() < 2 * host::kStepRoom) {
    std::fprintf(stderr, "%s: too little code\n", path);
    return 1;
  }
  const double ours = measure_in_turns(code, classes);
  measure("isa-audit, short way", code, [&](size_t at) -> size_t {
    const host::Step step = host::classify_insn(code.data() + at, code.size() - at);
    classes[step.klass() >> 6] |= uint64_t{1} << (step.klass() & 63);
    return step.length();
  });
  const double whole = measure("isa-audit, whole", code, [&](size_t at) -> size_t {
    host::Insn insn;
    if (!host::decode(code.subspan(at), insn)) return 0;
    classes[insn.klass >> 6] |= uint64_t{1} << (insn.klass & 63);
    return insn.length;
  });
  std::printf("%-24s %8.2f times\n", "  two in turns are", ours / whole);
#ifdef ISA_AUDIT_HAS_ZYDIS
  for (const bool minimal : {true, false}) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, minimal);
    const double theirs = measure(minimal ? "Zydis, minimal" : "Zydis, with ISA sets", code, [&](size_t at) -> size_t {
      ZydisDecodedInstruction insn;
      return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data() + at, code.size() - at, &insn))
                 ? insn.length
                 : 0;
    });
    std::printf("%-24s %8.2f times\n", "  two in turns are", ours / theirs);
  }
#else
  std::printf("Zydis: not installed when this was built\n");
#endif
  const LlvmX86 llvm;
  const double theirs = measure("LLVM MC", code, [&](size_t at) { return llvm.length(code.subspan(at)); });
  std::printf("%-24s %8.2f times\n", "  two in turns are", ours / theirs);
  uint64_t any = 0;
  for (const uint64_t word : classes) any |= word;
  return any ? 0 : 2;
}

} // namespace

int main(int count, char **arguments) {
  if (count < 2) {
    std::fprintf(stderr, "decode_benchmark LIBRARY [MIB]\n");
    return 2;
  }
  const uint64_t mib = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 64;
  return run(arguments[1], mib << 20);
}
