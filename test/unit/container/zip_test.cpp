// Sound archives: every shape that real writers give them.

#include <cstdio>
#include <gtest/gtest.h>
#include <thread>

#include "read_archive.h"
#include "zip_writer.h"

namespace isa_audit {
namespace {

using Texts = std::vector<std::string>;

// Text that deflates to something, with matches and literals.
std::string prose(size_t size) {
  std::string text;
  for (uint32_t i = 0, state = 1; text.size() < size; ++i) {
    state = state * 1664525 + 1013904223;
    text += std::to_string(i);
    text += " lines, ";
    text += std::to_string(state >> 20);
  }
  text.resize(size);
  return text;
}

std::string numbered(size_t i) { return std::to_string(i).append(".so"); }

TEST(Zip, StoredMembersAreSlicesOfTheFile) {
  const auto zip = read_archive(make_zip({{"a/x.so", "stored bytes"}, {"b", ""}}), "dist/k.whl!");
  EXPECT_EQ(zip->messages(), Texts{});
  ASSERT_EQ(zip->paths(), (Texts{"dist/k.whl!a/x.so", "dist/k.whl!b"}));
  const Member &member = zip->members[0];
  EXPECT_EQ(member.origin.input, 3u);
  EXPECT_EQ(member.size, 12u);
  EXPECT_EQ(member.anonymous, 0u);
  EXPECT_EQ(member.encoding, "stored");
  auto bytes = member.open();
  ASSERT_TRUE(bool(bytes));
  EXPECT_EQ(bytes->text(), "stored bytes");
  EXPECT_EQ(bytes->text().data(), zip->bytes.data() + zip->bytes.find("stored bytes"));
  EXPECT_EQ(text_of(member.raw()), "stored bytes");
  EXPECT_EQ(text_of(member.head(6)), "stored");
  EXPECT_EQ(text_of(zip->members[1].open()), "");
}

TEST(Zip, DeflatedMembers) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{70000}, size_t{3} << 20}) {
    const std::string content = prose(size);
    const auto zip = read_archive(make_zip({{"m", content, true}}));
    ASSERT_EQ(zip->messages(), Texts{});
    const Member &member = zip->members.at(0);
    EXPECT_EQ(member.size, size);
    EXPECT_EQ(member.anonymous, size);
    EXPECT_EQ(member.encoding, "deflate");
    EXPECT_EQ(text_of(member.raw()), deflated(content));
    EXPECT_TRUE(text_of(member.open()) == content) << size;
    for (const size_t limit : {0, 1, 100, 4095, 4096, 65536})
      EXPECT_TRUE(text_of(member.head(limit)) == content.substr(0, limit)) << limit;
  }
}

TEST(Zip, EmptyMemberCalledDeflatedWithoutData) {
  ZipSpec spec{"m", ""};
  spec.method = 8;
  const auto zip = read_archive(make_zip({spec}));
  EXPECT_EQ(zip->messages(), Texts{});
  EXPECT_EQ(text_of(zip->members.at(0).open()), "");
}

TEST(Zip, EveryShapeOfWriters) {
  for (const bool zip64 : {false, true})
    for (const bool descriptor : {false, true})
      for (const bool zip64_end : {false, true})
        for (const std::string prefix : {"", "#!/usr/bin/env python3\n"})
          for (const std::string comment : {"", "a comment PK\x05 of the archive"}) {
            ZipSpec a{"a", prose(500), true, zip64, descriptor}, b{"b/c", prose(300), false, zip64, descriptor};
            const auto zip = read_archive(make_zip({a, b}, {prefix, comment, zip64_end, {}, 0}));
            ASSERT_EQ(zip->messages(), Texts{}) << zip64 << descriptor << zip64_end << prefix << comment;
            ASSERT_EQ(zip->paths(), (Texts{"a", "b/c"}));
            EXPECT_EQ(text_of(zip->members[0].open()), prose(500));
            EXPECT_EQ(text_of(zip->members[1].open()), prose(300));
          }
}

