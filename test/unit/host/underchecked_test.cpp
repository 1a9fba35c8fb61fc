// Checks that test less than the code behind them uses, and those that do not.
#include "snippets.h"
#include "tested.h"

namespace isa_audit {
namespace {

class UnderCheckedTest : public HostTest {};

// Leaves AVX2 in `avx2` and FMA in `fma`.
const std::string kAsk =
    function("ask",
             "push rbx\nmov eax, 1\nxor ecx, ecx\ncpuid\nshr ecx, 12\nand ecx, 1\nmov dword ptr [rip + fma], ecx\nmov eax, 7\n"
             "xor ecx, ecx\ncpuid\nshr ebx, 5\nand ebx, 1\nmov dword ptr [rip + avx2], ebx\npop rbx\nret",
             false) +
    initialiser("ask") + ".bss\n.p2align 2\navx2: .zero 4\nfma: .zero 4\n";
const std::string kKernel = function("kernel", "vpaddd ymm0, ymm1, ymm2\nvfmadd231ps ymm0, ymm1, ymm2\nret", false);

TEST_F(UnderCheckedTest, CodeBehindACheckOfAvx2ThatRunsFma) {
  const HostCode host =
      run(kAsk + kKernel + function("f", "cmp dword ptr [rip + avx2], 0\nje 1f\njmp kernel\n1: paddd xmm0, xmm1\nret"));
  ASSERT_EQ(host.under_checked.size(), 1U);
  EXPECT_EQ(host.under_checked[0].tested.names(), Names{"avx2"});
  EXPECT_EQ(host.under_checked[0].missing.names(), Names{"fma"});
  EXPECT_EQ(host.under_checked[0].symbol, "kernel");
  EXPECT_EQ(host.under_checked[0].instruction, "vfmadd231ps ymm0, ymm1, ymm2");
  EXPECT_NE(host.under_checked[0].guard, 0U);
  EXPECT_TRUE(host.unguarded.empty());
}

TEST_F(UnderCheckedTest, ChecksAddUp) {
  const std::string both = "cmp dword ptr [rip + avx2], 0\nje 1f\ncmp dword ptr [rip + fma], 0\nje 1f\njmp kernel\n1: ret";
  EXPECT_TRUE(run(kAsk + kKernel + function("f", both)).under_checked.empty());
  const std::string conjunction = "mov eax, dword ptr [rip + avx2]\nand eax, dword ptr [rip + fma]\nje 1f\njmp kernel\n1: ret";
  EXPECT_TRUE(run(kAsk + kKernel + function("f", conjunction)).under_checked.empty());
}

TEST_F(UnderCheckedTest, PredicateThatTestsBothAddsUp) {
  const HostCode host = run(kAsk + kKernel +
                            function("can",
                                     "cmp dword ptr [rip + avx2], 0\nje 1f\ncmp dword ptr [rip + fma], 0\nje 1f\n"
                                     "mov eax, 1\nret\n1: xor eax, eax\nret",
                                     false) +
                            function("f", "call can\ntest eax, eax\nje 1f\ncall kernel\n1: ret"));
  EXPECT_EQ(host.guarded.names(), (Names{"avx2", "fma"}));
  EXPECT_TRUE(host.under_checked.empty());
}

TEST_F(UnderCheckedTest, MaskOfSeveralBitsComparedAsAWhole) {
  const auto text = [](const std::string &mask) {
    return kKernel +
           function("f", "push rbx\nmov eax, 1\nxor ecx, ecx\ncpuid\nand ecx, " + mask + "\ncmp ecx, " + mask +
                             "\njne 1f\nmov eax, 7\nxor ecx, ecx\ncpuid\ntest ebx, 32\nje 1f\ncall kernel\n1: pop rbx\nret");
  };
  EXPECT_TRUE(run(text("0x18001000")).under_checked.empty()); // OSXSAVE, AVX, FMA
  const HostCode host = run(text("0x18000000"));
  ASSERT_EQ(host.under_checked.size(), 1U);
  EXPECT_EQ(host.under_checked[0].missing.names(), Names{"fma"});
}

TEST_F(UnderCheckedTest, NothingIsSaidOfAFlagWithSeveralWriters) {
  const HostCode host =
      run(kAsk + kKernel + function("more", "mov eax, dword ptr [rip + fma]\nmov dword ptr [rip + avx2], eax\nret", false) +
          initialiser("more") + function("f", "cmp dword ptr [rip + avx2], 0\nje 1f\njmp kernel\n1: ret"));
  EXPECT_TRUE(host.under_checked.empty());
}

TEST_F(UnderCheckedTest, WhatTheFileNeedsAnywayIsNotMissing) {
  const HostCode host = run(kAsk + kKernel + function("g", "vfmadd231ps ymm0, ymm1, ymm2\nret") +
                            function("f", "cmp dword ptr [rip + avx2], 0\nje 1f\njmp kernel\n1: ret"));
  EXPECT_TRUE(host.under_checked.empty());
}

TEST(TestedWords, ShiftsAndMasksPickFeatures) {
  using host::Tested;
  const int64_t word = Tested::word(7, 0, 'b');
  EXPECT_EQ(Tested::features(Tested::masked(word, 0x20), false), IsaSet{Feature::avx2});
  EXPECT_EQ(Tested::features(Tested::bit(Tested::shifted(word, 3), 2), false), IsaSet{Feature::avx2});
  EXPECT_EQ(Tested::features(Tested::masked(word, 0x120), true), (IsaSet{Feature::avx2, Feature::bmi2}));
  // Some of several: not known which.
  EXPECT_FALSE(Tested::features(Tested::masked(word, 0x120), false));
  EXPECT_FALSE(Tested::features(word, true));
  EXPECT_EQ(Tested::word(4, 0, 'a'), Tested::kUnknown);
  EXPECT_EQ(Tested::word(7, 5, 'b'), Tested::kUnknown);
  EXPECT_EQ(Tested::both(Tested::of({Feature::avx2}), Tested::of({Feature::fma})), Tested::of({Feature::avx2, Feature::fma}));
}

} // namespace
} // namespace isa_audit
