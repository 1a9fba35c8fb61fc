// The loader's rules against a second statement of them, for every processor, setting, generic, object version, carrier and
// runtime era. The second statement works as ROCr itself does, on names: what an object is called, which names a runtime has
// registered, and what an agent is called. Its tables are written from AMDGPUUsage (generic processors), the release tags of
// ROCR-Runtime and clr, and the rocm-systems pulls that runtime_era.cpp names.
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
    {"gfx11-generic", {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1154"}},
    {"gfx12-generic", {"gfx1200", "gfx1201"}},
    {"gfx12-5-generic", {"gfx1250", "gfx1251"}},
    {"gfx11-7-generic", {"gfx1170", "gfx1171", "gfx1172"}},
    {"gfx13-generic", {"gfx1310"}},
};

// A column for each era: 6.1 and older, 6.2, 6.4, 7.0, 7.2, 10.0, newer. n: no, u: no source says, y: yes.
using Row = std::string_view;
constexpr Row kObject6 = "nyyyyyy", kSpirv = "nnyyyyy", kHiddenXnack = "nnnnuuy", kFixedXnack = "nnnnnnu";
constexpr Row kCcob[] = {"yyyyyyy", "nnuuuuu", "nyyyyyy", "nnnuyyy"};
struct GenericRows {
  Row naked, in_bundle;
};
const std::map<std::string, GenericRows> kGenerics = {
    {"gfx9-generic", {"nyyyyyy", "nnyyyyy"}},    {"gfx10-1-generic", {"nyyyyyy", "nnyyyyy"}},
    {"gfx10-3-generic", {"nyyyyyy", "nnyyyyy"}}, {"gfx11-generic", {"nyyyyyy", "nnyyyyy"}},
    {"gfx9-4-generic", {"nnyyyyy", "nnyyyyy"}},  {"gfx12-generic", {"nnyyyyy", "nnyyyyy"}},
    {"gfx12-5-generic", {"nnnnuuy", "nnnnnuy"}}, {"gfx11-7-generic", {"nnnnnnu", "nnnnnnu"}},
    {"gfx13-generic", {"nnnnnnu", "nnnnnnu"}},
};
const std::set<std::string> kClientApus = {"gfx902", "gfx909", "gfx90c"};

// As ROCr writes names: "gfx90a", with the signs of what is pinned.
struct Name {
  std::string processor;
  char sramecc = ' ', xnack = ' ';
};

char sign(Setting setting) { return setting == Setting::on ? '+' : setting == Setting::off ? '-' : ' '; }
Name name_of(const TargetId &target) { return {target.processor, sign(target.sramecc), sign(target.xnack)}; }

// Whether an agent that is called `agent` runs the code that is called `code`.
bool same_or_open(const Name &code, const Name &agent) {
  for (auto [wanted, has] : {std::pair{code.sramecc, agent.sramecc}, std::pair{code.xnack, agent.xnack}})
    if (wanted != ' ' && wanted != has) return false;
  return true;
}

enum class Form { naked, bundle, ccob1, ccob2, ccob3 };

struct Case {
  Name code;
  bool generic = false;
  unsigned version = 6, generic_version = 0;
  Form form = Form::naked;
};

char least(std::initializer_list<char> answers) {
  for (char answer : {'n', 'u'})
    for (char given : answers)
      if (given == answer) return answer;
  return 'y';
}

// For an agent as the runtime presents it; `bare`: without its xnack setting.
bool code_fits(const Case &c, Name agent, bool bare) {
  auto covers = kCovers.find(c.code.processor);
  bool same = c.code.processor == agent.processor;
  if (!same && (covers == kCovers.end() || !covers->second.contains(agent.processor))) return false;
  if (!same && c.generic_version < 1) return false;
  // Fixed on, whatever a compiler writes.
  if (agent.processor.starts_with("gfx125")) return true;
  if (!bare) return same_or_open(c.code, agent);
  agent.xnack = ' ';
  // Object versions before 4 cannot leave a setting open; their bundle entries are called by the processor alone.
  Name entry = c.code;
  if (c.version < 4) entry.xnack = entry.sramecc = ' ';
  if (c.form != Form::naked && !same_or_open(entry, agent)) return false;
  // The registry of such a runtime has gfx90c and gfx90c:xnack- for the same bare agent, and no gfx90c:xnack+.
  Name object = c.code;
  if (same && object.xnack == '-') object.xnack = ' ';
  return same_or_open(object, agent);
}

char expected(const Case &c, const Name &agent, size_t era) {
  bool seen = code_fits(c, agent, false), bare = code_fits(c, agent, true);
  char fits = seen ? 'y' : 'n';
  if (kClientApus.contains(agent.processor)) {
    if (kHiddenXnack[era] == 'y') fits = bare ? 'y' : 'n';
    if (kHiddenXnack[era] == 'u' && seen != bare) fits = 'u';
  }
  if (fits == 'n') return 'n';
  char generic = 'y';
  if (auto row = kGenerics.find(c.code.processor); row != kGenerics.end())
    generic = (c.form == Form::naked ? row->second.naked : row->second.in_bundle)[era];
  size_t ccob = c.form == Form::ccob1 ? 1 : c.form == Form::ccob2 ? 2 : c.form == Form::ccob3 ? 3 : 0;
  return least({fits, c.version == 6 ? kObject6[era] : 'y', kCcob[ccob][era], generic});
}

CodeObject object_of(const Case &c, const TargetId &target) {
  CodeObject out;
  out.target = target;
  out.object_version = static_cast<uint8_t>(c.version);
  out.generic_version = static_cast<uint8_t>(c.generic_version);
  out.carrier = c.form == Form::naked ? Carrier::elf : c.form == Form::bundle ? Carrier::bundle : Carrier::ccob;
  if (c.form >= Form::ccob1) out.ccob_version = static_cast<uint8_t>(static_cast<int>(c.form) - 1);
  out.claim_differs = c.form != Form::naked && c.version < 4 && target.text() != target.processor;
  if (c.form != Form::naked)
    out.claimed = c.version < 4 ? "hip-amdgcn-amd-amdhsa-" + target.processor : "hipv4-amdgcn-amd-amdhsa--" + target.text();
  return out;
}

std::vector<Setting> object_settings(bool supported, unsigned version) {
  if (!supported) return {Setting::unsupported};
  return version < 4 ? std::vector{Setting::off, Setting::on} : std::vector{Setting::any, Setting::off, Setting::on};
}

template <typename Body> void for_each_object_case(const Processor &p, Body body) {
  struct Version {
    unsigned object, generic;
  };
  std::vector<Version> versions = p.is_generic ? std::vector<Version>{{5, 0}, {6, 0}, {6, 1}, {6, 2}}
                                               : std::vector<Version>{{2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}};
  for (auto [version, generic_version] : versions)
    for (Setting xnack : object_settings(p.xnack, version))
      for (Setting sramecc : object_settings(p.sramecc, version))
        for (Form form : {Form::naked, Form::bundle, Form::ccob1, Form::ccob2, Form::ccob3}) {
          TargetId target{std::string(p.name), sramecc, xnack, p.is_generic ? TargetKind::generic : TargetKind::native,
                          Vendor::amd};
          Case c{name_of(target), p.is_generic, version, generic_version, form};
          body(c, object_of(c, target));
        }
}

std::vector<TargetId> all_gpus() {
  auto settings = [](bool has) { return has ? std::vector{Setting::off, Setting::on} : std::vector{Setting::unsupported}; };
  std::vector<TargetId> out;
  for (const Processor &p : processors())
    if (!p.is_generic)
      for (Setting xnack : settings(p.xnack))
        for (Setting sramecc : settings(p.sramecc))
          out.push_back({std::string(p.name), sramecc, xnack, TargetKind::native, Vendor::amd});
  return out;
}

char answer_of(Match match) { return is_served(match) ? 'y' : match == Match::runtime_unknown ? 'u' : 'n'; }

TEST(Compatible, EveryRowOfTheTableInEveryEra) {
  const std::vector<TargetId> gpus = all_gpus();
  size_t rows = 0, differ = 0;
  std::map<char, size_t> answers;
  for (const Processor &p : processors())
    for_each_object_case(p, [&](const Case &c, const CodeObject &object) {
      for (const TargetId &gpu : gpus) {
        Name agent = name_of(gpu);
        std::string eras_expected, eras_got;
        for (const EraRow &row : eras()) {
          eras_expected += expected(c, agent, static_cast<size_t>(row.era));
          eras_got += answer_of(compatible(object, gpu, row.era));
        }
        for (char answer : eras_got) ++answers[answer];
        Match today = compatible(object, gpu);
        bool fits = code_fits(c, agent, false);
        rows += eras().size() + 1;
        if (eras_got == eras_expected && is_served(today) == fits) continue;
        if (++differ < 10)
          ADD_FAILURE() << object.target.text() << " v" << c.version << " form " << static_cast<int>(c.form) << " on "
                        << gpu.text() << ": expected " << eras_expected << (fits ? " served" : " refused") << ", got "
                        << eras_got;
      }
    });
  EXPECT_EQ(differ, 0u) << "of " << rows << " rows";
  EXPECT_GT(rows, 2'000'000u);
  for (char answer : {'n', 'u', 'y'}) EXPECT_GT(answers[answer], 500u) << answer;
}

TEST(Compatible, DependsOnEraWhereTheErasDiffer) {
  for (const Processor &p : processors())
    for_each_object_case(p, [&](const Case &c, const CodeObject &object) {
      for (const TargetId &gpu : all_gpus()) {
        if (gpu.processor != p.name && !kCovers.contains(std::string(p.name))) continue;
        std::set<char> seen;
        for (const EraRow &row : eras()) seen.insert(expected(c, name_of(gpu), static_cast<size_t>(row.era)));
        ASSERT_TRUE(seen.size() < 2 || depends_on_era(object, gpu)) << object.target.text() << " on " << gpu.text();
      }
    });
}

TEST(Compatible, SpirvAndFixedXnackByEra) {
  CodeObject object;
  object.target = llvm::cantFail(parse_target_id("amdgcnspirv"));
  TargetId gpu = llvm::cantFail(parse_target_id("gfx1250"));
  CodeObject fixed;
  fixed.target = gpu;
  fixed.object_version = 6;
  fixed.fixed_xnack = true;
  for (const EraRow &row : eras()) {
    size_t era = static_cast<size_t>(row.era);
    EXPECT_EQ(answer_of(compatible(object, gpu, row.era)), kSpirv[era]) << row.last;
    EXPECT_EQ(answer_of(compatible(fixed, gpu, row.era)), least({kFixedXnack[era], kObject6[era]})) << row.last;
  }
  EXPECT_EQ(compatible(fixed, gpu), Match::exact);
}

TEST(Eras, AreNamedByReleases) {
  EXPECT_EQ(era_of("6.1.2"), Era::rocm_6_1);
  EXPECT_EQ(era_of("5.7"), Era::rocm_6_1);
  EXPECT_EQ(era_of("6.3.4"), Era::rocm_6_2);
  EXPECT_EQ(era_of("6.4.0"), Era::rocm_6_4);
  EXPECT_EQ(era_of("7.0.2"), Era::rocm_7_0);
  EXPECT_EQ(era_of("7.14.0"), Era::rocm_7_2);
  EXPECT_EQ(era_of("10.0.0"), Era::rocm_10_0);
  EXPECT_EQ(era_of("10.1.0"), Era::newest);
  EXPECT_EQ(era_of("unknown"), Era::never);
  EXPECT_EQ(era_of("7"), Era::never);
  EXPECT_EQ(era_range(Era::rocm_6_1, Era::rocm_6_1), "ROCm 6.1 and older");
  EXPECT_EQ(era_range(Era::rocm_6_1, Era::rocm_6_2), "ROCm 6.3 and older");
  EXPECT_EQ(era_range(Era::rocm_6_4, Era::rocm_6_4), "ROCm 6.4");
  EXPECT_EQ(era_range(Era::rocm_7_0, Era::rocm_7_0), "ROCm 7.0 to 7.1");
  EXPECT_EQ(era_range(Era::rocm_6_4, Era::newest), "ROCm 6.4 and newer");
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

// HIP finds an entry by its id, ROCr takes the code by its flags: a GPU needs both.
TEST(Compatible, AnEntryIsFoundByItsId) {
  CodeObject object;
  object.carrier = Carrier::bundle;
  object.target = llvm::cantFail(parse_target_id("gfx942"));
  object.claim_differs = true;
  TargetId gpu = llvm::cantFail(parse_target_id("gfx942:sramecc+:xnack-"));
  struct Row {
    const char *claim;
    Match match;
  };
  for (const Row &row : {Row{"gfx90a", Match::none}, Row{"gfx942:xnack+", Match::xnack_mismatch},
                         Row{"gfx942:sramecc-", Match::sramecc_mismatch}, Row{"gfx94x", Match::none},
                         Row{"gfx942:xnack-", Match::exact}, Row{"gfx9-4-generic", Match::exact}}) {
    object.claimed = std::string("hipv4-amdgcn-amd-amdhsa--") + row.claim;
    EXPECT_EQ(compatible(object, gpu), row.match) << row.claim;
  }
  object.claimed = "hipv4-amdgcn-amd-amdhsa--gfx90a";
  EXPECT_EQ(compatible(object, llvm::cantFail(parse_target_id("gfx90a:sramecc+:xnack-"))), Match::none) << "flags of gfx942";
}

// HIP's order among the entries of a bundle.
TEST(Compatible, BestOfAnImage) {
  DeviceImage image;
  TargetId gpu = llvm::cantFail(parse_target_id("gfx1100"));
  EXPECT_EQ(best_match(image, gpu), Match::none);
  for (const char *target : {"amdgcnspirv", "gfx942", "gfx11-generic"}) {
    CodeObject &object = image.code_objects.emplace_back();
    object.target = llvm::cantFail(parse_target_id(target));
    object.carrier = Carrier::bundle;
    if (object.target.kind == TargetKind::generic) object.object_version = 6;
  }
  EXPECT_EQ(best_match(image, gpu), Match::spirv) << "a generic object without a version is refused";
  image.code_objects.back().generic_version = 1;
  EXPECT_EQ(best_match(image, gpu), Match::generic);
  EXPECT_EQ(best_match(image, gpu, Era::rocm_6_2), Match::runtime_too_old);
  image.code_objects.emplace_back().target = gpu;
  EXPECT_EQ(best_match(image, gpu), Match::exact);
  EXPECT_EQ(best_match(image, gpu, Era::rocm_6_1), Match::exact);
}

} // namespace
