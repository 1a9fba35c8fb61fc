// What is reached, how, and behind which check: libraries of a few instructions each.
#include "isa-audit/host/analyse.h"

#include "snippets.h"

#include <algorithm>
#include <thread>

namespace isa_audit {
namespace {

class Analyse : public HostTest {};

TEST_F(Analyse, ExportedFunctionIsUnguarded) {
  const HostCode host = run(function("f", "vpaddd ymm0, ymm1, ymm2\nvzeroupper\nret"));
  EXPECT_EQ(host.used.names(), (Names{"avx", "avx2"}));
  EXPECT_EQ(host.unguarded.names(), (Names{"avx", "avx2"}));
  EXPECT_TRUE(host.at_load.empty() && host.at_import.empty() && host.guarded.empty());
  const Evidence *e = find(host, Feature::avx2, Strength::unguarded);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->instruction, "vpaddd ymm0, ymm1, ymm2");
  EXPECT_EQ(e->bytes, "c5f5fec2");
  EXPECT_EQ(e->symbol, "f");
  EXPECT_EQ(host.decoded_bytes, 8U);
}

TEST_F(Analyse, InitialiserRunsAtLoad) {
  const HostCode host = run(function("start", "call helper\nret", false) +
                            function("helper", "vpxor ymm0, ymm0, ymm0\nret", false) + initialiser("start"));
  EXPECT_EQ(host.at_load.names(), Names{"avx2"});
  EXPECT_TRUE(host.unguarded.empty());
  const Evidence *e = find(host, Feature::avx2, Strength::load);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->grade, Grade::certain);
  EXPECT_EQ(e->path, (Names{"initialiser", "start", "helper"}));
}

TEST_F(Analyse, InlineFunctionsAreKnownByTheirWeakNames) {
  const std::string leaked = ".weak leaked\n" + function("leaked", "vpxor ymm0, ymm0, ymm0\nret", false);
  const HostCode host = run(function("start", "call leaked\nret", false) + leaked + initialiser("start"));
  const Evidence *e = find(host, Feature::avx2, Strength::load);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->symbol, "leaked");
  EXPECT_TRUE(e->weak);
}

TEST_F(Analyse, AvoidableCodeIsOnlyLikely) {
  const HostCode host =
      run(function("start", "test edi, edi\nje 1f\nvpxor ymm0, ymm0, ymm0\n1: ret", false) + initialiser("start"));
  const Evidence *e = find(host, Feature::avx2, Strength::load);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->grade, Grade::likely);
}

TEST_F(Analyse, CodeThatEndsInAbortIsNoNeedOfLoading) {
  const HostCode host = run(function("start", "test edi, edi\nje 1f\nvpxor ymm0, ymm0, ymm0\ncall abort@PLT\n1: ret", false) +
                            initialiser("start"));
  EXPECT_TRUE(host.at_load.empty());
  EXPECT_EQ(host.unguarded.names(), Names{"avx2"});
}

TEST_F(Analyse, CheckInTheSameFunctionGuards) {
  const std::string text =
      detector("flag") + initialiser("detect") +
      function("f", "cmp dword ptr [rip + flag], 0\nje 1f\nvpaddd ymm0, ymm1, ymm2\nret\n1: paddd xmm0, xmm1\nret");
  const HostCode host = run(text);
  EXPECT_EQ(host.guarded.names(), Names{"avx2"});
  EXPECT_TRUE(host.unguarded.empty() && host.at_load.empty());
  const Evidence *e = find(host, Feature::avx2, Strength::guarded);
  ASSERT_TRUE(e);
  EXPECT_TRUE(e->guard.starts_with("check at 0x")) << e->guard;
}

TEST_F(Analyse, TheOtherSideOfTheCheckIsNotGuarded) {
  const HostCode host = run(detector("flag") + initialiser("detect") +
                            function("f", "cmp dword ptr [rip + flag], 0\njne 1f\nvpaddd ymm0, ymm1, ymm2\nret\n1: ret"));
  EXPECT_EQ(host.unguarded.names(), Names{"avx2"});
}

