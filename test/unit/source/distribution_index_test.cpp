#include <gtest/gtest.h>

#include "isa-audit/source/site_packages.h"
#include "temp_folder.h"

namespace isa_audit {
namespace {

using Texts = std::vector<std::string>;

class Index {
public:
  Index &add(const std::string &path, const std::string &content, uint32_t input = 0) {
    EXPECT_TRUE(DistributionIndex::wants(path)) << path;
    const auto copy = std::make_shared<std::string>(content);
    index.add(input, path, Bytes({reinterpret_cast<const uint8_t *>(copy->data()), copy->size()}, copy), problems);
    return *this;
  }
  Index &add_dist(const std::string &base, const std::string &name, const std::string &record) {
    add(base + name + "-1.dist-info/METADATA", "Name: " + name + "\nVersion: 1\n");
    return add(base + name + "-1.dist-info/RECORD",
               record + name + "-1.dist-info/METADATA,,\n" + name + "-1.dist-info/RECORD,,\n");
  }
  std::string owner(const std::string &path, uint32_t input = 0) const {
    const auto found = index.owner(input, path);
    return found ? index.distributions().at(*found).name : "nobody";
  }
  Texts names() const {
    Texts names;
    for (const Distribution &distribution : index.distributions()) names.push_back(distribution.name);
    return names;
  }