TEST(Zip, NoMembers) {
  const auto zip = read_archive(make_zip({}));
  EXPECT_EQ(zip->messages(), Texts{});
  EXPECT_TRUE(zip->members.empty());
  EXPECT_EQ(read_archive(make_zip({}, {"", "comment", false, {}, 0}))->messages(), Texts{});
  EXPECT_EQ(read_archive(make_zip({}, {"", "", true, {}, 0}))->messages(), Texts{});
}

// Writers without zip64 let the 16-bit count wrap.
TEST(Zip, SeventyThousandMembers) {
  for (const size_t total : {size_t{65535}, size_t{65536}, size_t{70000}}) {
    std::vector<ZipSpec> specs(total);
    for (size_t i = 0; i < total; ++i) specs[i].name = numbered(i);
    specs.back().content = "last";
    for (const bool zip64_end : {false, true}) {
      const auto zip = read_archive(make_zip(specs, {"", "", zip64_end, {}, 0}));
      EXPECT_EQ(zip->messages(), Texts{});
      ASSERT_EQ(zip->members.size(), total);
      EXPECT_EQ(text_of(zip->members.back().open()), "last");
    }
  }
}

TEST(Zip, FoldersAreNoMembers) { EXPECT_EQ(read_archive(make_zip({{"a/", ""}, {"a/b", ""}}))->paths(), Texts{"a/b"}); }

TEST(Zip, NamesAreRelativeValidAndUnambiguous) {
  ZipSpec dos{"a\\b.dll", ""}, unix_name{"c\\d", ""}, old{"\x81\x9b.so", ""};
  dos.host = 0;
  old.flags = 0;
  const auto zip = read_archive(make_zip({dos,
                                          unix_name,
                                          old,
                                          {"/etc//passwd", ""},
                                          {"./x/../../y", ""},
                                          {"gr\xc3\xbc\xc3\x9f", ""},
                                          {"ctl\n\x01", ""},
                                          {"", ""},
                                          {"twice", "1"},
                                          {"twice", "2"},
                                          {"twice#2", "3"},
                                          {"%2E%2E/z", ""}}));
  EXPECT_EQ(zip->paths(), (Texts{"a/b.dll", "c\\d", "\xc3\xbc\xc2\xa2.so", "etc/passwd", "x/%2E%2E/%2E%2E/y",
                                 "gr\xc3\xbc\xc3\x9f", "ctl\n\x01", "(no name)", "twice", "twice#2", "twice#2#2", "%2E%2E/z"}));
  EXPECT_EQ(zip->messages(), (Texts{"warning x/%2E%2E/%2E%2E/y: the member's name leads out of the archive's folder with '..'",
                                    "warning twice: the archive has another member of this name: shown with #2",
                                    "warning twice#2: the archive has another member of this name: shown with #2"}));
  EXPECT_EQ(text_of(zip->find("twice")->open()), "1");
  EXPECT_EQ(text_of(zip->find("twice#2")->open()), "2");
}

TEST(Zip, ArchivesInArchives) {
  const std::string inner = make_zip({{"deep.so", prose(5000), true}});
  for (const bool deflate : {false, true}) {
    const auto outer = read_archive(make_zip({{"first", "x"}, {"in.whl", inner, deflate}}));
    ASSERT_EQ(outer->messages(), Texts{});
    const auto nested = read_archive(text_of(outer->find("in.whl")->open()), "in.whl!");
    EXPECT_EQ(nested->messages(), Texts{});
    ASSERT_EQ(nested->paths(), Texts{"in.whl!deep.so"});
    EXPECT_EQ(text_of(nested->members[0].open()), prose(5000));
  }
}

// The members of an archive in an archive keep what they are slices of.
TEST(Zip, MembersKeepTheirBytesAlive) {
  const std::string archive = make_zip({{"in.zip", make_zip({{"leaf", "leaf content"}}), true}});
  std::vector<Member> members;
  const auto keep = [&](Member member) { members.push_back(std::move(member)); };
  const auto fail = [](const Problem &problem) { FAIL() << problem.message; };
  {
    auto copy = std::make_shared<std::string>(archive);
    read_archive("");
    const Bytes file({reinterpret_cast<const uint8_t *>(copy->data()), copy->size()}, copy);
    find_archive_format(file, "")->read(file, 0, "", {keep, fail});
    auto inner = members.at(0).open();
    ASSERT_TRUE(bool(inner));
    members.clear();
    find_archive_format(*inner, "")->read(*inner, 0, "in.zip!", {keep, fail});
  }
  EXPECT_EQ(text_of(members.at(0).open()), "leaf content");
}