TEST_F(Analyse, PaddingBeforeATargetLeadsNowhere) {
  const std::string check = "push rbx\nmov eax, 7\nxor ecx, ecx\ncpuid\nmov eax, ebx\npop rbx\ntest eax, 32\njne 1f\nret\n";
  const std::string body = "1: vpaddd ymm0, ymm1, ymm2\nret";
  for (const std::string pad : {"nop\n", ".p2align 4\n", "xchg ax, ax\n", ".nops 24, 9\n"})
    EXPECT_EQ(run(function("f", check + pad + body)).guarded.names(), Names{"avx2"}) << pad;
  // Code there may be a landing pad.
  EXPECT_EQ(run(function("f", check + "mov eax, 1\n" + body)).unguarded.names(), Names{"avx2"});
}

TEST_F(Analyse, GuardedCallProtectsTheCallee) {
  const HostCode host =
      run(detector("flag") + function("kernel", "vpaddd ymm0, ymm1, ymm2\nret", false) +
          function("start", "call detect\nmov eax, dword ptr [rip + flag]\ntest eax, eax\nje 1f\ncall kernel\n1: ret", false) +
          initialiser("start"));
  EXPECT_TRUE(host.at_load.empty());
  EXPECT_EQ(host.guarded.names(), Names{"avx2"});
}

TEST_F(Analyse, PredicateFunctionIsFollowed) {
  const HostCode host =
      run(function("has_avx2", "push rbx\nmov eax, 7\nxor ecx, ecx\ncpuid\nmov eax, ebx\nshr eax, 5\nand eax, 1\npop rbx\nret",
                   false) +
          function("kernel", "vpaddd ymm0, ymm1, ymm2\nret", false) +
          function("start", "call has_avx2\ntest eax, eax\nje 1f\ncall kernel\n1: ret", false) + initialiser("start"));
  EXPECT_TRUE(host.at_load.empty());
  EXPECT_EQ(host.guarded.names(), Names{"avx2"});
}

TEST_F(Analyse, MaximumLeafIsNoCheck) {
  const HostCode host =
      run(function("kernel", "vpaddd ymm0, ymm1, ymm2\nret", false) +
          function("start", "push rbx\nxor eax, eax\ncpuid\npop rbx\ncmp eax, 7\njl 1f\ncall kernel\n1: ret", false) +
          initialiser("start"));
  EXPECT_EQ(host.at_load.names(), Names{"avx2"});
}

TEST_F(Analyse, ExecSlotRunsAtImportAndMethodsAtCall) {
  const HostCode host =
      run(module_text("exec", "methods") + function("exec", "vpxor xmm0, xmm0, xmm0\nxor eax, eax\nret", false) +
          function("method", "vpaddd ymm0, ymm1, ymm2\nret", false));
  EXPECT_TRUE(host.at_load.empty());
  EXPECT_EQ(host.at_import.names(), Names{"avx"});
  ASSERT_TRUE(host.at_call.contains("run"));
  EXPECT_EQ(host.at_call.at("run").names(), Names{"avx2"});
  const Evidence *e = find(host, Feature::avx, Strength::import);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->path, (Names{"exec slot of m", "exec"}));
}

TEST_F(Analyse, FailedCallsOfPythonAreNoPathOfAnImport) {
  const HostCode host =
      run(module_text("exec") +
          function("exec",
                   "call PyDict_New@PLT\ntest rax, rax\nje 1f\nxor eax, eax\nret\n1: vpxor xmm0, xmm0, xmm0\nmov eax, -1\nret",
                   false) +
          function("method", "ret", false));
  EXPECT_TRUE(host.at_import.empty());
}

