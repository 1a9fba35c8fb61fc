#include "isa-audit/verdict/finding.h"

#include <gtest/gtest.h>

namespace isa_audit {
namespace {

// The names and default levels that users write into their configurations.
TEST(Rules, NamesAndLevelsAreTheContract) {
  const std::vector<std::pair<std::string_view, Level>> contract = {
      {"gpu-target-missing", Level::error},
      {"gpu-target-partial", Level::warning},
      {"gpu-feature-mismatch", Level::error},
      {"gpu-kernels-missing", Level::warning},
      {"gpu-generic-only", Level::note},
      {"gpu-runtime-compiled", Level::note},
      {"gpu-runtime-dependent", Level::note},
      {"gpu-object-mislabelled", Level::error},
      {"gpu-code-external", Level::error},
      {"gpu-mixed-machine", Level::warning},
      {"gpu-override-active", Level::warning},
      {"gpu-vendor-mismatch", Level::warning},
      {"sidecar-missing", Level::error},
      {"sidecar-incomplete", Level::error},
      {"no-device-code", Level::note},
      {"no-local-gpu", Level::note},
      {"required-target-missing", Level::error},
      {"cpu-feature-missing", Level::error},
      {"cpu-guard-insufficient", Level::warning},
      {"cpu-silently-different", Level::warning},
      {"cpu-feature-guarded", Level::note},
      {"cpu-level-exceeded", Level::error},
      {"stale-build", Level::warning},
      {"input-incomplete", Level::warning},
  };
  EXPECT_EQ(rules().size(), contract.size());
  for (const auto &[name, level] : contract) {
    const Rule *rule = find_rule(name);
    ASSERT_NE(rule, nullptr) << name;
    EXPECT_EQ(rule->level, level) << name;
    EXPECT_FALSE(rule->summary.empty()) << name;
    EXPECT_GT(rule->help.size(), rule->summary.size() / 2) << name;
  }
}

TEST(Rules, FindsExactNamesOnly) {
  EXPECT_EQ(find_rule("gpu-target"), nullptr);
  EXPECT_EQ(find_rule(""), nullptr);
  EXPECT_EQ(find_rule("zzz"), nullptr);
  for (const Rule &rule : rules()) EXPECT_EQ(find_rule(rule.name), &rule);
}

TEST(Fingerprint, IsOfWhatTheFindingIsAboutOnly) {
  Finding a;
  a.rule = "gpu-target-missing";
  a.origin.path = "kern/_C.so";
  a.subject = "gfx942";
  a.distribution = "kern";
  Finding b = a;
  b.message = "other words";
  b.machine = 3;
  b.level = Level::note;
  b.origin.input = 7;
  EXPECT_EQ(fingerprint(a), fingerprint(b));
  EXPECT_EQ(fingerprint(a), "f85600c0882133d2"); // SHA-256 of "gpu-target-missing\0kern\0kern/_C.so\0gfx942\0\0"
  for (std::string Finding::*part : {&Finding::rule, &Finding::subject, &Finding::distribution, &Finding::strength}) {
    Finding c = a;
    c.*part += "x";
    EXPECT_NE(fingerprint(a), fingerprint(c));
  }
  Finding moved = a; // the same characters cut elsewhere
  moved.origin.path = "kern/_C.sog";
  moved.subject = "fx942";
  EXPECT_NE(fingerprint(a), fingerprint(moved));
}

} // namespace
} // namespace isa_audit
