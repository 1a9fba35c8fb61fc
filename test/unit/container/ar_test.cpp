#include <gtest/gtest.h>

#include "read_archive.h"

using namespace isa_audit;

namespace {

std::string member(std::string name, const std::string &content) {
  name.resize(16, ' ');
  std::string size = std::to_string(content.size());
  size.resize(10, ' ');
  std::string out = name + "0           0     0     100644  " + size + "`\n" + content;
  return content.size() % 2 ? out + "\n" : out;
}

const std::string kMagic = "!<arch>\n";

TEST(Ar, NamesOfEveryKind) {
  auto archive =
      read_archive(kMagic + member("/", "symbols") + member("//", "a_very_long_name_of_an_object.o/\nsecond_long_name.o/\n") +
                       member("short.o/", "one") + member("/0", "two") + member("/33", "three") + member("short.o/", "four") +
                       member("#1/20", std::string("bsd.o") + std::string(15, '\0') + "five") + member("__.SYMDEF", "table"),
                   "lib.a!");
  EXPECT_EQ(archive->messages(), std::vector<std::string>{});
  EXPECT_EQ(archive->paths(), (std::vector<std::string>{"lib.a!short.o", "lib.a!a_very_long_name_of_an_object.o",
                                                        "lib.a!second_long_name.o", "lib.a!short.o#2", "lib.a!bsd.o"}));
  ASSERT_EQ(archive->members.size(), 5u);
  EXPECT_EQ(text_of(archive->members[3].open()), "four");
  EXPECT_EQ(text_of(archive->members[4].head(3)), "fiv");
  EXPECT_EQ(archive->members[4].size, 4u);
}

TEST(Ar, EveryTruncationIsTold) {
  std::string first = kMagic + member("a.o/", "1234");
  std::string whole = first + member("b.o/", "567890");
  for (size_t size = kMagic.size() + 1; size < whole.size(); ++size) {
    if (size == first.size()) continue; // a whole archive
    auto archive = read_archive(whole.substr(0, size));
    EXPECT_EQ(archive->problems.size(), 1u) << size;
    EXPECT_EQ(archive->members.size(), size < first.size() ? 0u : 1u) << size;
  }
}

TEST(Ar, DamagedFieldsAreTold) {
  for (const std::string &bad : {member("/99", "x"), member("#1/99", "x"), member("/x", "x")}) {
    auto archive = read_archive(kMagic + bad + member("good.o/", "y"));
    EXPECT_EQ(archive->problems.size(), 1u);
    EXPECT_EQ(archive->paths(), std::vector<std::string>{"good.o"}) << "the next one is still read";
  }
  std::string sized = member("a.o/", "1234");
  sized.replace(48, 10, "-4        ");
  EXPECT_EQ(read_archive(kMagic + sized)->problems.size(), 1u);
}

} // namespace
