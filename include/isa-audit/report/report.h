// A report is everything a writer needs; writers are pure functions from it to bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/machine/machine.h"
#include "isa-audit/verdict/inventory.h"
#include "isa-audit/verdict/judge.h"

namespace isa_audit {

struct Report {
  std::string version, llvm_version; // of the tool
  std::vector<Machine> machines;
  const Inventory *inventory = nullptr;
  Policy policy;
  Judgement judgement;
  bool kernels = false; // --kernels: the JSON report lists them
};

struct TextStyle {
  size_t width = 0;     // columns to fit prose into; 0: do not wrap (a pipe)
  bool color = false;   // SGR sequences
  bool verbose = false; // -v
  bool quiet = false;   // -q: findings and problems only
  bool all = false;     // --all: files without findings too
  bool kernels = false; // --kernels
  double seconds = -1;  // time taken, shown in the last line on a terminal; negative: not shown
};

std::string write_text(const Report &report, const TextStyle &style);
std::string write_json(const Report &report);

struct Writer {
  std::string_view format; // the name of --format
  std::string (*write)(const Report &, const TextStyle &);
};
std::span<const Writer> writers();

// `text` with control characters and invalid UTF-8 shown as escapes (\x1b, \xff), so that scanned data never reaches a
// terminal raw.
std::string escaped(std::string_view text);

} // namespace isa_audit
