#include "options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "help_formatter.h"
#include "isa-audit/report/report.h"
#include "isa-audit/source/walk.h"
#include "rules_command.h"
#include "terminal.h"

namespace isa_audit {

namespace {

constexpr const char *kDescription = "Tells before run time whether installed binaries will run on this machine:\n"
                                     "which GPU targets and which x86 extensions they hold, judged against the local\n"
                                     "GPU and CPU or a given machine.";

constexpr const char *kFooter = "Examples:\n"
                                "  isa-audit --dist torch\n"
                                "      an installed distribution, found without importing it\n"
                                "  isa-audit .venv/lib/python3.12/site-packages\n"
                                "      every package of an environment\n"
                                "  isa-audit --gpu gfx942 --cpu none kern-1.2-cp312-cp312-linux_x86_64.whl\n"
                                "      a wheel, judged for another machine's GPU\n"
                                "  isa-audit --require gfx942 --max-cpu x86-64-v3 dist/*.whl\n"
                                "      a gate for CI\n"
                                "\n"
                                "Exit codes: 0 nothing at or above --fail-on, 1 a finding at or above it, 2 no\n"
                                "trustworthy answer (usage, nothing to audit, an input that could not be read).\n"
                                "A definite 1 outranks 2.\n"
                                "\n"
                                "Environment: --dist looks into VIRTUAL_ENV, CONDA_PREFIX or the python3 on PATH;\n"
                                "NO_COLOR and CLICOLOR_FORCE are obeyed.";

// The words as given; what they mean is worked out once everything is known.
struct Words {
  std::vector<std::string> paths, files_from, require, deny, warn, allow, outputs, extract_gpus;
  std::string max_size, max_cpu, fail_on = "error", format = "text", color = "auto", progress = "auto", memory;
};

class Parser {
public:
  Parser() : app_(kDescription, "isa-audit") {
    app_.footer(kFooter);
    app_.set_help_flag(); // declared last, so that its group comes last
    app_.formatter(std::make_shared<HelpFormatter>());
    app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    declare_input(app_);
    declare_machine(app_, "Machine");
    declare_gate();
    declare_output();
    declare_run(app_);
    app_.set_help_flag("-h,--help", "Print this help")->group("Run");
    app_.set_version_flag("--version", fmt::format("isa-audit {} (LLVM {})", ISA_AUDIT_VERSION, ISA_AUDIT_LLVM_VERSION),
                          "Print the version")
        ->group("Run");
    declare_subcommands();
  }

  ParsedOptions parse(int argc, char **argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
      // CLI11 throws for help and version too.
      std::ostringstream out, rest;
      if (app_.exit(error, out, rest) == 0) return {std::nullopt, print_out(out.str())};
      return fail(error.what());
    }
    if (std::string wrong = finish(); !wrong.empty()) return fail(wrong);
    return {std::move(options_), 0};
  }

private:
  static ParsedOptions fail(std::string_view message) {
    complain(message);
    return {std::nullopt, complain("see 'isa-audit --help'")};
  }

  void declare_input(CLI::App &app) {
    auto many = [](CLI::Option *option) {
      return option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->group("Input");
    };
    many(app.add_option("PATH", words_.paths,
                        "Directories, wheels or other archives, ELF or code-object files; audited as one set"));
    many(app.add_option("--dist", options_.scan.distributions, "An installed distribution by NAME, found without importing it")
             ->type_name("NAME")
             ->allow_extra_args(false));
    many(app.add_option("--files-from", words_.files_from, "Read paths from FILE, one a line; - for standard input")
             ->type_name("FILE")
             ->allow_extra_args(false));
    many(app.add_option("--exclude", options_.scan.excludes,
                        "Leave out paths that match GLOB (* stays within a folder, ** does not)")
             ->type_name("GLOB")
             ->allow_extra_args(false));
    app.add_option("--archive-depth", options_.scan.archive_depth, "How deep archives inside archives are opened (default 3)")
        ->type_name("N")
        ->group("Input");
    app.add_flag("--follow-symlinks", options_.scan.follow_symlinks, "Follow symbolic links that lead out of a tree")
        ->group("Input");
  }