TEST_F(Analyse, LzcntIsSilentAndTzcntOnlyWithItsFlags) {
  const HostCode one = run(function("f", "lzcnt eax, edi\nret"));
  EXPECT_EQ(one.silently_different.names(), Names{"lzcnt"});
  EXPECT_TRUE(one.unguarded.empty());
  EXPECT_TRUE(run(function("f", "tzcnt eax, edi\nret")).silently_different.empty());
  EXPECT_EQ(run(function("f", "tzcnt eax, edi\njb 1f\n1: ret")).silently_different.names(), Names{"bmi"});
  // Moves keep the flags; most else does not.
  EXPECT_EQ(run(function("f", "tzcnt eax, edi\nmov edx, 32\ncmovb eax, edx\nret")).silently_different.names(), Names{"bmi"});
  EXPECT_EQ(run(function("f", "tzcnt eax, edi\nmovzx ecx, dl\nadc ecx, 0\nret")).silently_different.names(), Names{"bmi"});
  EXPECT_TRUE(run(function("f", "tzcnt eax, edi\nadd eax, 1\njb 1f\n1: ret")).silently_different.empty());
}

TEST_F(Analyse, DataInTextIsNotTakenForCode) {
  // A table that would decode as AVX, after a function without unwind information.
  const HostCode host =
      run(".text\n.globl f\n.type f,@function\nf: ret\n.p2align 4\n.type table,@object\ntable: .byte 0xc5, 0xf5, 0xfe, 0xc2\n"
          ".size table, 4\n");
  EXPECT_TRUE(host.used.empty());
}

TEST_F(Analyse, NoteOfTheLinkerIsRead) {
  const HostCode host =
      run(function("f", "ret") + ".section .note.isa,\"a\",@note\n.p2align 3\n.long 4, 16, 5\n.asciz \"GNU\"\n"
                                 ".long 0xc0008002, 4, 6, 0\n");
  EXPECT_EQ(host.needed_level, 3);
  EXPECT_EQ(host.declared_needed, psabi_level(3));
}

TEST_F(Analyse, CallsIntoNeededLibrariesAreFollowed) {
  const std::string text = function("start", "call inner@PLT\nret", false) + initialiser("start");
  Library inner = assemble(function("inner", "vpxor ymm0, ymm0, ymm0\nret"));
  Library outer = assemble(text, "libinner.so"), stranger = assemble(text);
  ASSERT_TRUE(inner.elf && outer.elf && stranger.elf);
  const std::vector<HostInput> linked{{outer.elf.get(), "p/outer.so"}, {inner.elf.get(), "p.libs/libinner.so"}};
  const std::vector<HostCode> hosts = analyse_host_set(linked, serial_for);
  EXPECT_EQ(hosts[1].at_load.names(), Names{"avx2"});
  const Evidence *e = find(hosts[1], Feature::avx2, Strength::load);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->path, (Names{"initialiser", "start", "inner"}));
  // A file that does not ask for the library is not bound to it.
  const std::vector<HostInput> apart{{stranger.elf.get(), "p/outer.so"}, {inner.elf.get(), "p.libs/libinner.so"}};
  EXPECT_EQ(analyse_host_set(apart, serial_for)[1].unguarded.names(), Names{"avx2"});
}

TEST_F(Analyse, BuildsSideBySideAreChosenByName) {
  Library plain = assemble(function("f", "ret"));
  Library fast = assemble(function("start", "vpxor ymm0, ymm0, ymm0\nret", false) + initialiser("start"));
  ASSERT_TRUE(plain.elf && fast.elf);
  const std::vector<HostInput> beside{{plain.elf.get(), "p/_x.so"}, {fast.elf.get(), "p/_x_avx2.so"}};
  std::vector<HostCode> hosts = analyse_host_set(beside, serial_for);
  EXPECT_TRUE(hosts[1].at_load.empty());
  EXPECT_EQ(hosts[1].guarded.names(), Names{"avx2"});
  // On its own, or named by nothing but the instruction set, it is a file like any other.
  const std::vector<HostInput> alone{{plain.elf.get(), "p/_y.so"}, {fast.elf.get(), "p/_x_avx2.so"}};
  EXPECT_EQ(analyse_host_set(alone, serial_for)[1].at_load.names(), Names{"avx2"});
  const std::vector<HostInput> bare{{plain.elf.get(), "p/sse2.so"}, {fast.elf.get(), "p/avx2.so"}};
  EXPECT_EQ(analyse_host_set(bare, serial_for)[1].at_load.names(), Names{"avx2"});
}

