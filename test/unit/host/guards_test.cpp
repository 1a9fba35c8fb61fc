// Checks that are made elsewhere: by an object that was filled from CPUID or /proc/cpuinfo, in this library or another, and
// choices that only look like a check.
#include "snippets.h"

namespace isa_audit {
namespace {

class GuardsOf : public HostTest {};

const std::string kKernel = function("kernel", "vpaddd ymm0, ymm1, ymm2\nret", false);

// instance() makes one object, whose flags a function that asks the CPU puts on the heap; supports(object, mask) looks there.
std::string detector_class(const std::string &ask, const std::string &landing_pad = "") {
  return function("fill", ask, false) +
         function("instance",
                  "push rbx\ncmp byte ptr [rip + done], 0\njne 1f\nmov edi, 64\ncall malloc@PLT\nmov rbx, rax\nmov rdi, rax\n"
                  "call fill\nmov qword ptr [rip + object], rbx\nmov byte ptr [rip + done], 1\n1: lea rax, [rip + object]\n"
                  "pop rbx\nret" +
                      landing_pad) +
         function("supports", "mov rax, qword ptr [rdi]\nmov rdx, qword ptr [rax]\nand rdx, rsi\ncmp rdx, rsi\nsete al\nret") +
         ".bss\n.p2align 3\nobject: .zero 8\ndone: .zero 1\n";
}

const std::string kAskCpu = "push rbx\nmov eax, 7\nxor ecx, ecx\ncpuid\nmov dword ptr [rdi], ebx\npop rbx\nret";

std::string user_of_class() {
  return kKernel +
         function("start",
                  "push rbx\ncall instance@PLT\nmov rdi, rax\nmov esi, 32\ncall supports@PLT\ntest al, al\nje 1f\n"
                  "call kernel\n1: pop rbx\nret",
                  false) +
         initialiser("start");
}

TEST_F(GuardsOf, PredicateOfAnotherLibrarysObjectIsFollowed) {
  Library inner = assemble(detector_class(kAskCpu)), outer = assemble(user_of_class(), "libinner.so");
  ASSERT_TRUE(inner.elf && outer.elf);
  const std::vector<HostInput> linked{{outer.elf.get(), "p/outer.so"}, {inner.elf.get(), "p/libinner.so"}};
  const std::vector<HostCode> hosts = analyse_host_set(linked, serial_for);
  EXPECT_TRUE(hosts[0].at_load.empty());
  EXPECT_EQ(hosts[0].guarded.names(), Names{"avx2"});
}

TEST_F(GuardsOf, LandingPadsReturnNothing) {
  const std::string pad = "\nmov rbx, rax\njmp cold";
  const HostCode host =
      run(function("cold", "mov rdi, rbx\ncall _Unwind_Resume@PLT", false) + detector_class(kAskCpu, pad) + user_of_class());
  EXPECT_TRUE(host.at_load.empty());
  EXPECT_EQ(host.guarded.names(), Names{"avx2"});
}

TEST_F(GuardsOf, ObjectThatDoesNotAskTheCpuIsNoCheck) {
  Library inner = assemble(detector_class("mov dword ptr [rdi], 32\nret")), outer = assemble(user_of_class(), "libinner.so");
  ASSERT_TRUE(inner.elf && outer.elf);
  const std::vector<HostInput> linked{{outer.elf.get(), "p/outer.so"}, {inner.elf.get(), "p/libinner.so"}};
  EXPECT_EQ(analyse_host_set(linked, serial_for)[0].at_load.names(), Names{"avx2"});
}

TEST_F(GuardsOf, ReadersOfTheCpuFileAskTheCpu) {
  const std::string read =
      "push rbx\nmov rbx, rdi\nlea rdi, [rip + path]\ncall parse@PLT\nmov dword ptr [rbx], eax\npop rbx\nret";
  const std::string strings = ".section .rodata\npath: .asciz \"/proc/cpuinfo\"\n";
  EXPECT_TRUE(run(detector_class(read) + user_of_class() + strings + ".asciz \"avx2\"\n").at_load.empty());
  // The number of cores and the clock are there too: a reader that knows no instruction set is no check.
  EXPECT_EQ(run(detector_class(read) + user_of_class() + strings).at_load.names(), Names{"avx2"});
}

TEST_F(GuardsOf, NullCheckOfTheObjectIsNoCheck) {
  const HostCode host =
      run(detector_class(kAskCpu) + kKernel +
          function("start", "call instance\ntest rax, rax\nje 1f\ncall kernel\n1: ret", false) + initialiser("start"));
  EXPECT_EQ(host.at_load.names(), Names{"avx2"});
}

// On unless the check says no, as the number of tries of a lock with transactions in glibc.
TEST_F(GuardsOf, WhatANoSwitchesOffIsACheck) {
  const std::string use =
      kKernel + function("start", "cmp dword ptr [rip + tries], 0\njle 1f\ncall kernel\n1: ret", false) + initialiser("start");
  const std::string tries = ".data\n.p2align 2\ntries: .long 3\n";
  const std::string off = "mov dword ptr [rip + tries], 0\n1: ret";
  const HostCode host =
      run(detector("flag") + function("prepare", "call detect\ncmp dword ptr [rip + flag], 0\njne 1f\n" + off) + use + tries);
  EXPECT_TRUE(host.at_load.empty());
  EXPECT_EQ(host.guarded.names(), Names{"avx2"});
  // Switched off after a yes, or for another reason: says nothing of the CPU.
  EXPECT_EQ(
      run(detector("flag") + function("prepare", "call detect\ncmp dword ptr [rip + flag], 0\nje 1f\n" + off) + use + tries)
          .at_load.names(),
      Names{"avx2"});
  EXPECT_EQ(run(detector("flag") + function("prepare", "test edi, edi\njne 1f\n" + off) + use + tries).at_load.names(),
            Names{"avx2"});
}

// The second XBEGIN runs if the mutex says so, which the analysis does not follow.
TEST_F(GuardsOf, TransactionsOfAProgramThatAsksAreChecked) {
  const std::string unlock = function("unlock", "cmp dword ptr [rdi], 0\nje 1f\nxend\n1: ret");
  const std::string trylock = function("trylock", "cmp dword ptr [rdi + 16], 256\njne 2f\nxabort 253\nxbegin 2f\n2: ret");
  const std::string all = detector("flag") + initialiser("detect") + unlock + trylock + initialiser("trylock");
  const std::string asks = function("lock", "cmp dword ptr [rip + flag], 0\nje 2f\nxbegin 2f\n2: ret");
  const HostCode host = run(all + asks);
  EXPECT_TRUE(host.at_load.empty() && host.unguarded.empty());
  EXPECT_EQ(host.guarded.names(), Names{"rtm"});
  EXPECT_EQ(run(all + function("lock", "cmp dword ptr [rdi], 0\nje 2f\nxbegin 2f\n2: ret")).at_load.names(), Names{"rtm"});
}

// The address of a kernel may be taken anywhere: as glibc lists all that its resolvers choose among.
TEST_F(GuardsOf, ListOfKernelsDoesNotOpenThem) {
  const std::string list = function("list", "lea rax, [rip + kernel]\nmov qword ptr [rdi], rax\nret");
  const std::string choose =
      function("choose", "xor eax, eax\ncmp dword ptr [rip + flag], 0\nje 1f\nlea rax, [rip + kernel]\n1: ret");
  const std::string detect = detector("flag") + initialiser("detect");
  const auto guard = [&](const std::string &text) {
    const HostCode host = run(text);
    const Evidence *e = find(host, Feature::avx2, Strength::guarded);
    return e && host.unguarded.empty() ? e->guard : "none";
  };
  EXPECT_TRUE(guard(detect + kKernel + list + choose).starts_with("check at "));
  // Nor does it, most likely, where the choice is not seen; but it does in a file that asks nothing.
  EXPECT_TRUE(guard(detect + kKernel + list).starts_with("probable: "));
  EXPECT_EQ(run(kKernel + list).unguarded.names(), Names{"avx2"});
}

// Rust's nano_gemm: tables of kernels, of which one is referred to behind a check only.
TEST_F(GuardsOf, TableThatOnlyCheckedCodeRefersToIsGuarded) {
  const std::string table =
      ".section .data.rel.ro,\"aw\"\n.p2align 3\nplain: .quad 2, slow, slow\nfast: .quad 2, kernel, kernel\n";
  const std::string slow = function("slow", "paddd xmm0, xmm1\nret", false);
  const std::string plan = function("plan", "lea rax, [rip + plain]\ncmp dword ptr [rip + flag], 0\nje 1f\n"
                                            "lea rax, [rip + fast]\n1: ret");
  const HostCode host = run(detector("flag") + initialiser("detect") + kKernel + slow + plan + table);
  EXPECT_TRUE(host.unguarded.empty());
  const Evidence *e = find(host, Feature::avx2, Strength::guarded);
  ASSERT_TRUE(e);
  EXPECT_TRUE(e->guard.starts_with("check at ")) << e->guard;
}

// A choice by something on the heap, in a file that asks the CPU elsewhere.
const std::string kChoice =
    function("f", "mov rax, qword ptr [rdi]\ncmp dword ptr [rax + 8], 0\nje 1f\njmp kernel\n1: paddd xmm0, xmm1\nret");

TEST_F(GuardsOf, AvoidableCallOfABetterBuildIsProbablyGuarded) {
  const HostCode host = run(detector("flag") + initialiser("detect") + kKernel + kChoice);
  EXPECT_TRUE(host.unguarded.empty());
  EXPECT_EQ(host.guarded.names(), Names{"avx2"});
  const Evidence *e = find(host, Feature::avx2, Strength::guarded);
  ASSERT_TRUE(e);
  EXPECT_TRUE(e->guard.starts_with("probable: ")) << e->guard;
}

TEST_F(GuardsOf, WithoutADetectorThereIsNoBenefitOfTheDoubt) {
  EXPECT_EQ(run(kKernel + kChoice).unguarded.names(), Names{"avx2"});
}

TEST_F(GuardsOf, CallThatCannotBeAvoidedIsNoChoice) {
  EXPECT_EQ(run(detector("flag") + initialiser("detect") + kKernel + function("f", "call kernel\nret")).unguarded.names(),
            Names{"avx2"});
}

TEST_F(GuardsOf, ChoiceIsNoExcuseAtLoad) {
  const HostCode host = run(detector("flag") + initialiser("detect") + kKernel + kChoice + initialiser("f"));
  EXPECT_EQ(host.at_load.names(), Names{"avx2"});
}

TEST_F(GuardsOf, BetterEntriesOfATableAreProbablyGuarded) {
  const std::string table = ".data\n.p2align 3\ntable: .quad 0, plain, thunk\n";
  const std::string call = function("f", "lea rax, [rip + table]\njmp qword ptr [rax + 8*rdi + 8]");
  const std::string entries = function("plain", "paddd xmm0, xmm1\nret", false) + function("thunk", "jmp kernel", false);
  const HostCode host = run(detector("flag") + initialiser("detect") + kKernel + entries + call + table);
  EXPECT_TRUE(host.unguarded.empty());
  EXPECT_EQ(host.guarded.names(), Names{"avx2"});
  EXPECT_EQ(run(kKernel + entries + call + table).unguarded.names(), Names{"avx2"});
}

// numpy's _simd: one table of methods for each instruction set, entered into a module behind its check.
TEST_F(GuardsOf, TablesThatAreEnteredBehindACheckAreGuarded) {
  const std::string table = ".section .rodata\nrun2: .asciz \"run2\"\n.data\n.p2align 3\nmethods2: .quad run2, kernel\n"
                            ".long 4, 0\n.quad 0\n.zero 32\ndef2: .zero 40\n.quad run2, 0, 0, methods2, 0\n.zero 24\n";
  const std::string module = module_text("exec") + function("method", "ret", false);
  const std::string create = function("create", "lea rdi, [rip + def2]\njmp PyModule_Create2@PLT", false);
  const std::string checked =
      function("exec", "call detect\ncmp dword ptr [rip + flag], 0\nje 1f\ncall create\n1: xor eax, eax\nret", false);
  const HostCode host = run(table + module + detector("flag") + kKernel + create + checked);
  EXPECT_TRUE(host.at_call.empty() && host.unguarded.empty());
  EXPECT_EQ(host.guarded.names(), Names{"avx2"});
  // Entered in any case, or by nobody that is known.
  const std::string plain = function("exec", "call detect\ncall create\nxor eax, eax\nret", false);
  EXPECT_EQ(run(table + module + detector("flag") + kKernel + create + plain).at_call["run2"].names(), Names{"avx2"});
  const std::string nobody = function("exec", "call detect\nxor eax, eax\nret", false);
  EXPECT_EQ(run(table + module + detector("flag") + kKernel + nobody).at_call["run2"].names(), Names{"avx2"});
}

// OpenBLAS exports its kernels, and keeps pointers to them in tables that code refers to in the middle.
TEST_F(GuardsOf, ExportsThatAreOneOfSeveralBuildsAreNoInterface) {
  const std::string ask = detector("flag") + initialiser("detect");
  const std::string builds = function("dot_k_HASWELL", "vpaddd ymm0, ymm1, ymm2\nret") + function("dot_k_PRESCOTT", "ret");
  const HostCode host = run(ask + builds);
  EXPECT_TRUE(host.unguarded.empty());
  const Evidence *e = find(host, Feature::avx2, Strength::guarded);
  ASSERT_TRUE(e);
  EXPECT_TRUE(e->guard.starts_with("probable: one of several builds, beside 0x")) << e->guard;
  // In a file that does not ask, alone, or by a word that is no CPU: an interface like any other.
  EXPECT_EQ(run(builds).unguarded.names(), Names{"avx2"});
  EXPECT_EQ(run(ask + function("dot_k_HASWELL", "vpaddd ymm0, ymm1, ymm2\nret")).unguarded.names(), Names{"avx2"});
  const std::string versions = function("dot_v2", "vpaddd ymm0, ymm1, ymm2\nret") + function("dot_v3", "ret");
  EXPECT_EQ(run(ask + versions).unguarded.names(), Names{"avx2"});
}

} // namespace
} // namespace isa_audit