  DistributionIndex index;
  Problems problems;
};

TEST(DistributionIndex, WantsTheFilesOfInfoFolders) {
  for (const char *path : {"a-1.dist-info/METADATA", "lib/a-1.dist-info/RECORD", "x.whl!a-1.dist-info/INSTALLER", "a.egg-info",
                           "a.egg-info/PKG-INFO", "a.egg-info/installed-files.txt", "a.egg/EGG-INFO/PKG-INFO",
                           "EGG-INFO/PKG-INFO", "a.egg!EGG-INFO/PKG-INFO"})
    EXPECT_TRUE(DistributionIndex::wants(path)) << path;
  for (const char *path : {"METADATA", "a/RECORD", "a.dist-info/WHEEL", "a.dist-info/x/METADATA", "a.dist-info", "PKG-INFO", "",
                           "/", "a.egg-info/SOURCES.txt"})
    EXPECT_FALSE(DistributionIndex::wants(path)) << path;
}

// An overlay installs into the folder of the distribution it completes: RECORD says whose a file is.
TEST(DistributionIndex, RecordDecidesNotTheFolder) {
  Index index;
  index.add_dist("", "torch", "torch/_C.so,,\ntorch/lib/a.so,,\n../../../bin/torchrun,,\n")
      .add("torch-1.dist-info/INSTALLER", "pip\n");
  index.add_dist("", "torch_device", "torch/lib/gfx942.kpack,,\n").add("torch_device-1.dist-info/INSTALLER", "pip\n");
  index.index.finish();
  EXPECT_EQ(index.names(), (Texts{"torch", "torch_device"}));
  EXPECT_EQ(index.owner("torch/_C.so"), "torch");
  EXPECT_EQ(index.owner("torch/lib/gfx942.kpack"), "torch_device");
  EXPECT_EQ(index.owner("torch/lib/stray.so"), "nobody");
  EXPECT_EQ(index.owner("bin/torchrun"), "nobody") << "it lies outside of the input";
  EXPECT_EQ(index.owner("torch/_C.so", 1), "nobody");
  EXPECT_EQ(index.index.distributions()[0].version, "1");
  EXPECT_EQ(index.index.distributions()[0].path, "torch-1.dist-info");
}

TEST(DistributionIndex, TreeAboveSitePackages) {
  Index index;
  index.add_dist("lib/python3.11/site-packages/", "kern",
                 "kern/a.so,,\n../../../bin/kern,,\n../../../../etc/passwd,,\n/abs,,\n");
  index.index.finish();
  EXPECT_EQ(index.owner("lib/python3.11/site-packages/kern/a.so"), "kern");
  EXPECT_EQ(index.owner("bin/kern"), "kern");
  EXPECT_EQ(index.owner("etc/passwd"), "nobody");
  EXPECT_EQ(index.owner("abs"), "nobody");
}

TEST(DistributionIndex, WheelOwnsAllOfItsFiles) {
  Index index;
  index.add_dist("dist/kern.whl!", "kern", "kern/a.so,,\n").add_dist("dist/other.whl!", "other", "");
  index.index.finish();
  EXPECT_EQ(index.owner("dist/kern.whl!kern/a.so"), "kern");
  EXPECT_EQ(index.owner("dist/kern.whl!kern/forgotten.so"), "kern");
  EXPECT_EQ(index.owner("dist/kern.whl!kern/data.zip!x.co"), "kern");
  EXPECT_EQ(index.owner("dist/other.whl!top.so"), "other");
  EXPECT_EQ(index.owner("dist/loose.so"), "nobody");
  EXPECT_EQ(index.owner("dist/kern.whl"), "nobody");
}

// The same facts for a wheel and its unpacked tree, which has no INSTALLER file either; an installed tree has.
TEST(DistributionIndex, UnpackedWheelIsLikeTheWheel) {
  Index unpacked, installed, two;
  unpacked.add_dist("", "kern", "kern/a.so,,\n").index.finish();
  EXPECT_EQ(unpacked.owner("kern/forgotten.so"), "kern");
  installed.add_dist("", "kern", "kern/a.so,,\n").add("kern-1.dist-info/INSTALLER", "pip\n").index.finish();
  EXPECT_EQ(installed.owner("kern/stray.so"), "nobody");
  two.add_dist("", "kern", "kern/a.so,,\n").add_dist("", "other", "other/b.so,,\n").index.finish();
  EXPECT_EQ(two.owner("kern/stray.so"), "nobody");
}

TEST(DistributionIndex, VendoredDistributionIsAPartOfItsHost) {
  Index index;
  index.add_dist("", "setuptools", "setuptools/_vendor/wheel/x.so,,\nsetuptools/_vendor/wheel-1.dist-info/METADATA,,\n");
  index.add_dist("setuptools/_vendor/", "wheel", "wheel/x.so,,\nwheel/unlisted.so,,\n");
  index.index.finish();
  EXPECT_EQ(index.names(), Texts{"setuptools"});
  EXPECT_EQ(index.owner("setuptools/_vendor/wheel/x.so"), "setuptools");
}

TEST(DistributionIndex, FileOfTwoDistributionsGoesToTheFirst) {
  Index index;
  index.add_dist("", "b_headless", "cv2/cv2.so,,\n").add_dist("", "a_full", "cv2/cv2.so,,\n").index.finish();
  EXPECT_EQ(index.owner("cv2/cv2.so"), "a_full");
}

TEST(DistributionIndex, EggsAndEggInfo) {
  Index index;
  index.add("old-2.egg-info/PKG-INFO", "Name: Old\nVersion: 2\n")
      .add("old-2.egg-info/installed-files.txt", "../old/x.so\nPKG-INFO\n");
  index.add("flat-3.egg-info", "Name: flat\n").add("fast-4-py3.egg/EGG-INFO/PKG-INFO", "Name: fast\n");
  index.index.finish();
  EXPECT_EQ(index.names(), (Texts{"fast", "flat", "Old"}));
  EXPECT_EQ(index.owner("old/x.so"), "Old");
  EXPECT_EQ(index.owner("fast-4-py3.egg/fast/y.so"), "fast");
  EXPECT_EQ(index.owner("flat/z.so"), "nobody");
}

TEST(DistributionIndex, DamagedFilesAreToldAndNamedByFolder) {
  Index index;
  index
      .add("kern-1.2.dist-info/METADATA", "\x7f"
                                          "ELF")
      .add("kern-1.2.dist-info/RECORD", "\"open\nkern/a.so,,\n");
  index.add("bare-3.dist-info/RECORD", "bare/b.so,,\n");
  index.index.finish();
  ASSERT_EQ(index.problems.size(), 2u);
  EXPECT_EQ(index.problems[0].level, Level::warning);
  EXPECT_EQ(index.problems[0].origin.path, "kern-1.2.dist-info/METADATA");
  EXPECT_EQ(index.problems[0].message, "no metadata: no sound Name; named after its folder");
  EXPECT_EQ(index.problems[1].origin.path, "kern-1.2.dist-info/RECORD");
  EXPECT_EQ(index.owner("kern/a.so"), "kern");
  EXPECT_EQ(index.owner("bare/b.so"), "bare");
  EXPECT_EQ(index.index.distributions()[1].version, "1.2");
}

// A made-up site-packages folder on disk.
class SitePackages : public testing::Test {
protected:
  void SetUp() override {
    site = folder / "lib/python3.11/site-packages";
    add("numpy", "2.0", "numpy/_core/x.so,,\nnumpy.libs/libopenblas.so,,\n../../../bin/f2py,,\n");
    add("scipy", "1.0", "scipy/s.so,,\nscipy.libs/libgfortran.so,,\n");
    add("mod", "3", "mod.so,,\n");
    for (const char *file :
         {"numpy/_core/x.so", "numpy.libs/libopenblas.so", "scipy/s.so", "scipy.libs/libgfortran.so", "mod.so"})
      folder.write(std::string("lib/python3.11/site-packages/") + file, "");
  }
  void add(const std::string &name, const std::string &version, const std::string &record) {
    const std::string info = "lib/python3.11/site-packages/" + name + "-" + version + ".dist-info/";
    folder.write(info + "METADATA", "Name: " + name + "\nVersion: " + version + "\n");
    folder.write(info + "RECORD", record);
  }

