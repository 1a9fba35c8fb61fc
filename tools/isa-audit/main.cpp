// isa-audit: parse, scan, judge, write.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "extract_command.h"
#include "isa-audit/machine/detect.h"
#include "isa-audit/report/report.h"
#include "isa-audit/scan/scan.h"
#include "machine_command.h"
#include "options.h"
#include "output_file.h"
#include "rules_command.h"
#include "terminal.h"

using namespace isa_audit;

namespace {

std::string render(const Report &report, const std::string &format, const TextStyle &style) {
  auto writer = std::ranges::find(writers(), format, &Writer::format);
  return writer->write(report, style);
}

// Files first, so that they are complete when the last line appears on the terminal.
int write_reports(const Report &report, const Options &options, double seconds) {
  TextStyle style;
  style.verbose = options.verbose;
  style.quiet = options.quiet;
  style.all = options.all;
  style.kernels = options.kernels;
  int exit_code = report.judgement.exit_code;
  for (const Output &output : options.outputs) {
    if (output.file.empty()) continue;
    if (std::string wrong = write_output(output.file, render(report, output.format, style)); !wrong.empty())
      exit_code = complain(fmt::format("cannot write {}: {}", output.file, wrong));
  }
  style.width = terminal_width();
  style.color = use_color(options.color);
  if (style.width) style.seconds = seconds;
  if (int failed = print_out(render(report, options.outputs.front().format, style))) exit_code = failed;
  return exit_code;
}

// Whether anything in the reports depends on when x86-64 code runs. Text in its short form does not where GPUs are judged and
// no CPU is.
bool tells_reach(const Options &options, const Machine &machine) {
  bool text = std::ranges::all_of(options.outputs, [](const Output &output) { return output.format == "text"; });
  bool gpus_alone = !machine.judge_cpu && !options.policy.max_cpu && (machine.judge_gpus || !options.policy.required.empty());
  return !gpus_alone || !text || options.verbose || options.all;
}

int audit(Options options) {
  auto start = std::chrono::steady_clock::now();
  for (const Output &output : options.outputs)
    if (std::string wrong = output.file.empty() ? "" : check_output(output.file, options.scan.paths); !wrong.empty())
      return complain(fmt::format("--output: cannot write {}: {}", output.file, wrong));
  auto machine = make_machine(options.machine, read_environment());
  if (!machine) return complain(llvm::toString(machine.takeError()));
  Progress progress;
  options.scan.progress = &progress;
  options.scan.x86_reach = tells_reach(options, *machine);
  Inventory inventory;
  {
    ProgressLine line(progress, options.progress);
    inventory = scan(options.scan);
  }
  Report report;
  report.version = ISA_AUDIT_VERSION;
  report.llvm_version = ISA_AUDIT_LLVM_VERSION;
  report.machines.push_back(std::move(*machine));
  report.inventory = &inventory;
  report.policy = options.policy;
  report.kernels = options.kernels;
  report.judgement = judge(inventory, report.machines, options.policy);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return write_reports(report, options, seconds);
}

} // namespace

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_IGN);
  ParsedOptions parsed = parse_options(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  Options &options = *parsed.options;
  switch (options.command) {
  case Options::Command::machine: return machine_command(options.machine, options.outputs.front().format);
  case Options::Command::rules: return rules_command(options.rule, options.outputs.front().format);
  case Options::Command::extract:
    options.extract.scan = std::move(options.scan);
    return extract_command(std::move(options.extract));
  case Options::Command::audit: break;
  }
  return audit(std::move(options));
}