  void declare_machine(CLI::App &app, const char *group) {
    gpu_.push_back(
        app.add_option("--gpu", options_.machine.gpu, "auto, none, or GPUs to judge against: gfx942,gfx90a:sramecc+:xnack-")
            ->type_name("LIST")
            ->multi_option_policy(CLI::MultiOptionPolicy::Join)
            ->delimiter(',')
            ->group(group));
    cpu_.push_back(
        app.add_option("--cpu", options_.machine.cpu,
                       "auto, none, x86-64-v1..v4 or a CPU name (nehalem, haswell, znver4); +feature and -feature edit it; "
                       "@FILE reads /proc/cpuinfo form")
            ->type_name("NAME")
            ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
            ->group(group));
    app.add_option("--root", options_.machine.root, "Read the machine's sys, proc and dev below DIR")
        ->type_name("DIR")
        ->group(group);
  }

  void declare_gate() {
    auto many = [](CLI::Option *option) {
      return option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false)->group("Gate");
    };
    many(app_.add_option("--require", words_.require, "GPU targets that every input must carry in every device image")
             ->type_name("LIST"));
    app_.add_option("--max-cpu", words_.max_cpu, "The most the inputs may need unguarded: x86-64-v3, haswell+aes …")
        ->type_name("NAME")
        ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
        ->group("Gate");
    deny_ = many(app_.add_option("--deny", words_.deny, "Make findings of RULE errors")->type_name("RULE"));
    warn_ = many(app_.add_option("--warn", words_.warn, "Make findings of RULE warnings")->type_name("RULE"));
    allow_ = many(
        app_.add_option("--allow", words_.allow, "Drop findings of RULE; the last word on a rule counts")->type_name("RULE"));
    app_.add_option("--fail-on", words_.fail_on, "Exit with 1 from this level on: error (default), warning, never")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"error", "warning", "never"}))
        ->group("Gate");
  }

  void declare_format(CLI::App &app) {
    std::vector<std::string> formats;
    for (const Writer &writer : writers()) formats.emplace_back(writer.format);
    app.add_option("--format", words_.format, "Of standard output: " + fmt::format("{}", fmt::join(formats, ", ")))
        ->type_name("FORMAT")
        ->check(CLI::IsMember(formats))
        ->group("Output");
  }

  void declare_output() {
    declare_format(app_);
    app_.add_option("--output", words_.outputs, "Write a report of FORMAT to FILE too; repeatable")
        ->type_name("FORMAT=FILE")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false)
        ->group("Output");
    app_.add_flag("--all", options_.all, "List every file with its targets and needs; cut no list")->group("Output");
    app_.add_flag("--kernels", options_.kernels, "List kernels with the registers and memory they take")->group("Output");
    app_.add_flag("--deep", options_.scan.deep, "Verify every checksum and decode all GPU code, whatever it costs")
        ->group("Output");
    app_.add_flag("--hash", options_.scan.hash, "Add the SHA-256 of the inputs to the report")->group("Output");
    for (auto [name, value] : {std::pair{"--color", &words_.color}, std::pair{"--progress", &words_.progress}})
      app_.add_option(name, *value, "auto (default: on a terminal), always, never")
          ->type_name("WHEN")
          ->check(CLI::IsMember({"auto", "always", "never"}))
          ->group("Output");
    app_.add_flag("-q,--quiet", options_.quiet, "Findings and problems only; nothing when all is well")->group("Output");
    app_.add_flag("-v,--verbose", options_.verbose, "Notes, all x86 extensions, the CPU each distribution needs")
        ->group("Output");
  }

  void declare_run(CLI::App &app) {
    app.add_option("-j,--jobs", options_.scan.jobs, "Threads (default: as many as this process may use)")
        ->type_name("N")
        ->check(CLI::Range(1, 1024))
        ->group("Run");
    app.add_option("--memory", words_.memory, "Memory for members of archives that are open at once, as 512M or 4G")
        ->type_name("SIZE")
        ->group("Run");
  }

  void declare_extract() {
    extract_ = app_.add_subcommand("extract", "Write code objects to files of their own, with a manifest")->footer("");
    declare_input(*extract_);
    auto many = [](CLI::Option *option) {
      return option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false)->group("Output");
    };
    extract_->add_option("--to", options_.extract.folder, "The folder for the files (default: code-objects)")
        ->type_name("DIR")
        ->group("Output");
    many(extract_->add_option("--gpu", words_.extract_gpus, "Only code for these GPUs, generic code that covers them included")
             ->type_name("LIST"));
    many(extract_->add_option("--kernel", options_.extract.kernels, "Only code objects with a kernel whose name holds TEXT")
             ->type_name("TEXT"));
    extract_->add_flag("--force", options_.extract.force, "Replace files that are there")->group("Output");
    extract_->add_option("--max-size", words_.max_size, "Stop at SIZE of code objects (default 16G)")
        ->type_name("SIZE")
        ->group("Output");
    declare_run(*extract_);
  }

  void declare_subcommands() {
    declare_extract();
    machine_ = app_.add_subcommand("machine", "What this machine is, and how that was found out")->footer("");
    declare_machine(*machine_, "Machine");
    machine_->add_option("--format", words_.format, "text or json")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"text", "json"}));
    rules_ = app_.add_subcommand("rules", "The rules, or what one of them means")->footer("");
    rules_->add_option("RULE", options_.rule, "A rule's name");
    rules_->add_option("--format", words_.format, "text or json")->type_name("FORMAT")->check(CLI::IsMember({"text", "json"}));
  }

  // What the words mean; empty, or what is wrong with them.
  std::string finish() {
    if (machine_->parsed()) options_.command = Options::Command::machine;
    if (rules_->parsed()) options_.command = Options::Command::rules;
    if (extract_->parsed()) return finish_extract();
    options_.outputs.push_back({words_.format, ""});
    if (options_.command != Options::Command::audit) return finish_command();
    for (auto step : {&Parser::finish_paths, &Parser::finish_gate, &Parser::finish_output, &Parser::finish_memory})
      if (std::string wrong = (this->*step)(); !wrong.empty()) return wrong;
    options_.scan.kernel_details = options_.kernels;
    options_.color = when(words_.color);
    options_.progress = when(words_.progress);
    return "";
  }

  std::string finish_paths() {
    for (const std::string &glob : options_.scan.excludes)
      if (std::string wrong = glob_fault(glob); !wrong.empty()) return fmt::format("--exclude '{}': {}", glob, wrong);
    options_.scan.paths = words_.paths;
    for (const std::string &name : words_.files_from) {
      std::ifstream file;
      if (name != "-") {
        file.open(name);
        if (!file) return fmt::format("--files-from: cannot read {}", name);
      }
      std::istream &in = name == "-" ? std::cin : file;
      for (std::string line; std::getline(in, line);)
        if (!line.empty()) options_.scan.paths.push_back(line);
    }
    if (options_.scan.paths.empty() && options_.scan.distributions.empty())
      return "nothing to audit: give a directory, a wheel or a library, or --dist NAME for an installed distribution";
    return "";
  }

  std::string finish_extract() {
    options_.command = Options::Command::extract;
    for (auto step : {&Parser::finish_paths, &Parser::finish_memory})
      if (std::string wrong = (this->*step)(); !wrong.empty()) return wrong;
    for (const std::string &list : words_.extract_gpus) {
      auto targets = parse_target_list(list);
      if (!targets) return "--gpu: " + llvm::toString(targets.takeError());
      std::ranges::move(*targets, std::back_inserter(options_.extract.targets));
    }
    if (options_.extract.folder.empty()) return "--to: name a folder";
    return words_.max_size.empty() ? "" : parse_size("--max-size", words_.max_size, options_.extract.max_bytes);
  }

  std::string finish_gate() {
    for (const std::string &list : words_.require) {
      auto targets = parse_target_list(list);
      if (!targets) return "--require: " + llvm::toString(targets.takeError());
      options_.policy.required.insert(options_.policy.required.end(), targets->begin(), targets->end());
    }
    if (!words_.max_cpu.empty()) {
      auto cpu = parse_cpu(words_.max_cpu);
      if (!cpu) return "--max-cpu: " + llvm::toString(cpu.takeError());
      options_.policy.max_cpu = std::move(*cpu);
    }
    // A gate judges the inputs, never the machine it runs on.
    if (!options_.policy.required.empty() || options_.policy.max_cpu) {
      if (!gpu_[0]->count()) options_.machine.gpu = "none";
      if (!cpu_[0]->count()) options_.machine.cpu = "none";
    }
    if (std::string wrong = finish_levels(); !wrong.empty()) return wrong;
    options_.policy.fail_on = words_.fail_on == "error"     ? FailOn::error
                              : words_.fail_on == "warning" ? FailOn::warning
                                                            : FailOn::never;
    return "";
  }

  // In the order of the command line: the last word on a rule counts.
  std::string finish_levels() {
    std::map<const CLI::Option *, size_t> next;
    for (const CLI::Option *option : app_.parse_order()) {
      const auto *names = option == deny_    ? &words_.deny
                          : option == warn_  ? &words_.warn
                          : option == allow_ ? &words_.allow
                                             : nullptr;
      if (!names) continue;
      const std::string &name = names->at(next[option]++);
      if (!find_rule(name)) return fmt::format("'{}' is no rule{}; 'isa-audit rules' lists them", name, near_rules(name));
      options_.policy.levels.erase(name);
      std::erase(options_.policy.allowed, name);
      if (option == allow_)
        options_.policy.allowed.push_back(name);
      else
        options_.policy.levels[name] = option == deny_ ? Level::error : Level::warning;
    }
    return "";
  }

  // A subcommand takes no inputs and has two formats.
  std::string finish_command() {
    const char *name = options_.command == Options::Command::machine ? "machine" : "rules";
    if (!words_.paths.empty() || !words_.files_from.empty() || !options_.scan.distributions.empty())
      return fmt::format("'{0}' is a command and takes no inputs; a path of that name is given as ./{0}", name);
    if (words_.format != "text" && words_.format != "json") return fmt::format("'{}' has the formats text and json", name);
    return "";
  }

  std::string finish_output() {
    for (const std::string &word : words_.outputs) {
      size_t equals = word.find('=');
      std::string format = word.substr(0, equals);
      if (equals == std::string::npos || equals + 1 == word.size()) return fmt::format("--output {}: write FORMAT=FILE", word);
      if (std::ranges::find(writers(), format, &Writer::format) == writers().end())
        return fmt::format("--output: '{}' is no format of a report", format);
      std::string file = word.substr(equals + 1);
      if (file == "-")
        return fmt::format("--output {}: standard output is --format {}; a file of that name is ./-", word, format);
      if (std::ranges::find(options_.outputs, file, &Output::file) != options_.outputs.end())
        return fmt::format("--output: {} is named twice", file);
      options_.outputs.push_back({format, std::move(file)});
    }
    return "";
  }

  std::string finish_memory() {
    return words_.memory.empty() ? "" : parse_size("--memory", words_.memory, options_.scan.memory);
  }

  // "512M"; empty, or what is wrong.
  static std::string parse_size(const char *option, const std::string &word, uint64_t &size) {
    std::string wrong = fmt::format("{}: write a number with K, M or G", option);
    size_t end = 0;
    while (end < word.size() && std::isdigit(static_cast<unsigned char>(word[end]))) ++end;
    std::string unit = word.substr(end);
    if (end == 0 || end > 12 || unit.size() > 1) return wrong;
    uint64_t factor = unit.empty() ? 1 : unit == "K" ? 1u << 10 : unit == "M" ? 1u << 20 : unit == "G" ? 1u << 30 : 0;
    size = std::stoull(word.substr(0, end)) * factor;
    return size ? "" : wrong;
  }

  static When when(const std::string &word) {
    return word == "always" ? When::always : word == "never" ? When::never : When::automatic;
  }

  CLI::App app_;
  Words words_;
  Options options_;
  std::vector<CLI::Option *> gpu_, cpu_;
  CLI::Option *deny_ = nullptr, *warn_ = nullptr, *allow_ = nullptr;
  CLI::App *extract_ = nullptr, *machine_ = nullptr, *rules_ = nullptr;
};

} // namespace

ParsedOptions parse_options(int argc, char **argv) { return Parser().parse(argc, argv); }

} // namespace isa_audit
