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
  EXPECT_TRUE(text.starts_with("error"));
  EXPECT_TRUE(text.ends_with("is cut short\n"));
  Scene served{"", World(), {gpus({"gfx90a:sramecc+:xnack-"})}, {}, {}};
  served.world.device_file("a.so", {image({"gfx90a"})});
  served.style.quiet = true;
  EXPECT_EQ(write_text(served.report(), served.style), "");
}

TEST(Text, NothingToAuditIsSaid) {
  Scene scene{"", World("empty", "directory"), {gpus({"gfx1100"})}, {}, {}};
  EXPECT_TRUE(mentions(write_text(scene.report(), scene.style), "nothing to audit"));
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
