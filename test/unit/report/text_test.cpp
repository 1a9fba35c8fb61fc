#include <algorithm>

#include <gtest/gtest.h>

#include "../lib/report/escape.h"
#include "../lib/report/table.h"
#include "unit/report/worlds.h"

namespace isa_audit::test {
namespace {

bool mentions(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

std::vector<std::string> lines(const std::string &text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

TEST(Escaped, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(escaped("torch/lib/größe.so"), "torch/lib/größe.so");
  EXPECT_EQ(escaped("a\x1b[31m\n\t\x7f"), "a\\x1b[31m\\x0a\\x09\\x7f");
  EXPECT_EQ(escaped("\xc2\x9b"), "\\x9b"); // CSI as a C1 control
  EXPECT_EQ(escaped("a\xe2\x80\xae"
                    "b"),
            "a\\u202eb");                                                           // right-to-left override
  EXPECT_EQ(escaped("\xff\xc0\x80\xed\xa0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80"); // overlong, surrogate
  EXPECT_EQ(escaped("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(escaped("\xf0\x9f\x98"), "\\xf0\\x9f\\x98"); // cut short
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)), "a\\x00b");
}

// Every byte string of up to three bytes becomes printable and stays as it is when escaped again.
TEST(Escaped, IsSafeAndStableForAllShortTexts) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      for (int c : {-1, 0x00, 0x41, 0x80, 0xa0, 0xbf, 0xff}) {
        std::string text{static_cast<char>(a), static_cast<char>(b)};
        if (c >= 0) text += static_cast<char>(c);
        std::string safe = escaped(text);
        ASSERT_TRUE(std::ranges::none_of(safe, [](char ch) { return static_cast<unsigned char>(ch) < 0x20 || ch == 0x7f; }));
        ASSERT_EQ(escaped(safe), safe);
        ASSERT_EQ(valid_utf8(valid_utf8(text)), valid_utf8(text));
      }
    }
}

TEST(Table, CutsOnlyWhereAllowedAndOnlyOnATerminal) {
  Table table({{"A"}, {"PATH", Column::Align::left, Column::Cut::path, 8}, {"N", Column::Align::right}});
  table.add({"error", "torch/lib/libaotriton_v2.so", "7"});
  table.add({"x", "b.so", "123"});
  EXPECT_EQ(table.text(0, false), "A      PATH                           N\n"
                                  "error  torch/lib/libaotriton_v2.so    7\n"
                                  "x      b.so                         123\n");
  EXPECT_EQ(lines(table.text(32, false))[1], "error  …/libaotriton_v2.so     7");
  EXPECT_EQ(lines(table.text(22, false))[1], "error  libaotrit…    7");
  EXPECT_FALSE(table.fits(32));
  EXPECT_TRUE(table.fits(39));
  EXPECT_TRUE(table.fits(0));
}

TEST(Wrapped, FillsLinesAndIndents) {
  EXPECT_EQ(wrapped("aa bb cc", 7, "> "), "> aa bb\n  cc\n");
  EXPECT_EQ(wrapped("aa bb cc", 0, "> "), "> aa bb cc\n");
  EXPECT_EQ(wrapped("a-very-long-word b", 5, ""), "a-very-long-word\nb\n");
}

TEST(Text, FitsEightyColumnsOnATerminal) {
  for (Scene scene : scenes()) {
    scene.style = terminal();
    for (const std::string &line : lines(write_text(scene.report(), scene.style)))
      EXPECT_LE(columns(line), 80u) << scene.name << ": " << line;
  }
}

TEST(Text, IsPrintableWhateverWasScanned) {
  Scene scene = everything();
  for (size_t width : {size_t{0}, size_t{80}}) {
    scene.style.width = width;
    std::string text = write_text(scene.report(), scene.style);
    EXPECT_TRUE(std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; }));
    EXPECT_EQ(valid_utf8(text), text);
  }
  EXPECT_EQ(valid_utf8(write_json(scene.report())), write_json(scene.report()));
}

TEST(Text, ColoursOnlyOnRequest) {
  Scene scene = torch();
  EXPECT_FALSE(mentions(write_text(scene.report(), scene.style), "\x1b"));
  std::string plain = write_text(scene.report(), scene.style);
  scene.style.color = true;
  std::string coloured = write_text(scene.report(), scene.style);
  EXPECT_TRUE(mentions(coloured, "\x1b[1;31merror\x1b[0m"));
  std::string stripped; // without the sequences it is the same text
  for (size_t i = 0; i < coloured.size(); ++i)
    if (coloured[i] == '\x1b')
      i = coloured.find('m', i);
    else
      stripped += coloured[i];
  EXPECT_EQ(stripped, plain);
}