  TempFolder folder;
  std::string site;
};

TEST_F(SitePackages, EnclosesWhatLiesInIt) {
  EXPECT_EQ(enclosing_site_packages(site + "/numpy"), site);
  EXPECT_EQ(enclosing_site_packages(site + "/numpy/"), site);
  EXPECT_EQ(enclosing_site_packages(site + "/numpy/_core/x.so"), site);
  EXPECT_EQ(enclosing_site_packages(site), std::nullopt);
  EXPECT_EQ(enclosing_site_packages(folder / "bin"), std::nullopt);
  EXPECT_EQ(enclosing_site_packages(folder / "none/none"), std::nullopt);
  folder.write("lib/python3.11/site-packages/numpy/_vendor/v-1.dist-info/METADATA", "");
  folder.write("lib/python3.11/site-packages/numpy/_vendor/v/v.so", "");
  EXPECT_EQ(enclosing_site_packages(site + "/numpy/_vendor/v"), site) << "not the vendored folder";
  symlink(folder.path().c_str(), (folder / "link").c_str());
  EXPECT_EQ(enclosing_site_packages(folder / "link/lib/python3.11/site-packages/numpy"), site);
}

TEST_F(SitePackages, PackageFolderAsInput) {
  Index index;
  EXPECT_EQ(index.index.add_installed(site, 0, site + "/numpy", index.problems), Texts{"numpy.libs"});
  EXPECT_EQ(index.index.add_installed(site, 1, site + "/scipy/", index.problems), Texts{"scipy.libs"});
  index.index.finish();
  EXPECT_EQ(index.names(), (Texts{"numpy", "scipy"}));
  EXPECT_EQ(index.owner("_core/x.so"), "numpy");
  EXPECT_EQ(index.owner("../numpy.libs/libopenblas.so"), "numpy");
  EXPECT_EQ(index.owner("_core/stray.so"), "nobody");
  EXPECT_EQ(index.owner("s.so", 1), "scipy");
  EXPECT_EQ(index.index.distributions()[0].path, "../numpy-2.0.dist-info");
  EXPECT_TRUE(index.problems.empty());
}

TEST_F(SitePackages, DeepFolderAndFilesAsInput) {
  Index index;
  EXPECT_EQ(index.index.add_installed(site, 0, site + "/numpy/_core", index.problems), Texts{});
  EXPECT_EQ(index.index.add_installed(site, 1, site + "/numpy/_core/x.so", index.problems), Texts{});
  EXPECT_EQ(index.index.add_installed(site, 2, site + "/mod.so", index.problems), Texts{});
  index.index.finish();
  EXPECT_EQ(index.owner("x.so", 0), "numpy");
  EXPECT_EQ(index.owner("x.so", 1), "numpy");
  EXPECT_EQ(index.owner("mod.so", 2), "mod");
  EXPECT_EQ(index.names(), (Texts{"numpy", "numpy", "mod"})) << "none of the environment's others";
}

} // namespace
} // namespace isa_audit
