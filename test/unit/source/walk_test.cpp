#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "isa-audit/source/walk.h"
#include "temp_folder.h"

namespace isa_audit {
namespace {

struct Walked {
  std::vector<Member> members;
  Problems problems;

  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const Member &member : members) paths.push_back(member.origin.path);
    return paths;
  }
  const Member *find(const std::string &path) const {
    for (const Member &member : members)
      if (member.origin.path == path) return &member;
    return nullptr;
  }
};

Walked walk_all(const std::string &path, const WalkOptions &options = {}) {
  Walked walked;
  walk(path, 7, options,
       {[&](Member member) { walked.members.push_back(std::move(member)); },
        [&](Problem problem) { walked.problems.push_back(std::move(problem)); }});
  return walked;
}

using Paths = std::vector<std::string>;

std::string text_of(llvm::Expected<Bytes> bytes) {
  if (!bytes) return "error: " + llvm::toString(bytes.takeError());
  return std::string(bytes->text());
}

TEST(Walk, FeedsFilesInTheOrderOfTheirPaths) {
  const TempFolder folder;
  for (const char *name : {"b/z", "a/x", "a.so", "a/b/c", "a-b", "B"}) folder.write(name, name);
  const Walked walked = walk_all(folder.path());
  EXPECT_EQ(walked.paths(), (Paths{"B", "a-b", "a.so", "a/b/c", "a/x", "b/z"}));
  EXPECT_TRUE(walked.problems.empty());
  for (const Member &member : walked.members) {
    EXPECT_EQ(member.origin.input, 7u);
    EXPECT_EQ(member.size, member.origin.path.size());
    EXPECT_EQ(member.anonymous, 0u);
    EXPECT_EQ(text_of(member.head(65536)), member.origin.path);
    EXPECT_EQ(text_of(member.head(1)), member.origin.path.substr(0, 1));
    EXPECT_EQ(text_of(member.open()), member.origin.path);
    EXPECT_EQ(text_of(member.raw()), member.origin.path);
  }
}

TEST(Walk, FileGivenDirectlyHasItsBaseName) {
  const TempFolder folder;
  const std::string path = folder.write("lib/a.so", "content");
  const Walked walked = walk_all(path);
  EXPECT_EQ(walked.paths(), Paths{"a.so"});
  symlink("lib/a.so", (folder / "link.so").c_str());
  EXPECT_EQ(walk_all(folder / "link.so").paths(), Paths{"link.so"});
  EXPECT_EQ(text_of(walk_all(folder / "link.so").members.at(0).open()), "content");
}

TEST(Walk, EmptyFilesAndFolders) {
  const TempFolder folder;
  folder.write("empty", "");
  std::filesystem::create_directory(folder / "nothing");
  const Walked walked = walk_all(folder.path());
  ASSERT_EQ(walked.paths(), Paths{"empty"});
  EXPECT_EQ(text_of(walked.members[0].open()), "");
  EXPECT_EQ(text_of(walked.members[0].head(100)), "");
  EXPECT_TRUE(walk_all(folder / "nothing").members.empty());
}

TEST(Walk, HardLinksShareTheirIdentity) {
  const TempFolder folder;
  folder.write("a", "same");
  folder.write("c", "same");
  link((folder / "a").c_str(), (folder / "b").c_str());
  const Walked walked = walk_all(folder.path());
  ASSERT_EQ(walked.members.size(), 3u);
  EXPECT_EQ(walked.members[0].identity, walked.members[1].identity);
  EXPECT_NE(walked.members[0].identity, walked.members[2].identity);
  EXPECT_FALSE(walked.members[0].identity.empty());
}

TEST(Walk, NamesOfAnyBytes) {
  const TempFolder folder;
  folder.write("bad\xff\nname", "1");
  folder.write(std::string(255, 'n'), "2");
  const Walked walked = walk_all(folder.path());
  ASSERT_EQ(walked.members.size(), 2u);
  EXPECT_EQ(walked.members[0].origin.path, "bad\xff\nname");
  EXPECT_EQ(text_of(walked.members[0].open()), "1");
  EXPECT_EQ(text_of(walked.members[1].open()), "2");
}

TEST(Walk, TreesDeeperThanTheLongestPath) {
  const TempFolder folder;
  int fd = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
  const std::string name(200, 'd');
  for (int depth = 0; depth < 50; ++depth) {
    ASSERT_EQ(mkdirat(fd, name.c_str(), 0755), 0);
    const int next = openat(fd, name.c_str(), O_RDONLY | O_DIRECTORY);
    close(fd);
    fd = next;
  }
  const int file = openat(fd, "leaf", O_WRONLY | O_CREAT, 0644);
  ASSERT_EQ(write(file, "deep", 4), 4);
  close(file);
  close(fd);
  const Walked walked = walk_all(folder.path());
  EXPECT_TRUE(walked.problems.empty());
  ASSERT_EQ(walked.members.size(), 1u);
  EXPECT_EQ(walked.members[0].origin.path.size(), 50u * 201 + 4);
  EXPECT_EQ(text_of(walked.members[0].head(4096)), "deep");
  EXPECT_EQ(text_of(walked.members[0].open()), "deep");
}

