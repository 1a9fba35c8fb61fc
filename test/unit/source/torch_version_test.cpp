#include "isa-audit/source/torch_version.h"

#include <gtest/gtest.h>

using namespace isa_audit;

namespace {

TEST(TorchVersion, IsReadAsText) {
  TorchVersion cuda = parse_torch_version("from typing import Optional\n\n__all__ = ['__version__', 'cuda', 'hip']\n"
                                          "__version__ = '2.9.0+cu128'\ndebug = False\ncuda: Optional[str] = '12.8'\n"
                                          "git_version = '0fab'\nhip: Optional[str] = None\nxpu: Optional[str] = None\n");
  EXPECT_EQ(cuda.version, "2.9.0+cu128");
  EXPECT_EQ(cuda.cuda, "12.8");
  EXPECT_EQ(cuda.hip, "");
  TorchVersion rocm = parse_torch_version("__version__ = \"2.9.0+rocm6.4\"\r\ncuda = None\r\nhip = '6.4.43482-0f2d60242'");
  EXPECT_EQ(rocm.version, "2.9.0+rocm6.4");
  EXPECT_EQ(rocm.hip, "6.4.43482-0f2d60242");
  EXPECT_EQ(rocm.cuda, "");
}

TEST(TorchVersion, OddTextsStayEmpty) {
  EXPECT_EQ(parse_torch_version("hip = '6.4"), TorchVersion());
  EXPECT_EQ(parse_torch_version("hip = '\x1b[2J'"), TorchVersion());
  EXPECT_EQ(parse_torch_version("hip = '" + std::string(1000, '6') + "'"), TorchVersion());
  EXPECT_EQ(parse_torch_version("hipster = '6.4'\n=\n\n="), TorchVersion());
}

TEST(TorchVersion, OnlyTorchsOwnFile) {
  EXPECT_TRUE(is_torch_version_file("torch/version.py"));
  EXPECT_TRUE(is_torch_version_file("lib/site-packages/torch/version.py"));
  EXPECT_TRUE(is_torch_version_file("dist/torch.whl!torch/version.py"));
  EXPECT_FALSE(is_torch_version_file("mytorch/version.py"));
  EXPECT_FALSE(is_torch_version_file("torch/utils/version.py"));
}

} // namespace
