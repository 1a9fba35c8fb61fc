#include <gtest/gtest.h>
#include <string>

#include "isa-audit/source/walk.h"

namespace isa_audit {
namespace {

struct GlobCase {
  const char *glob;
  const char *path;
  bool matches;
};

TEST(Glob, MatchesByTheRulesOfTheHeader) {
  const GlobCase cases[] = {
      {"", "", true},
      {"a", "a", true},
      {"a", "ab", false},
      {"*", "a.so", true},
      {"*", "lib/a.so", false},
      {"*.so", "a.so.1", false},
      {"lib/*.so", "lib/a.so", true},
      {"lib/*.so", "lib/x/a.so", false},
      {"lib/**.so", "lib/x/a.so", true},
      {"**/tests", "tests", true},
      {"**/tests", "a/b/tests", true},
      {"**/tests", "a/mytests", false},
      {"**/tests/**", "a/tests/b/c", true},
      {"**/tests/**", "tests/c", true},
      {"a/**/b", "a/b", true},
      {"a/**/b", "a/x/y/b", true},
      {"a/**/b", "ab", false},
      {"**", "a/b/c", true},
      {"a?c", "abc", true},
      {"a?c", "a/c", false},
      {"[a-c]x", "bx", true},
      {"[!a-c]x", "bx", false},
      {"[!a-c]x", "dx", true},
      {"[!a]x", "/x", false},
      {"[]]", "]", true},
      {"[a", "[a", true},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"a\\", "a\\", true},
      {"*a*b*c", "xaxbxc", true},
      {"*a*b*c", "xaxbx", false},
      {"**/*a*/**/b", "q/za/r/s/b", true},
  };
  for (const GlobCase &c : cases) EXPECT_EQ(glob_match(c.glob, c.path), c.matches) << c.glob << " against " << c.path;
}

// The definition, without any thought for time.
bool reference_match(std::string_view glob, std::string_view path, bool at_start) {
  if (glob.empty()) return path.empty();
  if (glob.starts_with("**")) {
    const std::string_view rest = glob.substr(2);
    if (at_start && rest.starts_with("/")) {
      if (reference_match(rest.substr(1), path, true)) return true;
      for (size_t i = 0; i < path.size(); ++i)
        if (path[i] == '/' && reference_match(rest.substr(1), path.substr(i + 1), true)) return true;
      return false;
    }
    for (size_t i = 0; i <= path.size(); ++i)
      if (reference_match(rest, path.substr(i), false)) return true;
    return false;
  }
  if (glob[0] == '*') {
    for (size_t i = 0; i <= path.size(); ++i) {
      if (reference_match(glob.substr(1), path.substr(i), false)) return true;
      if (i < path.size() && path[i] == '/') return false;
    }
    return false;
  }
  if (path.empty()) return false;
  if (glob[0] == '?' ? path[0] == '/' : glob[0] != path[0]) return false;
  return reference_match(glob.substr(1), path.substr(1), glob[0] == '/');
}

// Every glob and every path of a small alphabet: the backtracking must find what the definition finds.
TEST(Glob, AgreesWithTheDefinition) {
  const auto all = [](const std::string &alphabet, size_t length) {
    std::vector<std::string> words = {""};
    for (size_t from = 0, n = 0; n < length; ++n) {
      const size_t to = words.size();
      for (; from < to; ++from)
        for (const char c : alphabet) words.push_back(words[from] + c);
    }
    return words;
  };
  const std::vector<std::string> paths = all("a/", 6);
  for (const std::string &glob : all("a/*", 6)) {
    if (glob.find("***") != std::string::npos) continue;
    for (const std::string &path : paths)
      ASSERT_EQ(glob_match(glob, path), reference_match(glob, path, true)) << glob << " against " << path;
  }
}

TEST(Glob, TakesNoExponentialTime) {
  std::string glob, path(400, 'a');
  for (int i = 0; i < 60; ++i) glob += "**a*a";
  EXPECT_FALSE(glob_match(glob + "b", path));
}

TEST(GlobFault, TellsWhatCanMatchNothing) {
  for (const char *good : {"*", "[a]", "[]]", "[!]x]", "\\[", "a[b-d]/**"}) EXPECT_EQ(glob_fault(good), "") << good;
  for (const char *bad : {"", "[", "a[b", "[]", "[!]", "a\\", "[a]["}) EXPECT_NE(glob_fault(bad), "") << bad;
}

TEST(Excluded, GlobWithoutSlashMatchesAnyComponent) {
  EXPECT_TRUE(is_excluded({"*.pyc"}, "a/b/c.pyc"));
  EXPECT_TRUE(is_excluded({"tests"}, "a/tests/x.so"));
  EXPECT_TRUE(is_excluded({"tests/"}, "a/tests"));
  EXPECT_TRUE(is_excluded({"a/*.so"}, "a/x.so"));
  EXPECT_FALSE(is_excluded({"a/*.so"}, "b/a/x.so"));
  EXPECT_TRUE(is_excluded({"*.whl"}, "dist/k.whl!k/x.so"));
  EXPECT_TRUE(is_excluded({"x.so"}, "dist/k.whl!x.so"));
  EXPECT_FALSE(is_excluded({}, "x.so"));
}

} // namespace
} // namespace isa_audit
