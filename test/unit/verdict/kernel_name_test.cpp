#include "../lib/verdict/kernel_name.h"

#include <gtest/gtest.h>

namespace isa_audit {
namespace {

TEST(KernelName, IsDemangledWithoutParameters) {
  EXPECT_EQ(kernel_name("_ZN5petit4gemmIiEEvPT_"), "petit::gemm<int>");
  EXPECT_EQ(kernel_name("_Z3dotPfS_i"), "dot");
  EXPECT_EQ(kernel_name("Cijk_Ailk_Bljk_HB_MT64x64x16"), "Cijk_Ailk_Bljk_HB_MT64x64x16");
}

TEST(KernelName, SurvivesAnyText) {
  EXPECT_EQ(kernel_name(""), "");
  EXPECT_EQ(kernel_name("_Z"), "_Z");
  EXPECT_EQ(kernel_name("_ZN5pet"), "_ZN5pet");
  std::string deep = "_Z1f" + std::string(5000, 'P') + "i"; // a pointer to a pointer to …: longer than any real name
  EXPECT_EQ(kernel_name(deep, 10000), deep);
  std::string nested = "_Z1f" + std::string(4000, 'P') + "i";
  EXPECT_EQ(kernel_name(nested), "f");
}

TEST(KernelName, IsCutBetweenCharacters) {
  EXPECT_EQ(kernel_name("abcdef", 4), "abcd…");
  EXPECT_EQ(kernel_name("abcdef", 6), "abcdef");
  EXPECT_EQ(kernel_name("aäb", 2), "a…");
}

TEST(NameAFew, NamesInstancesOfOneTemplateOnce) {
  EXPECT_EQ(name_a_few({}), "");
  EXPECT_EQ(name_a_few({"a"}), "a");
  EXPECT_EQ(name_a_few({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(name_a_few({"a", "b", "c", "d"}), "a, b, c and 1 more");
  EXPECT_EQ(name_a_few({"_ZN5petit4gemmIfEEvPT_", "_ZN5petit4gemmIiEEvPT_", "z"}), "petit::gemm<float>, z and 1 more");
}

} // namespace
} // namespace isa_audit
