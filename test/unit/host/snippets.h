// Pieces of assembler text for libraries of a few instructions each.
#pragma once

#include "isa-audit/host/analyse.h"

#include "assemble.h"

namespace isa_audit {

using Names = std::vector<std::string>;

// A function with unwind information, as compilers make them.
inline std::string function(const std::string &name, const std::string &body, bool global = true) {
  return ".text\n.p2align 4\n" + (global ? ".globl " + name + "\n" : std::string()) + ".type " + name + ",@function\n" + name +
         ":\n.cfi_startproc\n" + body + "\n.cfi_endproc\n.size " + name + ", .-" + name + "\n";
}

inline std::string initialiser(const std::string &name) {
  return ".section .init_array,\"aw\",@init_array\n.quad " + name + "\n";
}

// PyModuleDef and its slots, as a compiler lays them out.
inline std::string module_text(const std::string &exec, const std::string &methods = "0") {
  return function("PyInit_m", "lea rdi, [rip + def]\njmp PyModuleDef_Init@PLT") +
         ".section .rodata\nname: .asciz \"m\"\nrun: .asciz \"run\"\n.data\n.p2align 3\nslots: .long 2, 0\n.quad " + exec +
         "\n.long 0, 0\n.quad 0\nmethods: .quad run, method\n.long 4, 0\n.quad 0\n.zero 32\n"
         "def: .zero 40\n.quad name, 0, 0, " +
         methods + ", slots\n.zero 24\n";
}

// edi ← a bit of CPUID leaf 7 (AVX2) in `flag`.
inline std::string detector(const std::string &flag) {
  return function("detect",
                  "push rbx\nmov eax, 7\nxor ecx, ecx\ncpuid\nshr ebx, 5\nand ebx, 1\nmov dword ptr [rip + " + flag +
                      "], ebx\npop rbx\nret",
                  false) +
         ".bss\n.p2align 2\n.type " + flag + ",@object\n.size " + flag + ", 4\n" + flag + ": .zero 4\n";
}

class HostTest : public testing::Test {
protected:
  void SetUp() override {
    if (!can_assemble()) GTEST_SKIP() << "clang-22 and lld-22 are not installed";
  }
  HostCode run(const std::string &text) {
    library_ = assemble(text);
    std::vector<std::string> problems;
    return library_.elf ? analyse_host(*library_.elf, serial_for, problems) : HostCode{};
  }
  static const Evidence *find(const HostCode &host, Feature feature, Strength strength) {
    for (const Evidence &e : host.evidence)
      if (e.feature == feature && e.strength == strength) return &e;
    return nullptr;
  }
  Library library_;
};

} // namespace isa_audit
