// A line for each distribution that holds native code, and for what of an input no distribution owns. With many, those that
// are fine are only counted.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "isa-audit/verdict/target_order.h"
#include "text_parts.h"

namespace isa_audit {
namespace {

constexpr size_t kShowAll = 5;  // groups that are all shown
constexpr size_t kShowBad = 20; // bad ones shown of many

struct Group {
  std::string title;
  std::string unaudited; // why nothing was audited; the rest is empty then
  Verdict verdict = Verdict::not_judged;
  std::vector<const DeviceUnit *> units;
  std::vector<const Finding *> findings;
  size_t files = 0;      // binaries
  size_t host_files = 0; // with x86-64 code
  size_t split = 0;      // with device code in kpack archives
  size_t side_files = 0; // indices and databases of kernels
  bool guards_known = true;
  IsaSet used;
};

using Key = std::pair<uint32_t, std::string>;

std::string unaudited_text(const TextContext &context, uint32_t input) {
  const Problem *problem = context.why_unaudited(input);
  if (!problem) return "nothing in it that could be audited";
  std::string place = context.problem_place(problem->origin), message = escaped(problem->message);
  return place == context.given(input) ? message : place + ": " + message;
}

std::vector<Group> make_groups(const TextContext &context) {
  std::map<Key, Group> groups;
  for (const Binary &binary : context.inventory.binaries) {
    Group &group = groups[{binary.origin.input, binary.distribution}];
    ++group.files;
    group.split += binary.device && binary.device->external;
    if (!binary.host) continue;
    ++group.host_files;
    group.guards_known &= binary.host->guards_analysed;
    group.used |= binary.host->used;
  }
  for (const DeviceUnit &unit : context.units) groups[{unit.origin.input, unit.distribution}].units.push_back(&unit);
  // What Triton compiled lacks nothing: it says something of a package only where there is nothing else.
  for (auto &[key, group] : groups)
    if (std::ranges::any_of(group.units, [](const DeviceUnit *unit) { return !unit->triton; }))
      std::erase_if(group.units, [](const DeviceUnit *unit) { return unit->triton; });
  for (const SideFile &file : context.inventory.side_files) ++groups[{file.origin.input, file.distribution}].side_files;
  // The headline tells of facts: what is allowed is one too.
  for (const auto *findings : {&context.report.judgement.findings, &context.report.judgement.allowed})
    for (const Finding &f : *findings)
      if ((!f.origin.path.empty() || f.machine < 0 || f.rule == "gpu-vendor-mismatch") && f.rule != "input-incomplete")
        groups[{f.origin.input, f.distribution}].findings.push_back(&f);
  const auto &distributions = context.inventory.distributions;
  for (size_t i = 0; i < distributions.size(); ++i) {
    auto at = groups.find({distributions[i].input, distributions[i].name});
    if (at == groups.end() && context.report.judgement.distributions[i] == Verdict::served)
      at = groups.try_emplace({distributions[i].input, distributions[i].name}).first;
    if (at == groups.end()) continue;
    at->second.title = escaped(distributions[i].name + " " + distributions[i].version);
    at->second.verdict = context.report.judgement.distributions[i];
  }
  for (uint32_t i = 0; i < context.inventory.inputs.size(); ++i) {
    if (context.is_audited(i)) continue;
    Group &group = groups[{i, ""}] = Group();
    group.title = context.given(i);
    group.unaudited = unaudited_text(context, i);
    group.verdict = Verdict::incomplete;
  }
  std::vector<Group> out;
  for (auto &[key, group] : groups) {
    if (group.title.empty()) {
      // An input whose distribution has it all: what is said of the input as a whole stands among the findings.
      if (group.files + group.side_files == 0 &&
          std::ranges::any_of(distributions, [&](const Distribution &d) { return d.input == key.first; }))
        continue;
      group.title = context.input(key.first);
      if (key.first < context.report.judgement.inputs.size()) group.verdict = context.report.judgement.inputs[key.first];
    }
    out.push_back(std::move(group));
  }
  return out;
}

using Clauses = std::vector<std::string>;

std::vector<const Finding *> select(const Group &group, std::string_view rule, int machine, std::string_view processor) {
  std::vector<const Finding *> out;
  for (const Finding *f : group.findings)
    if (f->rule == rule && f->machine == machine &&
        (f->subject == processor || (f->subject.starts_with(processor) && f->subject[processor.size()] == ':')))
      out.push_back(f);
  return out;
}

// Processors by what is wrong with them, in words.
class ProcessorClauses {
public:
  ProcessorClauses(const Group &group, int machine) : group_(group), machine_(machine) {}