TEST(Walk, FilesOfMoreThan4GiB) {
  const TempFolder folder;
  const std::string path = folder.write("large", "start");
  const uint64_t size = (uint64_t{5} << 30) + 3;
  if (truncate(path.c_str(), static_cast<off_t>(size)) != 0) GTEST_SKIP() << "the file system takes no sparse file of 5 GiB";
  const int fd = open(path.c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, "end", 3, static_cast<off_t>(size - 3)), 3);
  close(fd);
  const Walked walked = walk_all(folder.path());
  ASSERT_EQ(walked.members.size(), 1u);
  EXPECT_EQ(walked.members[0].size, size);
  auto bytes = walked.members[0].open();
  ASSERT_TRUE(bool(bytes));
  EXPECT_EQ(bytes->size(), size);
  EXPECT_EQ(bytes->text().substr(size - 3), "end");
}

TEST(Walk, ExcludedFoldersAreNotEntered) {
  const TempFolder folder;
  for (const char *name : {"a/tests/x", "a/y.pyc", "a/y", "tests/z", "keep"}) folder.write(name, "");
  EXPECT_EQ(walk_all(folder.path(), {{"tests", "*.pyc"}, false}).paths(), (Paths{"a/y", "keep"}));
  EXPECT_EQ(walk_all(folder.path(), {{"a/**"}, false}).paths(), (Paths{"keep", "tests/z"}));
}

TEST(Walk, LinksInsideTheTreeAreLeftToTheirTarget) {
  const TempFolder folder;
  folder.write("in/lib/a.so.1", "");
  folder.write("outside", "");
  symlink("a.so.1", (folder / "in/lib/a.so").c_str());
  symlink("lib", (folder / "in/lib64").c_str());
  symlink(".", (folder / "in/loop").c_str());
  symlink("self", (folder / "in/self").c_str());
  symlink("../outside", (folder / "in/x").c_str());
  const Walked walked = walk_all(folder / "in");
  EXPECT_EQ(walked.paths(), Paths{"lib/a.so.1"});
  ASSERT_EQ(walked.problems.size(), 2u);
  EXPECT_EQ(walked.problems[0].origin.path, "x");
  EXPECT_EQ(walked.problems[0].level, Level::note);
  EXPECT_EQ(walked.problems[0].message, "a symbolic link that leads out of the tree: not followed without --follow-symlinks");
  EXPECT_EQ(walked.problems[1].origin.path, "self");
  EXPECT_EQ(walked.problems[1].message, "a symbolic link that leads nowhere");
  EXPECT_EQ(walk_all(folder / "in", {{}, true}).paths(), (Paths{"lib/a.so.1", "x"}));
}

TEST(Walk, LinkToAParentDoesNotWalkTheInputTwice) {
  const TempFolder folder;
  folder.write("in/a", "");
  folder.write("other/b", "");
  symlink("..", (folder / "in/Up").c_str()); // sorts before "a"
  EXPECT_EQ(walk_all(folder / "in", {{}, true}).paths(), (Paths{"Up/other/b", "a"}));
}

// A tree made of links into a cache (uv with symbolic links) must not look empty in silence.
TEST(Walk, LinksOutOfTheTree) {
  const TempFolder cache, tree;
  cache.write("pkg/a.so", "A");
  cache.write("pkg/sub/b.so", "B");
  symlink("a.so", (cache / "pkg/link.so").c_str());
  symlink(tree.path().c_str(), (cache / "pkg/back").c_str());
  symlink(cache.path().c_str(), (cache / "pkg/sub/loop").c_str());
  symlink((cache / "pkg").c_str(), (tree / "pkg").c_str());
  symlink((cache / "pkg").c_str(), (tree / "pkg-again").c_str());
  symlink((cache / "pkg/a.so").c_str(), (tree / "a.so").c_str());

  const Walked left = walk_all(tree.path());
  EXPECT_TRUE(left.members.empty());
  ASSERT_EQ(left.problems.size(), 1u);
  EXPECT_EQ(left.problems[0].level, Level::warning);
  EXPECT_EQ(left.problems[0].message,
            "3 symbolic links (this is the first) that lead out of the tree: not followed without --follow-symlinks");

  const Walked followed = walk_all(tree.path(), {{}, true});
  EXPECT_TRUE(followed.problems.empty());
  EXPECT_EQ(text_of(followed.find("a.so") ? followed.find("a.so")->open() : llvm::Expected<Bytes>(Bytes())), "A");
  std::multiset<std::string> contents;
  for (const Member &member : followed.members) contents.insert(text_of(member.open()));
  EXPECT_EQ(contents.count("B"), 1u) << "a folder is met once";
}

