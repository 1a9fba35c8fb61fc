// The loader's rules against a second statement of them, written from ROCr's documentation of target ids and the table of
// generic processors in AMDGPUUsage, for every processor, setting and generic.
#include "isa-audit/device/compatible.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "isa-audit/device/processors.h"

using namespace isa_audit;

namespace {

// Generic processor → the processors it covers.
const std::map<std::string, std::set<std::string>> kCovers = {
    {"gfx9-generic", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
    {"gfx9-4-generic", {"gfx940", "gfx941", "gfx942", "gfx950"}},
    {"gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013"}},
    {"gfx10-3-generic", {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}},
    {"gfx11-generic", {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
    {"gfx12-generic", {"gfx1200", "gfx1201"}},
    {"gfx12-5-generic", {"gfx1250", "gfx1251"}},
    {"gfx11-7-generic", {"gfx1170", "gfx1171", "gfx1172"}},
    {"gfx13-generic", {"gfx1310"}},
};

std::vector<Setting> object_settings(bool supported) {
  return supported ? std::vector{Setting::any, Setting::off, Setting::on} : std::vector{Setting::unsupported};
}
std::vector<Setting> gpu_settings(bool supported) {
  return supported ? std::vector{Setting::off, Setting::on} : std::vector{Setting::unsupported};
}

bool served_by_specification(const TargetId &object, const TargetId &gpu) {
  bool same = object.processor == gpu.processor;
  auto covers = kCovers.find(object.processor);
  if (!same && !(covers != kCovers.end() && covers->second.contains(gpu.processor))) return false;
  for (auto [wanted, has] : {std::pair{object.xnack, gpu.xnack}, std::pair{object.sramecc, gpu.sramecc}})
    if ((wanted == Setting::on || wanted == Setting::off) && wanted != has) return false;
  return true;
}

TEST(Compatible, EveryPairAgainstTheSpecification) {
  size_t pairs = 0, served = 0;
  for (const Processor &o : processors())
    for (Setting object_xnack : object_settings(o.xnack))
      for (Setting object_sramecc : object_settings(o.sramecc))
        for (const Processor &g : processors()) {
          if (g.is_generic) continue;
          for (Setting gpu_xnack : gpu_settings(g.xnack))
            for (Setting gpu_sramecc : gpu_settings(g.sramecc)) {
              CodeObject object;
              object.target = {std::string(o.name), object_sramecc, object_xnack,
                               o.is_generic ? TargetKind::generic : TargetKind::native, Vendor::amd};
              TargetId gpu = {std::string(g.name), gpu_sramecc, gpu_xnack, TargetKind::native, Vendor::amd};
              bool expected = served_by_specification(object.target, gpu);
              Match match = compatible(object, gpu);
              EXPECT_EQ(is_served(match), expected) << object.target.text() << " on " << gpu.text();
              EXPECT_TRUE(match != Match::exact || o.name == g.name);
              EXPECT_TRUE(match != Match::generic || o.is_generic);
              ++pairs;
              served += expected;
            }
        }
  EXPECT_GT(pairs, 5000u);
  EXPECT_GT(served, 200u);
}

TEST(Compatible, SaysWhichFeatureDiffers) {
  CodeObject object;
  object.target = llvm::cantFail(parse_target_id("gfx90a:xnack+"));
  TargetId gpu = llvm::cantFail(parse_target_id("gfx90a:sramecc+:xnack-"));
  EXPECT_EQ(compatible(object, gpu), Match::xnack_mismatch);
  object.target = llvm::cantFail(parse_target_id("gfx90a:sramecc-"));
  EXPECT_EQ(compatible(object, gpu), Match::sramecc_mismatch);
}

TEST(Compatible, VendorsAndUnloadable) {
  CodeObject object;
  object.target = {"sm_80", Setting::unsupported, Setting::unsupported, TargetKind::native, Vendor::nvidia};
  TargetId gpu = llvm::cantFail(parse_target_id("gfx942:sramecc+:xnack-"));
  EXPECT_EQ(compatible(object, gpu), Match::none);
  object.target = llvm::cantFail(parse_target_id("gfx942"));
  object.loadable = false;
  EXPECT_EQ(compatible(object, gpu), Match::not_loadable);
  object.target = llvm::cantFail(parse_target_id("amdgcnspirv"));
  object.loadable = true;
  EXPECT_EQ(compatible(object, gpu), Match::spirv);
}

TEST(Compatible, BestOfAnImage) {
  DeviceImage image;
  TargetId gpu = llvm::cantFail(parse_target_id("gfx1100"));
  EXPECT_EQ(best_match(image, gpu), Match::none);
  for (const char *target : {"amdgcnspirv", "gfx942", "gfx11-generic"})
    image.code_objects.emplace_back().target = llvm::cantFail(parse_target_id(target));
  EXPECT_EQ(best_match(image, gpu), Match::generic);
  image.code_objects.emplace_back().target = gpu;
  EXPECT_EQ(best_match(image, gpu), Match::exact);
}

} // namespace
