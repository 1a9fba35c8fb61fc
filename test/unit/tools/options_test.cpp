#include "options.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rules_command.h"
#include "terminal.h"

namespace isa_audit {
namespace {

ParsedOptions parse(std::vector<std::string> words) {
  words.insert(words.begin(), "isa-audit");
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

// What is said on standard error when the words are refused.
std::string refusal(const std::vector<std::string> &words) {
  testing::internal::CaptureStderr();
  ParsedOptions parsed = parse(words);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(parsed.options) << text;
  EXPECT_EQ(parsed.exit_code, 2);
  return text;
}

const Policy &policy(ParsedOptions &parsed) {
  EXPECT_TRUE(parsed.options);
  return parsed.options->policy;
}

TEST(Options, TheLastWordOnARuleCounts) {
  ParsedOptions warn = parse({".", "--deny", "gpu-target-partial", "--warn", "gpu-target-partial"});
  EXPECT_EQ(policy(warn).levels.at("gpu-target-partial"), Level::warning);
  ParsedOptions deny = parse({".", "--warn", "gpu-target-partial", "--deny", "gpu-target-partial"});
  EXPECT_EQ(policy(deny).levels.at("gpu-target-partial"), Level::error);
  ParsedOptions allow = parse({".", "--deny=no-device-code", "--deny=gpu-target-partial", "--allow=no-device-code"});
  EXPECT_FALSE(policy(allow).levels.contains("no-device-code"));
  EXPECT_EQ(policy(allow).allowed, std::vector<std::string>{"no-device-code"});
  EXPECT_EQ(policy(allow).levels.at("gpu-target-partial"), Level::error);
  ParsedOptions again = parse({".", "--allow", "no-device-code", "--warn", "no-device-code"});
  EXPECT_TRUE(policy(again).allowed.empty());
  EXPECT_EQ(policy(again).levels.at("no-device-code"), Level::warning);
}

TEST(Options, BadGlobsAreRefused) {
  EXPECT_NE(refusal({".", "--exclude", "["}).find("--exclude '[': the set"), std::string::npos);
  EXPECT_NE(refusal({".", "--exclude", "a\\"}).find("--exclude"), std::string::npos);
  EXPECT_NE(refusal({".", "--exclude", ""}).find("--exclude"), std::string::npos);
  EXPECT_TRUE(parse({".", "--exclude", "[a-z]*.so"}).options);
}

TEST(Options, MessagesHoldNoControlCharacters) {
  const std::string evil = "\x1b[31m\x07\xc2\x9b";
  for (const std::vector<std::string> &words : std::vector<std::vector<std::string>>{{"--" + evil},
                                                                                     {".", "--format", evil},
                                                                                     {".", "--require", evil},
                                                                                     {".", "--max-cpu", evil},
                                                                                     {".", "--allow", evil},
                                                                                     {".", "--output", evil},
                                                                                     {".", "--exclude", evil + "["},
                                                                                     {".", "--memory", evil},
                                                                                     {"--files-from", evil}}) {
    std::string text = refusal(words);
    for (char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << words.back();
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  }
}

TEST(Options, CommandsTakeNoInputs) {
  EXPECT_NE(refusal({"somewhere", "machine"}).find("./machine"), std::string::npos);
  EXPECT_NE(refusal({"--dist", "torch", "rules"}).find("takes no inputs"), std::string::npos);
  ParsedOptions rules = parse({"--format", "json", "rules"});
  ASSERT_TRUE(rules.options);
  EXPECT_EQ(rules.options->command, Options::Command::rules);
  EXPECT_EQ(rules.options->outputs.front().format, "json");
}

// What the README shows works, and what people look for is in it.
TEST(Options, ReadmeAndHelpAreInStep) {
  testing::internal::CaptureStdout();
  for (const std::vector<std::string> &words :
       std::vector<std::vector<std::string>>{{"--help"}, {"extract", "--help"}, {"machine", "--help"}, {"rules", "--help"}})
    EXPECT_EQ(parse(words).exit_code, 0);
  const std::string help = testing::internal::GetCapturedStdout();
  std::stringstream file;
  file << std::ifstream(ISA_AUDIT_TESTDATA "/../README.md").rdbuf();
  const std::string readme = file.str().substr(0, file.str().find("## Building by hand"));
  const std::regex option("(^|[ `(])(--[a-z][a-z-]*)");
  size_t count = 0;
  for (std::sregex_iterator at(readme.begin(), readme.end(), option), end; at != end; ++at, ++count)
    EXPECT_NE(help.find((*at)[2]), std::string::npos) << (*at)[2];
  EXPECT_GT(count, 20u);
  for (const char *word : {"NO_COLOR", "CLICOLOR_FORCE", "VIRTUAL_ENV", "CONDA_PREFIX", "--files-from", "--fail-on", "-q",
                           "--all", "--require", "--max-cpu", "A definite 1 outranks 2"}) {
    EXPECT_NE(help.find(word), std::string::npos) << word;
    EXPECT_NE(readme.find(word), std::string::npos) << word;
  }
  for (size_t at = 0, next = 0; at < help.size(); at = next + 1) {
    next = std::min(help.find('\n', at), help.size());
    EXPECT_LE(next - at, 82u) << help.substr(at, next - at); // "…" counts three bytes
  }
}

TEST(Options, OneFileForOneReport) {
  EXPECT_NE(refusal({".", "--output", "json=a", "--output", "text=a"}).find("named twice"), std::string::npos);
  EXPECT_NE(refusal({".", "--output", "json"}).find("FORMAT=FILE"), std::string::npos);
  EXPECT_NE(refusal({".", "--output", "xml=a"}).find("xml"), std::string::npos);
}

TEST(Options, UnknownRulesHaveNearOnes) {
  EXPECT_NE(refusal({".", "--deny", "gpu-target-mising"}).find("did you mean gpu-target-missing"), std::string::npos);
  EXPECT_NE(near_rules("partial").find("gpu-target-partial"), std::string::npos);
  EXPECT_EQ(near_rules("zzzzzzzz"), "");
}

TEST(Progress, FitsTheLine) {
  Progress progress;
  EXPECT_EQ(progress_text(progress, 1, 79), "1 s: looking for files");
  progress.total_bytes = 900u << 20;
  progress.bytes = 120u << 20;
  progress.binaries = 3;
  progress.total_binaries = 40;
  progress.enter("kern.whl!torch/lib/lib\x1btorch.so");
  EXPECT_EQ(progress_text(progress, 12.4, 79), "12 s: 3 of 40 binaries, 120 of 900 MiB, lib\\x1btorch.so");
  EXPECT_EQ(progress_text(progress, 12.4, 10), "12 s: 3 of");
}

} // namespace
} // namespace isa_audit