TEST_F(Analyse, TheSameForAnyOrderAndAnyThreads) {
  Library a = assemble(detector("flag") + initialiser("detect") +
                       function("f", "cmp dword ptr [rip + flag], 0\nje 1f\nvpaddd ymm0, ymm1, ymm2\n1: ret"));
  Library b = assemble(function("g", "vfmadd231ps ymm0, ymm1, ymm2\nret"));
  ASSERT_TRUE(a.elf && b.elf);
  const ParallelFor backwards = [](size_t n, const std::function<void(size_t)> &body) {
    std::vector<std::thread> threads;
    for (size_t i = n; i-- > 0;) threads.emplace_back([&body, i] { body(i); });
    for (std::thread &t : threads) t.join();
  };
  const std::vector<HostInput> one{{a.elf.get(), "a.so"}, {b.elf.get(), "b.so"}},
      two{{b.elf.get(), "b.so"}, {a.elf.get(), "a.so"}};
  const std::vector<HostCode> x = analyse_host_set(one, serial_for), y = analyse_host_set(two, backwards);
  for (const auto &[p, q] : {std::pair(&x[0], &y[1]), std::pair(&x[1], &y[0])}) {
    EXPECT_EQ(p->guarded, q->guarded);
    EXPECT_EQ(p->unguarded, q->unguarded);
    ASSERT_EQ(p->evidence.size(), q->evidence.size());
    for (size_t i = 0; i < p->evidence.size(); ++i) EXPECT_EQ(p->evidence[i].address, q->evidence[i].address);
  }
}

TEST_F(Analyse, ListingIsTheSameWithoutReach) {
  const HostCode full = run(detector("flag") + function("f", "vpaddd zmm0, zmm1, zmm2\nlzcnt eax, ecx\nret") +
                            function("g", "cmp dword ptr [rip + flag], 0\nje 1f\nvpaddd ymm0, ymm1, ymm2\n1: ret"));
  const HostCode list = list_host(*library_.elf, serial_for);
  EXPECT_EQ(list.used.names(), full.used.names());
  EXPECT_EQ(list.used.names(), (Names{"avx2", "avx512f", "lzcnt"}));
  EXPECT_EQ(list.code_bytes, full.code_bytes);
  EXPECT_EQ(list.decoded_bytes, full.decoded_bytes);
  EXPECT_TRUE(full.guards_analysed && !list.guards_analysed);
  EXPECT_TRUE(list.evidence.empty());
}

TEST_F(Analyse, CutFilesDoNotCrash) {
  const Library whole =
      assemble(module_text("exec", "methods") + detector("flag") + function("exec", "call detect\nret", false) +
               function("method", "vpaddd ymm0, ymm1, ymm2\nret", false));
  ASSERT_TRUE(whole.elf);
  for (size_t size = 0; size < whole.bytes.size(); size += 61) {
    llvm::Expected<Elf> elf = Elf::read(Bytes::borrowed(std::span(whole.bytes).first(size)));
    if (!elf) {
      llvm::consumeError(elf.takeError());
      continue;
    }
    std::vector<std::string> problems;
    const HostCode host = analyse_host(*elf, serial_for, problems);
    EXPECT_TRUE(host.used.is_subset_of(IsaSet{Feature::avx, Feature::avx2}));
  }
}

} // namespace
} // namespace isa_audit