  void add(const std::string &processor) {
    bool one = group_.units.size() == 1;
    auto missing = select(group_, machine_ < 0 ? "required-target-missing" : "gpu-target-missing", machine_, processor);
    // Kernels that Triton would compile anew are no loss.
    std::erase_if(missing, [](const Finding *f) { return f->level == Level::note; });
    // Kernel folders of libraries have rules of their own.
    auto side_findings = [&](const char *rule) {
      auto out = select(group_, rule, machine_, processor);
      std::erase_if(out, [&](const Finding *f) { return f->level == Level::note || !is_side_car(f->origin); });
      return out;
    };
    auto lost = side_findings("sidecar-missing"), incomplete = side_findings("sidecar-incomplete");
    missing.insert(missing.end(), lost.begin(), lost.end());
    auto mismatch = select(group_, "gpu-feature-mismatch", machine_, processor);
    auto partial = select(group_, "gpu-target-partial", machine_, processor);
    if (missing.empty() && mismatch.empty() && partial.empty() && incomplete.empty()) return served_.push_back(processor);
    if (!missing.empty()) missing_[missing.size()].push_back(processor);
    if (!missing.empty()) holds_ = missing.front()->holds;
    if (!mismatch.empty())
      others_.push_back(one ? fmt::format("it holds {}, not {}", mismatch.front()->holds, mismatch.front()->subject)
                            : of_files(mismatch.size(), "holds", "hold") + " " + processor + " with other settings only");
    if (!partial.empty())
      others_.push_back(one ? "it holds " + partial.front()->holds
                            : of_files(partial.size(), "holds", "hold") + " " + processor + " in some device images only");
  }

  void finish(Clauses &out) const {
    size_t files = group_.units.size();
    for (const auto &[count, processors] : missing_) {
      std::string names = join_targets(processors);
      if (files == 1)
        out.push_back(fmt::format("no {}, it holds {}", names, holds_));
      else if (count == files)
        out.push_back(fmt::format("none of {} files with device code serves {}", files, names));
      else
        out.push_back(fmt::format("{} {}", of_files(count, "lacks", "lack"), names));
    }
    out.insert(out.end(), others_.begin(), others_.end());
    if (served_.empty()) return;
    std::string names = join_targets(served_);
    out.push_back(files == 1 ? "its device code serves " + names
                             : fmt::format("all {} files with device code serve {}", files, names));
  }

private:
  bool is_side_car(const Origin &origin) const {
    return std::ranges::any_of(group_.units, [&](const DeviceUnit *u) { return u->side_car && u->origin == origin; });
  }

  std::string of_files(size_t count, std::string_view verb_one, std::string_view verb_many) const {
    return fmt::format("{} of {} files with device code {}", count, group_.units.size(), count == 1 ? verb_one : verb_many);
  }

