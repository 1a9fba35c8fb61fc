#include "isa-audit/elf/elf.h"

#include <gtest/gtest.h>

#include "support/device_builder.h"

using namespace isa_audit;
using namespace isa_audit::test;

namespace {

Bytes as_bytes(const std::string &text) {
  return Bytes::borrowed({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

std::string message(llvm::Expected<Elf> elf) { return elf ? std::string() : llvm::toString(elf.takeError()); }

// A dynamic section that names two libraries.
std::string library() {
  ElfSpec spec;
  spec.sections.push_back({".text", 1, 6, std::string(32, '\x90'), 16});
  spec.sections.push_back({".rodata", 1, 2, "constants", 16});
  spec.sections.push_back({".bss", 8, 3, "", 16});
  spec.sections.push_back({".dynstr", 3, 2, std::string("\0liba.so\0libb.so.1\0me.so\0", 25), 1});
  ByteWriter dynamic;
  for (auto [tag, value] : {std::pair{1, 1}, std::pair{1, 9}, std::pair{14, 19}, std::pair{0, 0}, std::pair{1, 1}})
    dynamic.le(uint64_t(tag)).le(uint64_t(value));
  spec.sections.push_back({".dynamic", 6, 3, dynamic.bytes(), 8, 4, 16});
  ByteWriter note;
  note.le(uint32_t(4)).le(uint32_t(3)).le(uint32_t(7)).raw(std::string_view("GNU\0", 4)).raw("abc").align(4);
  note.le(uint32_t(4)).le(uint32_t(4)).le(uint32_t(8)).raw(std::string_view("XYZ\0", 4)).raw("defg");
  spec.sections.push_back({".note.test", 7, 2, note.bytes(), 4});
  return build_elf(spec);
}

TEST(Elf, ReadsALibrary) {
  std::string file = library();
  auto elf = llvm::cantFail(Elf::read(as_bytes(file)));
  EXPECT_EQ(elf.format(), "elf-x86_64");
  EXPECT_TRUE(elf.problems().empty());
  EXPECT_EQ(elf.extent(), file.size());
  EXPECT_EQ(elf.needed(), (std::vector<std::string_view>{"liba.so", "libb.so.1"}));
  EXPECT_EQ(elf.soname(), "me.so");
  ASSERT_NE(elf.find_section(".rodata"), nullptr);
  EXPECT_EQ(elf.find_section(".rodata")->bytes.text(), "constants");
  EXPECT_EQ(elf.find_section(".nothing"), nullptr);
  ASSERT_EQ(elf.code_ranges().size(), 1u);
  EXPECT_EQ(elf.code_ranges()[0].name, ".text");
  for (const Elf::Range &range : elf.data_ranges()) EXPECT_NE(range.name, ".text");
  std::vector<std::string> notes;
  elf.for_each_note(
      [&](const ElfNote &note) { notes.push_back(std::string(note.owner) + ":" + std::string(note.desc.text())); });
  EXPECT_EQ(notes, (std::vector<std::string>{"GNU:abc", "XYZ:defg"}));
  EXPECT_EQ(elf.offset_of(64), 64u);
  EXPECT_EQ(elf.offset_of(file.size()), std::nullopt);
}

TEST(Elf, WithoutSectionHeadersSegmentsServe) {
  std::string file = library();
  file.replace(40, 8, std::string(8, '\0')); // e_shoff
  file.replace(60, 2, std::string(2, '\0')); // e_shnum
  auto elf = llvm::cantFail(Elf::read(as_bytes(file)));
  EXPECT_TRUE(elf.sections().empty());
  ASSERT_EQ(elf.data_ranges().size(), 1u);
  EXPECT_EQ(elf.data_ranges()[0].bytes.size(), elf.segments()[0].file_size);
}

TEST(Elf, Refused) {
  EXPECT_NE(message(Elf::read(as_bytes("#!/bin/sh, a script of some length"))), "");
  std::string file = library();
  for (size_t size : {0, 4, 19, 63}) EXPECT_NE(message(Elf::read(as_bytes(file.substr(0, size)))), "") << size;
  file[4] = 9;
  EXPECT_NE(message(Elf::read(as_bytes(file))).find("class"), std::string::npos);
}

// A cut file is read as far as it goes, and says so.
TEST(Elf, EveryTruncation) {
  std::string file = library();
  for (size_t size = 64; size < file.size(); ++size) {
    std::string cut = file.substr(0, size);
    auto elf = llvm::cantFail(Elf::read(as_bytes(cut)));
    EXPECT_FALSE(elf.problems().empty()) << size;
    for (const ElfSection &section : elf.sections()) EXPECT_LE(section.bytes.size(), section.size);
    (void)elf.needed();
    elf.for_each_note([](const ElfNote &) {});
    elf.for_each_symbol(true, [](const ElfSymbol &) {});
  }
}

// No header field, whatever it says, leads outside of the file.
TEST(Elf, EveryHeaderByteTurned) {
  std::string file = library();
  for (size_t at = 16; at < 64; ++at)
    for (uint8_t value : {0, 1, 0x7f, 0x80, 0xff}) {
      std::string turned = file;
      turned[at] = static_cast<char>(value);
      auto elf = Elf::read(as_bytes(turned));
      if (!elf) {
        llvm::consumeError(elf.takeError());
        continue;
      }
      (void)elf->needed();
      (void)elf->data_ranges();
      elf->for_each_note([](const ElfNote &) {});
    }
}

TEST(Elf, BigEndianIsIdentifiedOnly) {
  std::string file = library();
  file[5] = 2;
  file[18] = 0;
  file[19] = 21;
  auto elf = llvm::cantFail(Elf::read(as_bytes(file)));
  EXPECT_EQ(elf.format(), "elf-be-machine-21");
  EXPECT_TRUE(elf.sections().empty());
}

} // namespace
