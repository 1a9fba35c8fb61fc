// Tables in the midst of code, as assembler sources have them, are not taken for code; code that only a pointer leads to is.
#include "snippets.h"

namespace isa_audit {
namespace {

// A byte-swap mask: it starts like FEMMS of 3DNow!, goes on with valid instructions, and meets 06, which is none.
const char *const kMask = ".byte 15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0\n";
// Small numbers read as additions to memory, without end.
const char *const kNumbers = ".byte 1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0xc2\n";

class Data : public HostTest {};

TEST_F(Data, TableBetweenFunctionsIsNoCode) {
  const HostCode host = run(function("f", "lea rax, [rip + .Lmask]\nmovdqu xmm0, [rax]\nlea rax, [rip + .Lone]\nret") +
                            ".p2align 6\n.Lmask:\n" + kMask + ".Lone:\n" + kNumbers + function("g", "ret"));
  EXPECT_EQ(host.used.names(), Names{});
  EXPECT_TRUE(host.evidence.empty());
}

TEST_F(Data, TableThatAPointerNamesIsNoCode) {
  const HostCode host =
      run(function("f", "ret") + ".p2align 6\n.Lmask:\n" + kMask + function("g", "ret") + ".data\n.quad .Lmask\n");
  EXPECT_EQ(host.used.names(), Names{});
}

TEST_F(Data, TableWithinTheSizeOfAFunctionIsNoCode) {
  const HostCode host = run(function("f", std::string("movdqu xmm0, [rip + .Lmask]\nret\n.Lmask:\n") + kMask));
  EXPECT_EQ(host.used.names(), Names{});
  EXPECT_EQ(host.decoded_bytes, 9U);
}

TEST_F(Data, CodeAfterATableIsFound) {
  // A jump table in text: FF FF is no instruction. What a branch leads to behind it is code.
  const HostCode host =
      run(function("f", "test edi, edi\nje 2f\njmp rax\n1: .long -4, -8, -12\n2: vpaddd ymm0, ymm1, ymm2\nret"));
  EXPECT_EQ(host.unguarded.names(), Names{"avx2"});
}

TEST_F(Data, CodeBeforeATableStaysCode) {
  const HostCode host = run(function("f", "test edi, edi\nje 2f\nret\n2: vpaddd ymm0, ymm1, ymm2\nud2\n.byte 6, 6, 6"));
  EXPECT_EQ(host.unguarded.names(), Names{"avx2"});
}

TEST_F(Data, CodeThatOnlyAPointerLeadsToIsCode) {
  const HostCode host =
      run(function("f", "lea rax, [rip + .Lhidden]\njmp rax") +
          ".p2align 4\n.Lhidden:\nvpaddd ymm0, ymm1, ymm2\ntest edi, edi\njne .Lhidden\nret\n" + function("g", "ret"));
  EXPECT_EQ(host.unguarded.names(), Names{"avx2"});
}

TEST_F(Data, CodeThatACallLeadsToIsCodeWhateverItLooksLike) {
  const HostCode host = run(function("f", "call .Lhidden\nret") +
                            ".p2align 4\n.Lhidden:\nvpaddd ymm0, ymm1, ymm2\nxlatb\nret\n" + function("g", "ret"));
  EXPECT_EQ(host.unguarded.names(), Names{"avx2"});
}

// What follows a jump table is none of its entries: here it would lead past the check.
TEST_F(Data, JumpTableEndsWhereItsRangeCheckSays) {
  const std::string detect = function("detect", "push rbx\nmov eax, 7\nxor ecx, ecx\ncpuid\nshr ebx, 5\nand ebx, 1\n"
                                                "mov dword ptr [rip + flag], ebx\npop rbx\nret") +
                             ".bss\n.p2align 2\n.type flag,@object\n.size flag, 4\nflag: .zero 4\n";
  const HostCode host = run(
      detect +
      function("f",
               "cmp edi, 1\nja .Lend\nlea rdx, [rip + .Ltable]\nmovsxd rax, dword ptr [rdx + rdi*4]\nadd rax, rdx\njmp rax\n"
               ".Lone: mov eax, 1\nret\n"
               ".Ltwo: cmp dword ptr [rip + flag], 0\nje .Lend\n"
               ".Lkernel: vpaddd ymm0, ymm1, ymm2\n"
               ".Lend: ret") +
      ".section .rodata\n.p2align 2\n.Ltable: .long .Lone-.Ltable, .Ltwo-.Ltable, .Lkernel-.Ltable\n");
  EXPECT_EQ(host.guarded.names(), Names{"avx2"});
  EXPECT_EQ(host.unguarded.names(), Names{});
}

} // namespace
} // namespace isa_audit