  const Group &group_;
  int machine_;
  std::map<size_t, std::vector<std::string>, std::greater<>> missing_; // by the number of files
  std::vector<std::string> others_, served_;
  std::string holds_;
};

std::string held_text(const Group &group) {
  std::set<std::string, TargetOrder> targets;
  for (const DeviceUnit *unit : group.units)
    for (std::string &target : unit_targets(*unit)) targets.insert(std::move(target));
  return join_targets({targets.begin(), targets.end()}, 12);
}

// What is said of a group without device code of its own.
std::string no_code_text(const Group &group) {
  if (group.split) return "device code of " + counted_text(group.split, "file") + " in kpack archives";
  const bool other = std::ranges::any_of(group.findings, [](const Finding *f) { return f->rule == "gpu-vendor-mismatch"; });
  return other ? "no code for AMD GPUs" : "no device code";
}

// "torch/lib/rocblas/library has nothing for gfx1103".
void sidecar_clauses(const TextContext &context, const Group &group, int machine, Clauses &out) {
  for (const Finding *f : group.findings) {
    if (f->machine != machine || f->level == Level::note || !f->rule.starts_with("sidecar-")) continue;
    std::string what = f->rule == "sidecar-missing" ? "has nothing for" : "is incomplete for";
    std::string clause = fmt::format("{} {} {}", context.path(f->origin), what, f->subject);
    if (std::ranges::find(out, clause) == out.end()) out.push_back(std::move(clause));
  }
}

void gpu_clauses(const Group &group, int index, const Machine &machine, Clauses &out) {
  if (!machine.judge_gpus) return;
  if (group.units.empty()) {
    out.push_back(no_code_text(group));
    return;
  }
  if (machine.gpus.empty()) {
    out.push_back(fmt::format("{} with device code for {}", counted_text(group.units.size(), "file"), held_text(group)));
    return;
  }
  bool any_visible = std::ranges::any_of(machine.gpus, &Gpu::visible);
  std::vector<std::string> seen;
  ProcessorClauses clauses(group, index);
  for (const Gpu &gpu : machine.gpus) {
    const std::string &processor = gpu.loader_target().processor;
    if ((any_visible && !gpu.visible) || std::ranges::find(seen, processor) != seen.end()) continue;
    seen.push_back(processor);
    clauses.add(processor);
  }
  clauses.finish(out);
  auto mixed = std::ranges::count_if(group.findings,
                                     [&](const Finding *f) { return f->rule == "gpu-mixed-machine" && f->machine == index; });
  if (mixed) out.push_back(fmt::format("one visible GPU takes the code of {} from others", counted_text(mixed, "file")));
}

// The features that findings name, and the files they are in.
struct CpuCount {
  std::set<std::string> features;
  std::set<std::string_view> files;
};

CpuCount count_features(const Group &group, int machine, std::string_view rule, Level level, bool of_calls = false) {
  CpuCount out;
  for (const Finding *f : group.findings) {
    if (f->rule != rule || f->machine != machine || f->level != level) continue;
    if (level == Level::error && rule == "cpu-feature-missing" && (f->strength == "call") != of_calls) continue;
    out.files.insert(f->origin.path);
    for (size_t at = 0; at < f->subject.size();) {
      size_t end = std::min(f->subject.find(',', at), f->subject.size());
      out.features.insert(f->subject.substr(at, end - at));
      at = end + 1;
    }
  }
  return out;
}

std::string name_features(const std::set<std::string> &features) {
  std::vector<std::string> list(features.begin(), features.end());
  return escaped(join_targets(list, 6));
}

void cpu_clauses(const Group &group, int index, const std::string &cpu, Clauses &out) {
  if (group.host_files == 0) return;
  auto files = [&](size_t n) {
    return group.host_files == 1 ? "it" : fmt::format("{} of {} x86-64 files", n, group.host_files);
  };
  CpuCount errors = count_features(group, index, "cpu-feature-missing", Level::error);
  CpuCount warnings = count_features(group, index, "cpu-feature-missing", Level::warning);
  if (!errors.files.empty()) {
    std::string name = escaped(*errors.files.begin());
    std::string which = errors.files.size() == 1 ? name : fmt::format("{} and {} more", name, errors.files.size() - 1);
    out.insert(out.begin(), fmt::format("cannot be loaded or imported on {}: {} {} {}", cpu, which,
                                        errors.files.size() == 1 ? "needs" : "need", name_features(errors.features)));
  }
  CpuCount calls = count_features(group, index, "cpu-feature-missing", Level::error, true);
  if (!calls.files.empty())
    out.push_back(fmt::format("{} {} compiled for {} throughout, without any check", files(calls.files.size()),
                              calls.files.size() == 1 ? "is" : "are", name_features(calls.features)));
  if (!warnings.files.empty() && group.guards_known) {
    bool early = std::ranges::any_of(group.findings, [&](const Finding *f) {
      return f->rule == "cpu-feature-missing" && f->machine == index && (f->strength == "load" || f->strength == "import");
    });
    if (!early) out.push_back(fmt::format("no use found at load or import of anything {} lacks", cpu));
    out.push_back(fmt::format("{} {} code for {} for which no run-time check was found", files(warnings.files.size()),
                              warnings.files.size() == 1 ? "holds" : "hold", name_features(warnings.features)));
  } else if (!warnings.files.empty()) {
    out.push_back(fmt::format("{} {} {}, which {} lacks, guarded or not", files(warnings.files.size()),
                              warnings.files.size() == 1 ? "uses" : "use", name_features(warnings.features), cpu));
  }
  CpuCount different = count_features(group, index, "cpu-silently-different", Level::warning);
  if (!different.files.empty())
    out.push_back(fmt::format("{} may give other results on {} for want of {}", files(different.files.size()), cpu,
                              name_features(different.features)));
  CpuCount insufficient = count_features(group, index, "cpu-guard-insufficient", Level::warning);
  if (!insufficient.files.empty())
    out.push_back(fmt::format("{} {} too little before code for {}", files(insufficient.files.size()),
                              insufficient.files.size() == 1 ? "checks" : "check", name_features(insufficient.features)));
  if (errors.files.empty() && calls.files.empty() && warnings.files.empty() && different.files.empty() &&
      insufficient.files.empty())
    out.push_back(fmt::format("no {}use found of anything that {} lacks", group.guards_known ? "unguarded " : "", cpu));
}

void gate_clauses(const TextContext &context, const Group &group, Clauses &out) {
  const Policy &policy = context.report.policy;
  if (!policy.required.empty() && group.units.empty()) out.push_back(no_code_text(group));
  if (!policy.required.empty() && !group.units.empty()) {
    ProcessorClauses clauses(group, -1);
    for (const TargetId &target : policy.required) clauses.add(target.text());
    clauses.finish(out);
  }
  if (!policy.max_cpu || group.host_files == 0) return;
  CpuCount beyond = count_features(group, -1, "cpu-level-exceeded", Level::error);
  if (!beyond.files.empty())
    out.push_back(fmt::format("{} of {} files go beyond {}: {}", beyond.files.size(), group.host_files,
                              escaped(policy.max_cpu->name), name_features(beyond.features)));
}

// What is there, when nothing is judged.
void inventory_clauses(const Group &group, Clauses &out) {
  out.push_back(group.units.empty() ? no_code_text(group) : "device code for " + held_text(group));
  if (group.host_files)
    out.push_back(fmt::format("{} with {}", counted_text(group.host_files, "x86-64 file"), describe_isa(group.used)));
}

std::string verdict_text(Verdict verdict) {
  switch (verdict) {
  case Verdict::served: return "SERVED";
  case Verdict::partly_served: return "PARTLY SERVED";
  case Verdict::not_served: return "NOT SERVED";
  case Verdict::not_judged: return "NOT JUDGED";
  case Verdict::incomplete: return "INCOMPLETE";
  }
  return "";
}

Colour verdict_colour(Verdict verdict) {
  switch (verdict) {
  case Verdict::served: return Colour::green;
  case Verdict::not_served: return Colour::red;
  default: return Colour::yellow;
  }
}

// What the verdict hangs on, in the words of the headline.
std::string unaudited_line(const TextContext &context, const Group &group) {
  std::string lead = group.title + ": ";
  std::string word = painted("NOT AUDITED", Colour::red, context.style.color);
  std::string line = wrapped(group.title + ": NOT AUDITED: " + group.unaudited, context.width(), "");
  if (size_t at = line.find("NOT AUDITED", lead.size()); at == lead.size()) line.replace(at, 11, word);
  return line;
}

std::string group_text(const TextContext &context, const Group &group) {
  if (!group.unaudited.empty()) return unaudited_line(context, group);
  Clauses clauses;
  bool judged = context.machines || context.gates;
  const bool several = context.report.machines.size() + context.gates > 1;
  // Which of several machines, or the gate, the clauses from `first` on are about.
  auto name_subject = [&](size_t first, const std::string &subject) {
    if (several && first < clauses.size()) clauses[first].insert(0, subject + ": ");
  };
  for (size_t i = 0; i < context.report.machines.size(); ++i) {
    const Machine &machine = context.report.machines[i];
    size_t first = clauses.size();
    gpu_clauses(group, static_cast<int>(i), machine, clauses);
    sidecar_clauses(context, group, static_cast<int>(i), clauses);
    if (machine.cpu) cpu_clauses(group, static_cast<int>(i), escaped(machine.cpu->name), clauses);
    name_subject(first, context.report.machines.size() > 1 ? fmt::format("machine {}", i) : "machine");
  }
  size_t first = clauses.size();
  if (context.gates) gate_clauses(context, group, clauses);
  name_subject(first, "gate");
  if (!judged || clauses.empty()) inventory_clauses(group, clauses);
  if (group.files == 0 && group.verdict == Verdict::served && !context.gates)
    clauses = {"no compiled code in it: nothing depends on the CPU or GPU"};
  if (group.verdict == Verdict::incomplete) clauses.insert(clauses.begin(), "not all of it could be read");
  std::string text = escaped(fmt::format("{}", fmt::join(clauses, "; ")));
  std::string line =
      judged ? fmt::format("{}: {}: {}", group.title, verdict_text(group.verdict), text) : group.title + ": " + text;
  std::string out = wrapped(line, context.width(), "");
  if (!judged) return out;
  std::string word = verdict_text(group.verdict);
  if (size_t at = out.find(": " + word); at != std::string::npos)
    out.replace(at + 2, word.size(), painted(word, verdict_colour(group.verdict), context.style.color));
  return out;
}

std::string not_found_text(const TextContext &context) {
  if (context.nothing_audited()) return "";
  bool no_gpu = std::ranges::any_of(context.report.machines, [](const Machine &m) { return m.judge_gpus && m.gpus.empty(); });
  bool no_cpu = std::ranges::any_of(context.report.machines, [](const Machine &m) { return m.judge_cpu && !m.cpu; });
  std::string out;
  if (no_cpu)
    out += wrapped("NOT JUDGED for any CPU: none was found on this machine. Name one with --cpu, for example --cpu x86-64-v3; "
                   "--cpu none if none is meant.",
                   context.width(), "");
  if (!no_gpu) return out;
  return out +
         wrapped("NOT JUDGED for any GPU: none was found on this machine. Name one with --gpu, for example --gpu gfx942; --gpu "
                 "none if none is meant.",
                 context.width(), "");
}

} // namespace

std::string headlines_text(const TextContext &context) {
  std::vector<Group> groups = make_groups(context);
  std::string out = not_found_text(context);
  auto is_bad = [](const Group &g) {
    return g.verdict == Verdict::partly_served || g.verdict == Verdict::not_served || g.verdict == Verdict::incomplete;
  };
  bool few = groups.size() <= kShowAll || context.style.all || context.style.verbose;
  std::map<Verdict, size_t> hidden;
  size_t shown = 0;
  for (const Group &group : groups) {
    if (few || (is_bad(group) && shown < kShowBad)) {
      out += group_text(context, group);
      ++shown;
    } else {
      ++hidden[group.verdict];
    }
  }
  std::string rest;
  for (const auto &[verdict, count] : hidden)
    rest += fmt::format("{}{} {}", rest.empty() ? "" : ", ", count, verdict_text(verdict));
  if (!rest.empty())
    out += wrapped(fmt::format("{}{} (--all lists them)", shown ? "others: " : "distributions and inputs: ", rest),
                   context.width(), "");
  return out;
}

} // namespace isa_audit