TEST(Zip, MatchesByContent) {
  const auto name = [](std::string_view head) {
    const ArchiveFormat *format =
        find_archive_format(Bytes::borrowed({reinterpret_cast<const uint8_t *>(head.data()), head.size()}), "x.whl");
    return format ? format->name : "none";
  };
  EXPECT_EQ(name(make_zip({{"a", "b"}})), "zip");
  EXPECT_EQ(name(make_zip({})), "zip");
  EXPECT_EQ(name("#!/usr/bin/python3 -E\n" + make_zip({{"a", "b"}})), "zip");
  EXPECT_EQ(name("PK00" + make_zip({{"a", "b"}})), "zip");
  EXPECT_EQ(name("#!/bin/sh\necho PK\x03\x04"), "none");
  EXPECT_EQ(name("\x7f"
                 "ELF" +
                 make_zip({{"a", "b"}})),
            "none");
  EXPECT_EQ(name(""), "none");
  EXPECT_EQ(name("PK"), "none");
  EXPECT_EQ(name("PK\x01\x02"), "none");
}

TEST(Zip, LargeMembersAreSpilledWhenAsked) {
  const std::string archive = make_zip({{"large", prose(2 << 20), true}, {"small", prose(1000), true}});
  set_memory_spill_threshold(1 << 20);
  const auto zip = read_archive(archive);
  set_memory_spill_threshold(UINT64_MAX);
  ASSERT_EQ(zip->members.size(), 2u);
  EXPECT_EQ(zip->members[0].anonymous, 0u);
  EXPECT_EQ(zip->members[1].anonymous, 1000u);
  EXPECT_TRUE(text_of(zip->members[0].open()) == prose(2 << 20));
  EXPECT_TRUE(text_of(zip->members[1].open()) == prose(1000));
}

TEST(Zip, MembersOpenOnSeveralThreads) {
  std::vector<ZipSpec> specs;
  for (int i = 0; i < 40; ++i) specs.push_back({numbered(i), prose(1000 + 997 * i), i % 3 != 0});
  const auto zip = read_archive(make_zip(specs));
  ASSERT_EQ(zip->members.size(), specs.size());
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < specs.size(); ++i) {
        const Member &member = zip->members[(i + 10 * t) % specs.size()];
        const std::string &content = specs[(i + 10 * t) % specs.size()].content;
        good[t] += text_of(member.head(512)) == content.substr(0, 512) && text_of(member.open()) == content;
      }
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(4, 40));
}

// A writer that is not ours.
TEST(Zip, ReadsWhatPythonWrites) {
  const std::string path = testing::TempDir() + "isa-audit-python.zip";
  const std::string program = "import sys, zipfile as z\n"
                              "f = z.ZipFile(sys.argv[1], 'w')\n"
                              "f.writestr('stored.txt', b'abc' * 100, z.ZIP_STORED)\n"
                              "f.writestr('gr\\u00fcn/deflated.txt', b'abc' * 100000, z.ZIP_DEFLATED)\n"
                              "with f.open(z.ZipInfo('big.bin'), 'w', force_zip64=True) as m: m.write(b'zip64')\n"
                              "f.close()\n";
  if (std::system(("python3 -c \"" + program + "\" " + path).c_str()) != 0) GTEST_SKIP() << "no python3 to write an archive";
  std::FILE *file = std::fopen(path.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  std::string bytes(1 << 20, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  std::remove(path.c_str());
  const auto zip = read_archive(bytes);
  EXPECT_EQ(zip->messages(), Texts{});
  ASSERT_EQ(zip->paths(), (Texts{"stored.txt", "gr\xc3\xbcn/deflated.txt", "big.bin"}));
  EXPECT_EQ(text_of(zip->members[0].open()).size(), 300u);
  EXPECT_EQ(text_of(zip->members[1].open()).size(), 300000u);
  EXPECT_EQ(text_of(zip->members[2].open()), "zip64");
}

} // namespace
} // namespace isa_audit