TEST(Walk, NeverOpensFifosAndSockets) {
  const TempFolder folder;
  folder.write("file", "");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0644), 0);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = folder / "socket";
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::copy(name.begin(), name.end(), address.sun_path);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
  const Walked walked = walk_all(folder.path());
  close(fd);
  EXPECT_EQ(walked.paths(), Paths{"file"});

  // A FIFO that takes the place of a listed file blocks neither head nor open.
  std::filesystem::rename(folder / "fifo", folder / "file");
  EXPECT_EQ(text_of(walked.members[0].head(16)), "error: not a regular file");
  EXPECT_EQ(text_of(walked.members[0].open()), "error: not a regular file");

  const Walked direct = walk_all(folder / "file");
  ASSERT_EQ(direct.problems.size(), 1u);
  EXPECT_EQ(direct.problems[0].message, "is a FIFO, not a file or a folder");
  EXPECT_EQ(direct.problems[0].level, Level::error);
}

TEST(Walk, TellsWhatIsMissing) {
  const TempFolder folder;
  const Walked walked = walk_all(folder / "none/x.so");
  ASSERT_EQ(walked.problems.size(), 1u);
  EXPECT_EQ(walked.problems[0].level, Level::error);
  EXPECT_EQ(walked.problems[0].origin.path, "x.so");
  EXPECT_EQ(walked.problems[0].message, "cannot open: no such file or directory");

  folder.write("gone", "x");
  const Walked before = walk_all(folder.path());
  std::filesystem::remove(folder / "gone");
  EXPECT_EQ(text_of(before.members.at(0).head(1)), "error: cannot open: no such file or directory");
  EXPECT_EQ(text_of(before.members.at(0).open()), "error: cannot open: no such file or directory");
}

// The superuser reads everything: the test gives that right away for a moment.
TEST(Walk, TellsWhatIsNotPermitted) {
  const TempFolder folder;
  folder.write("closed/a", "");
  folder.write("file", "x");
  folder.write("open", "y");
  chmod((folder / "closed").c_str(), 0);
  chmod((folder / "file").c_str(), 0);
  const bool root = geteuid() == 0;
  if (root && seteuid(65534) != 0) GTEST_SKIP() << "running as root without the right to give that up";
  const Walked walked = walk_all(folder.path());
  const std::string unreadable = walked.find("file") ? text_of(walked.find("file")->head(1)) : "not listed";
  const std::string readable = walked.find("open") ? text_of(walked.find("open")->head(1)) : "not listed";
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  chmod((folder / "closed").c_str(), 0755);
  ASSERT_EQ(walked.problems.size(), 1u);
  EXPECT_EQ(walked.problems[0].level, Level::error);
  EXPECT_EQ(walked.problems[0].origin.path, "closed");
  EXPECT_EQ(walked.problems[0].message, "cannot open the folder: permission denied");
  EXPECT_EQ(unreadable, "error: cannot open: permission denied");
  EXPECT_EQ(readable, "y");
}

TEST(Walk, FileCutShorterWhileMappedReadsAsZerosAndIsTold) {
  const TempFolder folder;
  const std::string path = folder.write("shrinks.so", std::string(64 << 10, 'x'));
  const Walked walked = walk_all(folder.path());
  EXPECT_TRUE(lost_files().empty());
  {
    auto bytes = walked.members.at(0).open();
    ASSERT_TRUE(bool(bytes));
    ASSERT_EQ(truncate(path.c_str(), 100), 0);
    EXPECT_EQ(bytes->data()[50], 'x');
    EXPECT_EQ(bytes->data()[60000], 0);
    const Problems living = lost_files();
    ASSERT_EQ(living.size(), 1u);
    EXPECT_EQ(living[0].origin.path, "shrinks.so");
  }
  const Problems lost = lost_files();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].level, Level::error);
  EXPECT_EQ(lost[0].origin.input, 7u);
  EXPECT_EQ(text_of(walked.members[0].open()), std::string(100, 'x')) << "opened again it is what it is";
}

TEST(FileMember, TellsWhyNot) {
  const TempFolder folder;
  auto member = file_member(folder.path(), 0, "shown");
  ASSERT_FALSE(bool(member));
  EXPECT_EQ(llvm::toString(member.takeError()), "is a directory");
}

} // namespace
} // namespace isa_audit