TEST(Text, HeadlinesSayTheVerdict) {
  Scene scene = torch();
  scene.style.width = 0;
  EXPECT_TRUE(mentions(write_text(scene.report(), scene.style),
                       "torch 2.9.0+rocm6.4: PARTLY SERVED: 1 of 10 files with device code lacks gfx1100;"));
  scene = no_gpu();
  scene.style.width = 0;
  std::string text = write_text(scene.report(), scene.style);
  EXPECT_TRUE(mentions(text, "NOT JUDGED for any GPU: none was found on this machine. Name one with --gpu"));
  EXPECT_TRUE(mentions(text, "Code behind a run-time check of the CPU is not told apart"));
}

TEST(Text, GatesCountRejectedWheels) {
  Scene scene = gate();
  std::string text = write_text(scene.report(), scene.style);
  EXPECT_TRUE(
      mentions(text, "error  no-device-code           dist/kern_cpu-1.2-cp312-linux_x86_64.whl         gfx942     none\n"));
  EXPECT_TRUE(mentions(text, "holds gfx90a gfx1100\n"));
  EXPECT_TRUE(mentions(text, "\n2 of 3 wheels rejected: "));
  scene.policy = require({"gfx90a"});
  scene.world = World();
  scene.world.device_file("a.so", {image({"gfx90a"})});
  EXPECT_TRUE(mentions(write_text(scene.report(), scene.style), "\n1 wheel passes: "));
}

TEST(Text, ATerminalGetsTheFirstOfManyAPipeAllOfThem) {
  Scene scene{"", World("env", "directory"), {gpus({"gfx1100"})}, {}, terminal()};
  for (int i = 0; i < 50; ++i) scene.world.device_file("lib" + std::to_string(i) + ".so", {image({"gfx90a"})});
  std::string text = write_text(scene.report(), scene.style);
  EXPECT_TRUE(mentions(text, "… and 42 more, see --all"));
  EXPECT_LT(lines(text).size(), 50u);
  auto rows = [&] {
    return std::ranges::count_if(lines(write_text(scene.report(), scene.style)),
                                 [](const std::string &l) { return mentions(l, "gpu-target-missing"); });
  };
  scene.style.width = 0;
  EXPECT_EQ(rows(), 50);
  scene.style = terminal();
  scene.style.all = true;
  EXPECT_FALSE(mentions(write_text(scene.report(), scene.style), "see --all"));
}

TEST(Text, QuietIsFindingsAndProblemsOnly) {
  Scene scene = gate();
  scene.style.quiet = true;
  scene.world.problem(Level::error, "fine/_C.so", "is cut short");
  std::string text = write_text(scene.report(), scene.style);
  EXPECT_TRUE(text.starts_with("LEVEL")) << text;
  EXPECT_TRUE(text.ends_with("is cut short\n")) << text;
  Scene served{"", World(), {gpus({"gfx90a:sramecc+:xnack-"})}, {}, {}};
  served.world.device_file("a.so", {image({"gfx90a"})});
  served.style.quiet = true;
  EXPECT_EQ(write_text(served.report(), served.style), "");
}

TEST(Text, NothingToAuditIsSaid) {
  Scene scene{"", World("empty", "directory"), {gpus({"gfx1100"})}, {}, {}};
  EXPECT_TRUE(mentions(write_text(scene.report(), scene.style), "nothing to audit"));
}

std::string text_of(const Scene &scene) { return write_text(scene.report(), scene.style); }

TEST(Text, AnInputThatCannotBeReadSaysWhyAndWhere) {
  Scene scene{"", World("kern.whl", "file"), {gpus({"gfx1100"})}, {}, {}};
  scene.world.inventory.inputs[0].given = "some/where/kern.whl";
  scene.world.problem(Level::error, "kern.whl", "cannot open: no such file or directory");
  EXPECT_TRUE(mentions(text_of(scene), "some/where/kern.whl: NOT AUDITED: cannot open: no such file or directory\n"));
  EXPECT_FALSE(mentions(text_of(scene), "no device code")) << text_of(scene);
  EXPECT_FALSE(mentions(text_of(scene), "input-incomplete")) << text_of(scene);
  EXPECT_FALSE(mentions(write_json(scene.report()), "some/where")); // a report may be posted
  scene.style.quiet = true;
  EXPECT_TRUE(mentions(text_of(scene), "problem  error    some/where/kern.whl: cannot open"));
}

