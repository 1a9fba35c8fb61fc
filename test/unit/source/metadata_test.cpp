#include <gtest/gtest.h>

#include "isa-audit/source/site_packages.h"

namespace isa_audit {
namespace {

using Texts = std::vector<std::string>;

std::string error_of(std::string_view text) {
  auto parsed = parse_metadata(text);
  return parsed ? "none: " + parsed->name : llvm::toString(parsed.takeError());
}

TEST(NormalizedName, FollowsPep503) {
  EXPECT_EQ(normalized_name("Friendly-Bard"), "friendly-bard");
  EXPECT_EQ(normalized_name("FRIENDLY_BARD"), "friendly-bard");
  EXPECT_EQ(normalized_name("friendly.--_bard"), "friendly-bard");
  EXPECT_EQ(normalized_name(""), "");
}

TEST(Metadata, NameVersionAndRequirements) {
  auto parsed = parse_metadata("Metadata-Version: 2.1\nName: Kern-Lib\nVersion: 1.2+rocm6.4\nRequires-Dist: numpy (>=1.20)\n"
                               "Requires-Dist: x ; extra == 'a'\n\nName: not this\n");
  ASSERT_TRUE(bool(parsed));
  EXPECT_EQ(parsed->name, "Kern-Lib");
  EXPECT_EQ(parsed->version, "1.2+rocm6.4");
  EXPECT_EQ(parsed->requires_dist, (Texts{"numpy (>=1.20)", "x ; extra == 'a'"}));
}

TEST(Metadata, WhatFilesOfAllTimesHave) {
  auto parsed = parse_metadata("\xef\xbb\xbfNAME:kern\r\nversion:\t 1 \r\nLicense: a\r\n Name: folded\r\nno colon "
                               "here\r\nName: second\r\n\r\nVersion: 2");
  ASSERT_TRUE(bool(parsed));
  EXPECT_EQ(parsed->name, "kern");
  EXPECT_EQ(parsed->version, "1");
  auto folded = parse_metadata("Requires-Dist: a\n  >= 1\nName:\n kern");
  ASSERT_TRUE(bool(folded));
  EXPECT_EQ(folded->name, "kern");
  EXPECT_EQ(folded->requires_dist, Texts{"a >= 1"});
}

TEST(Metadata, HostileTextHasNoName) {
  EXPECT_EQ(error_of(""), "no sound Name");
  EXPECT_EQ(error_of("\n\nName: late\n"), "no sound Name");
  EXPECT_EQ(error_of("Version: 1\n"), "no sound Name");
  EXPECT_EQ(error_of("Name: a\x1b[31mb\n"), "no sound Name");
  EXPECT_EQ(error_of("Name: \xff\xfe\n"), "no sound Name");
  EXPECT_EQ(error_of("Name: " + std::string(5000, 'n') + "\n"), "no sound Name");
  EXPECT_EQ(error_of(std::string("Name: a\0b\n", 10)), "no sound Name");
  EXPECT_EQ(error_of("X: " + std::string(3 << 20, 'x') + "\nName: behind the limit\n"), "no sound Name");
}

TEST(Record, PathsAsWritten) {
  Texts problems;
  EXPECT_EQ(parse_record("a/b.so,sha256=x,12\r\n\"with, comma.py\",,\n\"say "
                         "\"\"hi\"\".py\",,\n\n../../../bin/kern,sha256=y,3\nkern-1.dist-info/RECORD,,",
                         problems),
            (Texts{"a/b.so", "with, comma.py", "say \"hi\".py", "../../../bin/kern", "kern-1.dist-info/RECORD"}));
  EXPECT_EQ(problems, Texts{});
  EXPECT_EQ(parse_record("\xef\xbb\xbfonly-path\ra\n\"two\nlines\",,\nlast", problems),
            (Texts{"only-path", "a", "two\nlines", "last"}));
  EXPECT_EQ(parse_record("", problems), Texts{});
  EXPECT_EQ(problems, Texts{});
}

TEST(Record, RowsThatAreNoCsvHideNoOthers) {
  Texts problems;
  EXPECT_EQ(parse_record("a,,\n\"open,,\nb,,\n\"good\",,\n\"x\"y,,\nc,,\n\"never closed,,\nd,,", problems),
            (Texts{"a", "b", "good", "c", "d"}));
  EXPECT_EQ(problems, (Texts{"row 2 is no CSV: something follows a closing quote",
                             "row 5 is no CSV: something follows a closing quote", "row 7 is no CSV: a quote is not closed"}));
  problems.clear();
  EXPECT_EQ(parse_record(std::string("n\0n,,\nb", 7), problems), Texts{"b"});
  EXPECT_EQ(problems, Texts{"row 1 is no CSV: a path holds a zero byte"});
  problems.clear();
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "\"a\"b\n";
  EXPECT_EQ(parse_record(many, problems), Texts{});
  ASSERT_EQ(problems.size(), 11u);
  EXPECT_EQ(problems.back(), "990 more rows are no CSV");
}

} // namespace
} // namespace isa_audit
