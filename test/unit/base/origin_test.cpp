#include "isa-audit/base/origin.h"

#include <gtest/gtest.h>

namespace isa_audit {
namespace {

TEST(LastTwoParts, NameNoUserAndNoFoldersAbove) {
  EXPECT_EQ(last_two_parts("/usr/lib/python3/dist-packages"), "python3/dist-packages");
  EXPECT_EQ(last_two_parts("/usr/lib/python3/dist-packages//"), "python3/dist-packages");
  EXPECT_EQ(last_two_parts("/home/somebody/kern"), "kern");
  EXPECT_EQ(last_two_parts("/home/somebody/src/kern"), "src/kern");
  EXPECT_EQ(last_two_parts("/Users/somebody/a/b/c"), "b/c");
  EXPECT_EQ(last_two_parts("/home/somebody"), "~");
  EXPECT_EQ(last_two_parts("/opt/rocm"), "opt/rocm");
  EXPECT_EQ(last_two_parts("/opt"), "opt");
  EXPECT_EQ(last_two_parts("kern"), "kern");
  EXPECT_EQ(last_two_parts("a/b/c"), "b/c");
  EXPECT_EQ(last_two_parts("/"), "/");
  EXPECT_EQ(last_two_parts(""), "~");
}

} // namespace
} // namespace isa_audit