TEST(Text, InputsOfOneNameAreToldApart) {
  Scene scene{"", World("kern.whl", "wheel"), {gpus({"gfx1100"})}, {}, {}};
  scene.world.inventory.inputs[0].given = "a/kern.whl";
  scene.world.device_file("_C.so", {image({"gfx90a"})}).input("kern.whl", "wheel").device_file("_C.so", {image({"gfx90a"})});
  scene.world.inventory.inputs[1].given = "b/kern.whl";
  EXPECT_TRUE(mentions(text_of(scene), "a/kern.whl!_C.so"));
  EXPECT_TRUE(mentions(text_of(scene), "b/kern.whl!_C.so"));
}

TEST(Text, AGateWithoutAnAnswerPassesNothing) {
  Scene scene{"", World("a.whl", "wheel"), {}, require({"gfx90a"}), {}};
  scene.world.device_file("a.so", {image({"gfx90a"})}).input("b.whl", "wheel").problem(Level::error, "b.whl", "is truncated");
  EXPECT_EQ(scene.report().judgement.exit_code, 2);
  EXPECT_TRUE(mentions(text_of(scene), "1 of 2 wheels not judged: ")) << text_of(scene);
  EXPECT_FALSE(mentions(text_of(scene), "pass")) << text_of(scene);
  scene.policy = require({"gfx942"});
  EXPECT_TRUE(mentions(text_of(scene), "1 of 2 wheels rejected, 1 not judged: ")) << text_of(scene);
}

// Whatever makes an exit code of 2, every form of the text gives a reason.
TEST(Text, ExitCode2IsAlwaysExplained) {
  Scene empty{"", World("empty", "directory"), {gpus({"gfx1100"})}, {}, {}};
  Scene nested = empty, unread = empty, gate = empty;
  nested.world.problem(Level::warning, "a.zip", "archive nested deeper than --archive-depth: not looked into");
  unread.world.problem(Level::error, "a.so", "is cut short").device_file("b.so", {image({"gfx1100"})});
  gate.machines.clear();
  gate.policy = require({"gfx1100"});
  gate.world.device_file("b.so", {image({"gfx1100"})}).input("text", "directory");
  for (Scene scene : {empty, nested, unread, gate})
    for (bool quiet : {false, true}) {
      scene.style.quiet = quiet;
      ASSERT_EQ(scene.report().judgement.exit_code, 2);
      std::string text = text_of(scene);
      EXPECT_TRUE(mentions(text, "nothing to audit") || mentions(text, "problem  error") || mentions(text, "not judged"))
          << text;
    }
  EXPECT_TRUE(mentions(text_of(nested), "nothing to audit: no ELF file, code object or archive was found (1 problem)"));
}

TEST(Text, ACpuThatWasNotFoundIsNotJudged) {
  Scene scene{"", World("lib", "directory"), {Machine()}, {}, {}};
  scene.machines[0].judge_cpu = true;
  scene.world.host_file("a.so", host({Feature::avx2}));
  EXPECT_EQ(scene.report().judgement.verdict, Verdict::not_judged);
  EXPECT_TRUE(mentions(text_of(scene), "machine  cpu none found\n")) << text_of(scene);
  EXPECT_TRUE(mentions(text_of(scene), "NOT JUDGED for any CPU: none was found on this machine. Name one with --cpu"));
  scene.machines[0] = Machine();
  EXPECT_FALSE(mentions(text_of(scene), "NOT JUDGED")) << text_of(scene);
}

TEST(Text, AHypervisorWithoutANameIsAVirtualMachine) {
  Scene scene = torch();
  scene.machines[0].cpu->hypervisor = "unknown";
  EXPECT_TRUE(mentions(text_of(scene), "(x86-64-v3) in a virtual machine\n"));
  EXPECT_FALSE(mentions(text_of(scene), "under unknown"));
}

