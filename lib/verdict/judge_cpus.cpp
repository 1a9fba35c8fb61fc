// Host code against a CPU: the machine's (cpu-feature-missing and its kin) or that of --max-cpu (cpu-level-exceeded). One
// finding a file and strength; its subject lists the features, joined by commas.
#include <algorithm>

#include "advice.h"
#include "court.h"
#include "kernel_name.h"
#include "llvm/ADT/StringExtras.h"

namespace isa_audit {
namespace {

std::string join(const std::vector<std::string> &names, const char *separator) {
  std::string out;
  for (const std::string &name : names) out += (out.empty() ? "" : separator) + name;
  return out;
}

// The first evidence for one of `features` at this strength, the surest first.
const Evidence *evidence_for(const HostCode &host, const IsaSet &features, Strength strength) {
  const Evidence *best = nullptr;
  for (const Evidence &e : host.evidence)
    if (e.strength == strength && features.contains(e.feature) && (!best || e.grade < best->grade)) best = &e;
  return best;
}

// "avx avx2 in dot_f32" for tables.
std::string where(const IsaSet &features, const Evidence *evidence) {
  std::vector<std::string> names = features.names();
  std::string out;
  for (size_t i = 0; i < names.size() && i < 4; ++i) out += (i ? " " : "") + names[i];
  if (names.size() > 4) out += " +" + std::to_string(names.size() - 4);
  if (!evidence) return out;
  if (evidence->symbol.empty()) return out + " at 0x" + llvm::utohexstr(evidence->address, true);
  return out + " in " + kernel_name(evidence->symbol); // C++ names can be longer than any line
}

const char *when(Strength strength) {
  switch (strength) {
  case Strength::load: return "loading the file";
  case Strength::import: return "importing the module";
  case Strength::call: return "a call";
  default: return "running that code";
  }
}

struct Judged {
  const Binary &binary;
  const HostCode &host;
  int machine;
  const Cpu &cpu;
  std::string cpu_name;
};

Finding cpu_finding(std::string_view rule, const Judged &j, Strength strength, const IsaSet &lacking) {
  Finding finding = make_finding(rule, j.binary.origin, j.binary.distribution);
  finding.machine = j.machine;
  finding.strength = strength_name(strength);
  finding.subject = join(lacking.names(), ",");
  const Evidence *evidence = evidence_for(j.host, lacking, strength);
  finding.holds = where(lacking, evidence);
  return finding;
}

bool is_open(const Judged &j, Strength strength) { return strength == Strength::unguarded && !j.host.guards_analysed; }

const char *kGuardsUnknown = "; code behind a run-time check is not told apart yet, so this may be guarded";

// How the file fares if it lacks features at this strength.
Fate judge_strength(Court &court, const Judged &j, Strength strength, const IsaSet &needed) {
  IsaSet lacking = needed - j.cpu.features;
  if (lacking.empty()) return Fate::served;
  Finding finding = cpu_finding("cpu-feature-missing", j, strength, lacking);
  const Evidence *evidence = evidence_for(j.host, lacking, strength);
  bool sure = evidence && evidence->grade != Grade::possible;
  bool at_start = strength == Strength::load || strength == Strength::import;
  finding.level = at_start && sure ? Level::error : Level::warning;
  finding.message = j.cpu_name + " lacks " + join(lacking.names(), " ") + ": " + when(strength) + " " +
                    (finding.level == Level::error ? "ends" : "may end") + " in SIGILL (\"Illegal instruction\")";
  if (is_open(j, strength)) finding.message += kGuardsUnknown;
  finding.fix = cpu_advice(j.binary.distribution, &j.cpu, !is_open(j, strength));
  Fate fate = finding.level == Level::error ? Fate::failed : is_open(j, strength) ? Fate::open : Fate::partial;
  return court.add(std::move(finding)) ? fate : Fate::served;
}

Fate judge_calls(Court &court, const Judged &j) {
  IsaSet lacking;
  std::vector<std::string> functions;
  for (const auto &[function, needed] : j.host.at_call) {
    if ((needed - j.cpu.features).empty()) continue;
    lacking |= needed - j.cpu.features;
    functions.push_back(function);
  }
  if (lacking.empty()) return Fate::served;
  Finding finding = cpu_finding("cpu-feature-missing", j, Strength::call, lacking);
  finding.level = Level::warning;
  size_t count = functions.size();
  functions.resize(std::min<size_t>(count, 3));
  finding.message = j.cpu_name + " lacks " + join(lacking.names(), " ") + ": calling " + join(functions, ", ") +
                    (count > 3 ? " or one of " + std::to_string(count - 3) + " more" : "") +
                    " may end in SIGILL (\"Illegal instruction\")";
  finding.fix = cpu_advice(j.binary.distribution, &j.cpu, true);
  return court.add(std::move(finding)) ? Fate::partial : Fate::served;
}

// glibc 2.33 and newer refuses a file whose note asks for more than the CPU's level, whatever its code does.
Fate judge_declared(Court &court, const Judged &j) {
  if (j.host.needed_level <= std::max(1, highest_level(j.cpu.features))) return Fate::served;
  Finding finding = make_finding("cpu-feature-missing", j.binary.origin, j.binary.distribution);
  finding.machine = j.machine;
  finding.strength = strength_name(Strength::load);
  finding.subject = "x86-64-v" + std::to_string(j.host.needed_level);
  finding.holds = "a note that it needs " + finding.subject;
  finding.message = j.cpu_name + " is below " + finding.subject +
                    ": glibc 2.33 and newer refuses to load the file (\"CPU ISA level "
                    "is lower than required\")";
  finding.fix = cpu_advice(j.binary.distribution, &j.cpu, true);
  return court.add(std::move(finding)) ? Fate::failed : Fate::served;
}

void note_guarded(Court &court, const Judged &j) {
  IsaSet lacking = j.host.guarded - j.cpu.features;
  if (lacking.empty()) return;
  Finding finding = cpu_finding("cpu-feature-guarded", j, Strength::guarded, lacking);
  finding.message = j.cpu_name + " lacks " + join(lacking.names(), " ") + ", but a run-time check protects the code";
  court.add(std::move(finding));
}

void warn_different(Court &court, const Judged &j) {
  IsaSet lacking = j.host.silently_different - j.cpu.features;
  if (lacking.empty()) return;
  Finding finding = cpu_finding("cpu-silently-different", j, Strength::unguarded, lacking);
  finding.message = j.cpu_name + " lacks " + join(lacking.names(), " ") +
                    ": the instructions run as others and give other "
                    "results, without any error";
  finding.fix = cpu_advice(j.binary.distribution, &j.cpu, true);
  court.rule_on(Side::cpu, Fate::partial, std::move(finding));
}

void judge_host(Court &court, const Judged &j) {
  Fate fate = judge_declared(court, j);
  fate = std::max(fate, judge_strength(court, j, Strength::load, j.host.at_load));
  fate = std::max(fate, judge_strength(court, j, Strength::import, j.host.at_import));
  fate = std::max(fate, judge_calls(court, j));
  fate = std::max(fate, judge_strength(court, j, Strength::unguarded, j.host.unguarded));
  court.count(Side::cpu, fate, j.binary.origin.input, j.binary.distribution);
  note_guarded(court, j);
  warn_different(court, j);
}

Fate judge_excess(Court &court, const Judged &j, Strength strength, const IsaSet &needed) {
  IsaSet lacking = needed - j.cpu.features;
  if (lacking.empty()) return Fate::served;
  Finding finding = cpu_finding("cpu-level-exceeded", j, strength, lacking);
  finding.message = "uses " + join(lacking.names(), " ") + " beyond " + j.cpu_name;
  if (is_open(j, strength)) finding.message += kGuardsUnknown;
  finding.fix = cpu_advice(j.binary.distribution, nullptr, true);
  return court.add(std::move(finding)) ? Fate::failed : Fate::served;
}

} // namespace

void judge_cpus(Court &court) {
  for (size_t i = 0; i < court.machines.size(); ++i) {
    const std::optional<Cpu> &cpu = court.machines[i].cpu;
    if (!cpu) continue;
    for (const Binary &binary : court.inventory.binaries)
      if (binary.host)
        judge_host(court, {binary, *binary.host, static_cast<int>(i), *cpu, cpu->name.empty() ? "the CPU" : cpu->name});
  }
}

void judge_max_cpu(Court &court) {
  const std::optional<Cpu> &cpu = court.policy.max_cpu;
  if (!cpu) return;
  for (const Binary &binary : court.inventory.binaries) {
    if (!binary.host) continue;
    Judged j{binary, *binary.host, -1, *cpu, cpu->name.empty() ? "--max-cpu" : cpu->name};
    IsaSet calls;
    for (const auto &[function, needed] : j.host.at_call) calls |= needed;
    Fate fate = judge_excess(court, j, Strength::load, j.host.at_load);
    fate = std::max(fate, judge_excess(court, j, Strength::import, j.host.at_import));
    fate = std::max(fate, judge_excess(court, j, Strength::call, calls));
    fate = std::max(fate, judge_excess(court, j, Strength::unguarded, j.host.unguarded));
    court.count(Side::cpu, fate, binary.origin.input, binary.distribution);
  }
}

} // namespace isa_audit
