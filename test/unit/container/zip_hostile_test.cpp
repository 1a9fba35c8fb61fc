// Archives that are damaged or lie: a clear problem, the other members whole, never a crash, never wrong bytes.

#include <gtest/gtest.h>

#include "read_archive.h"
#include "zip_writer.h"

namespace isa_audit {
namespace {

using Texts = std::vector<std::string>;

// Two members between sound ones: what a damaged one must not hide.
ReadArchive read_between(const ZipSpec &spec) {
  auto read = read_archive(make_zip({{"before", "1"}, spec, {"after", "2"}}));
  EXPECT_TRUE(read->find("before") && text_of(read->find("before")->open()) == "1");
  EXPECT_TRUE(read->find("after") && text_of(read->find("after")->open()) == "2");
  return std::move(*read);
}

TEST(ZipHostile, WrongChecksumIsAnErrorOfOpen) {
  for (const bool deflate : {false, true}) {
    ZipSpec spec{"m", "content", deflate};
    spec.crc = 0x12345678;
    const ReadArchive zip = read_between(spec);
    EXPECT_EQ(zip.messages(), Texts{});
    ASSERT_NE(zip.find("m"), nullptr);
    EXPECT_EQ(text_of(zip.find("m")->head(100)), "content");
    EXPECT_EQ(text_of(zip.find("m")->open()), "error: damaged: its CRC-32 is fec530a9, the directory says 12345678");
  }
}

TEST(ZipHostile, SizesThatLie) {
  const std::string content(5000, 'x');
  ZipSpec more{"m", content, true}, less{"m", content, true}, stored{"m", content};
  more.size = 5001;
  less.size = 4999;
  stored.size = 4999;
  EXPECT_EQ(text_of(read_between(more).find("m")->open()),
            "error: damaged: it inflates to less than the 5001 bytes the directory says");
  EXPECT_EQ(text_of(read_between(less).find("m")->open()),
            "error: damaged: it inflates to more than the 4999 bytes the directory says");
  EXPECT_EQ(read_between(stored).messages(),
            Texts{"error m: damaged: the directory gives it 4999 bytes, which cannot come from 5000 stored bytes"});
}

// Nothing is allocated for a size that deflate cannot reach; what it can reach is read.
TEST(ZipHostile, SizesThatCannotBe) {
  const std::string zeros(3 << 20, '\0');
  EXPECT_EQ(text_of(read_between({"m", zeros, true}).find("m")->open()), zeros);
  ZipSpec bomb{"m", "x", true, true};
  bomb.size = uint64_t{1} << 40;
  EXPECT_EQ(read_between(bomb).messages(),
            Texts{"error m: damaged: the directory gives it 1099511627776 bytes, which cannot come from 6 deflated bytes"});
}

TEST(ZipHostile, DataThatIsNotDeflate) {
  ZipSpec spec{"m", std::string(5000, 'x'), true};
  spec.packed = std::string(40, '\xff');
  const ReadArchive zip = read_between(spec);
  EXPECT_EQ(text_of(zip.find("m")->open()), "error: damaged: its deflate data is not sound");
  EXPECT_EQ(text_of(zip.find("m")->head(100)), "error: damaged: its deflate data is not sound or ends early");
}

TEST(ZipHostile, WhatCannotBeReadIsNamed) {
  ZipSpec encrypted{"m", "x"}, bzip2{"m", "x"}, unknown{"m", "x"}, local{"m", "x"};
  encrypted.flags |= 1;
  bzip2.method = 12;
  unknown.method = 77;
  local.local_name = "other";
  EXPECT_EQ(read_between(encrypted).messages(), Texts{"error m: encrypted: cannot be read"});
  EXPECT_EQ(read_between(bzip2).messages(), Texts{"error m: compressed by bzip2, which is not supported"});
  EXPECT_EQ(read_between(unknown).messages(), Texts{"error m: compressed by method 77, which is not supported"});
  EXPECT_EQ(read_between(local).messages(), Texts{"error m: damaged: its local header and the central directory disagree"});
  for (const auto &[method, name] :
       std::vector<std::pair<uint16_t, std::string>>{{9, "deflate64"}, {14, "lzma"}, {93, "zstd"}, {95, "xz"}}) {
    ZipSpec spec{"m", "x"};
    spec.method = method;
    EXPECT_EQ(read_between(spec).messages(), Texts{"error m: compressed by " + name + ", which is not supported"});
  }
}

TEST(ZipHostile, DataOutsideTheFile) {
  ZipSpec beyond{"m", "x"}, into{"m", "x"};
  beyond.offset = 0x7fffffff;
  into.packed_size = into.size = 100;
  EXPECT_EQ(read_between(beyond).messages(), Texts{"error m: damaged: its local header is missing at offset 2147483647"});
  const auto zip = read_archive(make_zip({into}));
  EXPECT_EQ(zip->messages(),
            Texts{"error m: damaged: its 100 bytes at offset 31 reach into the central directory or beyond the file"});
  ZipSpec far{"m", "x", false, true};
  far.offset = UINT64_MAX - 10;
  EXPECT_EQ(read_between(far).messages(),
            Texts{"error m: damaged: its local header is missing at offset 18446744073709551605"});
}

// The zip bomb of many members over the same deflate data; a writer that stores equal files once is no such thing.
TEST(ZipHostile, OverlappingMembers) {
  const std::string inner = make_zip({{"kernel", std::string(100, 'k')}});
  ZipSpec outer{"outer", inner}, kernel{"kernel", std::string(100, 'k')}, same{"outer", inner};
  kernel.offset = 30 + 5; // the local header inside the data of "outer"
  const auto zip = read_archive(make_zip({outer, kernel}));
  EXPECT_EQ(zip->paths(), Texts{"outer"});
  EXPECT_EQ(zip->messages(), Texts{"error kernel: damaged: its data overlaps that of another member: not read"});
  same.offset = 0;
  const auto shared = read_archive(make_zip({outer, same}));
  EXPECT_EQ(shared->paths(), (Texts{"outer", "outer#2"}));
}

TEST(ZipHostile, CountThatLies) {
  const std::vector<ZipSpec> specs = {{"a", "1"}, {"b", "2"}};
  const auto fewer = read_archive(make_zip(specs, {"", "", false, 1, 0}));
  EXPECT_EQ(fewer->paths(), (Texts{"a", "b"}));
  EXPECT_EQ(fewer->messages(), Texts{"warning : the zip end record counts 1 members, the central directory has 2"});
  const auto more = read_archive(make_zip(specs, {"", "", false, 3, 0}), "x.whl!");
  EXPECT_EQ(more->paths(), (Texts{"x.whl!a", "x.whl!b"}));
  ASSERT_EQ(more->problems.size(), 1u);
  EXPECT_EQ(more->problems[0].level, Level::error);
  EXPECT_EQ(more->problems[0].origin.path, "x.whl");
}

TEST(ZipHostile, SplitArchives) {
  EXPECT_EQ(read_archive(make_zip({{"a", "1"}}, {"", "", false, {}, 1}))->messages(),
            Texts{"error : a part of a zip archive split over several disks, which cannot be read"});
}

TEST(ZipHostile, CutDownloadIsNamedAsSuch) {
  const std::string whole = make_zip({{"a", std::string(10000, 'a')}, {"b", "2"}});
  const auto cut = read_archive(whole.substr(0, 5000), "kern.whl!");
  EXPECT_EQ(cut->messages(), Texts{"error kern.whl: zip central directory missing: the file is truncated?"});
  const auto front_lost = read_archive(whole.substr(0, 100) + whole.substr(9000));
  ASSERT_FALSE(front_lost->problems.empty());
  EXPECT_EQ(front_lost->problems[0].level, Level::error);
}

std::string small_archive(const ZipShape &shape) {
  return make_zip({{"stored", "abcdefgh"},
                   {"deflated", std::string(300, 'd'), true},
                   {"wide", "zip64", false, true},
                   {"late", "late", true, false, true}},
                  shape);
}

bool is_true_content(const std::string &content) {
  return content == "abcdefgh" || content == std::string(300, 'd') || content == "zip64" || content == "late";
}

// Every member that is fed gives what was written or an error. Returns whether nothing at all was complained about.
bool sound(const std::string &bytes, const std::string &what, size_t &members) {
  const auto zip = read_archive(bytes);
  bool silent = zip->problems.empty();
  members = zip->members.size();
  for (const Member &member : zip->members) {
    const std::string content = text_of(member.open());
    text_of(member.head(64));
    text_of(member.raw());
    if (content.starts_with("error: "))
      silent = false;
    else
      EXPECT_TRUE(is_true_content(content)) << what << ": " << member.origin.path;
  }
  return silent;
}

TEST(ZipHostile, CutAtEveryByte) {
  for (const bool zip64_end : {false, true})
    for (const std::string comment : {"", "comment"}) {
      const std::string whole = small_archive({"", comment, zip64_end, {}, 0});
      for (size_t size = 4; size <= whole.size(); ++size) { // shorter is nothing that looks like an archive
        size_t members = 0;
        if (sound(whole.substr(0, size), "cut at " + std::to_string(size), members)) {
          EXPECT_EQ(members, 4u) << size;
          EXPECT_GE(size + comment.size(), whole.size()) << "only the archive's comment can be lost without a loss";
        }
      }
    }
}

TEST(ZipHostile, EveryBitFlipped) {
  const std::string whole = small_archive({"", "", true, {}, 0});
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    size_t members = 0;
    sound(flipped, "bit " + std::to_string(bit), members);
  }
}

} // namespace
} // namespace isa_audit