TEST(Text, AllListsEveryFileWithTargetsAndNeeds) {
  Scene scene{"", World("env", "directory"), {}, {}, {}};
  HostCode code = host({Feature::avx2});
  code.guards_analysed = true;
  code.guarded = {Feature::avx512f};
  scene.world.host_file("b.so", code).device_file("a.so", {image({"gfx942", "gfx90a"}), image({"gfx90a"})}).file("c.so");
  scene.style.all = true;
  std::string text = text_of(scene);
  EXPECT_TRUE(mentions(text, "FILE  GPU TARGETS    CPU TO IMPORT  TO RUN ALL      CAN USE\n")) << text;
  EXPECT_TRUE(mentions(text, "a.so  gfx90a gfx942  -              -               -\n")) << text;
  EXPECT_TRUE(mentions(text, "b.so  -              x86-64-v1      x86-64-v2+avx2  x86-64-v2+avx512f\n")) << text;
  EXPECT_TRUE(mentions(text, "c.so  -              -              -               -\n")) << text;
  scene.style.width = 64; // too narrow for the table
  for (const std::string &line : lines(text_of(scene))) EXPECT_LE(columns(line), 64u) << line;
  EXPECT_TRUE(mentions(text_of(scene), "b.so\n  cpu  to import x86-64-v1; to run all x86-64-v2+avx2;")) << text_of(scene);
  scene.style.all = false;
  EXPECT_FALSE(mentions(text_of(scene), "c.so"));
}

TEST(Text, WhatTheCpuHasIsOnlyCounted) {
  Scene scene{"", World("env", "directory"), {cpu("x86-64-v3", level_set(3))}, {}, {}};
  HostCode code = host({Feature::avx, Feature::avx2});
  code.guards_analysed = true;
  scene.world.host_file("a.so", code);
  EXPECT_FALSE(mentions(text_of(scene), "INSTRUCTION")) << text_of(scene);
  EXPECT_TRUE(mentions(text_of(scene), "-v lists the extensions"));
  scene.style.verbose = true;
  EXPECT_TRUE(mentions(text_of(scene), "INSTRUCTION"));
  EXPECT_TRUE(mentions(text_of(scene), "unguarded: no run-time check was found"));
  scene.style.verbose = false;
  scene.world.inventory.binaries[0].host->unguarded.insert(Feature::avx512f);
  scene.world.inventory.binaries[0].host->used.insert(Feature::avx512f);
  std::string text = text_of(scene);
  EXPECT_TRUE(mentions(text, "\navx512f  v4")) << text;
  EXPECT_FALSE(mentions(text, "\navx2 ")) << text;
  EXPECT_TRUE(mentions(text, "not shown without -v: 2 extensions that the CPU has or"));
  EXPECT_TRUE(mentions(text, "CPU NEEDED  TO IMPORT")) << text; // a finding about the CPU asks for it
}

TEST(Text, FunctionsAreCutAt80Columns) {
  Scene scene{"", World("env", "directory"), {}, {}, {}};
  HostCode code = host({Feature::avx2});
  code.evidence[0].symbol = std::string(79, 'f') + "ö" + std::string(400, 'g');
  scene.world.host_file("a.so", code);
  std::string text = text_of(scene);
  EXPECT_TRUE(mentions(text, "  " + std::string(79, 'f') + "…\n")) << text;
  EXPECT_EQ(valid_utf8(text), text);
}

TEST(Text, CodeInKpackArchivesIsNoAbsence) {
  Scene scene{"", World("lib", "directory"), {gpus({"gfx1100"})}, {}, {}};
  scene.world.file("liba.so").device.emplace().external = {"liba.so", {"a_@GFXARCH@.kpack"}, {0}};
  std::string text = write_text(scene.report(), scene.style);
  EXPECT_TRUE(mentions(text, "device code of 1 file in kpack archives")) << text;
  EXPECT_FALSE(mentions(text, "no device code")) << text;
  std::string json = write_json(scene.report());
  EXPECT_TRUE(mentions(json, "\"archive\": \"a_@GFXARCH@.kpack\"")) << json;
}

TEST(Writers, KnowTheirFormats) {
  for (const char *format : {"text", "json"})
    EXPECT_TRUE(std::ranges::any_of(writers(), [&](const Writer &w) { return w.format == format; })) << format;
  Scene scene = torch();
  for (const Writer &writer : writers()) {
    std::string expected = writer.format == "json" ? write_json(scene.report()) : write_text(scene.report(), scene.style);
    EXPECT_EQ(writer.write(scene.report(), scene.style), expected);
  }
}

} // namespace
} // namespace isa_audit::test
