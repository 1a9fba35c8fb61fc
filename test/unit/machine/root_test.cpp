#include "isa-audit/machine/root.h"

#include <cerrno>
#include <sys/stat.h>

#include "tree.h"

namespace isa_audit {
namespace {

using test::Tree;

TEST(Root, ReadsBelowTheFolderOnly) {
  Tree tree;
  tree.write("etc/name", "inside\n");
  std::filesystem::create_symlink("/etc/name", tree.path("absolute"));
  std::filesystem::create_symlink("../../../../../../etc/name", tree.path("etc/up"));
  Root root(tree.folder());
  EXPECT_FALSE(root.is_real());
  EXPECT_EQ(root.line("/etc/name"), "inside");
  EXPECT_EQ(root.line("etc/name"), "inside");
  EXPECT_EQ(root.line("/absolute"), "inside");
  EXPECT_EQ(root.line("/etc/up"), "inside");
  EXPECT_EQ(root.line("/../../etc/name"), "inside");
}

TEST(Root, TakesNoMoreThanTheLimit) {
  Tree tree;
  tree.write("big", std::string(100000, 'a'));
  Root root(tree.folder());
  EXPECT_EQ(root.read("/big", 10), std::string(10, 'a'));
  EXPECT_EQ(root.read("/big", 100000)->size(), 100000u);
  EXPECT_EQ(root.read("/big", 200000)->size(), 100000u);
}

TEST(Root, SaysWhyNothingWasRead) {
  Tree tree;
  ASSERT_EQ(::mkfifo(tree.path("pipe").c_str(), 0600), 0);
  Root root(tree.folder());
  int error = 0;
  EXPECT_FALSE(root.read("/none", 10, &error).has_value());
  EXPECT_EQ(error, ENOENT);
  EXPECT_FALSE(root.read("/pipe", 10, &error).has_value());
  EXPECT_EQ(error, ENOTSUP);
  EXPECT_FALSE(root.read("/", 10, &error).has_value());
  EXPECT_EQ(error, ENOTSUP);
  tree.write("empty", "");
  EXPECT_EQ(root.read("/empty", 10, &error), "");
  EXPECT_EQ(error, 0);
}

TEST(Root, ListsSortedAndBounded) {
  Tree tree;
  for (const char *name : {"c", "a", "b"}) tree.write(std::string("d/") + name, "");
  Root root(tree.folder());
  EXPECT_EQ(root.list("/d"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(root.list("/d", 2).size(), 2u);
  EXPECT_TRUE(root.list("/none").empty());
  EXPECT_TRUE(root.list("/d/a").empty());
}

TEST(Root, NamesTheGroupOfAFile) {
  Tree tree;
  tree.write("dev/kfd", "");
  struct stat status;
  ASSERT_EQ(::stat(tree.path("dev/kfd").c_str(), &status), 0);
  tree.write("etc/group", "broken\n:::\nrender:x:" + std::to_string(status.st_gid) + ":someone\n");
  Root root(tree.folder());
  ASSERT_TRUE(root.owner("/dev/kfd").has_value());
  EXPECT_EQ(root.owner("/dev/kfd")->group, "render");
  EXPECT_EQ(root.owner("/dev/kfd")->gid, status.st_gid);
  tree.write("etc/group", "render:x:notanumber:\n");
  EXPECT_EQ(root.owner("/dev/kfd")->group, "");
  EXPECT_FALSE(root.owner("/dev/none").has_value());
}

TEST(Root, JudgesAccess) {
  Tree tree;
  tree.write("dev/kfd", "");
  Root below(tree.folder());
  EXPECT_EQ(below.access_error("/dev/kfd"), 0);
  EXPECT_EQ(below.access_error("/dev/none"), ENOENT);
  Root real("");
  EXPECT_TRUE(real.is_real());
  EXPECT_EQ(real.access_error("/dev/null"), 0);
  EXPECT_EQ(real.access_error("/dev/no-such-device"), ENOENT);
}

} // namespace
} // namespace isa_audit
