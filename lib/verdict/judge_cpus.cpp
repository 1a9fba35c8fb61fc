// Host code against a CPU: the machine's (cpu-feature-missing and its kin) or that of --max-cpu (cpu-level-exceeded). One
// finding a file and strength; its subject lists the features, joined by commas.
#include <algorithm>
#include <map>
#include <set>

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

constexpr uint64_t kThroughout = 5; // one function of so many makes a file compiled for a CPU "throughout"

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

std::string advice(const Court &court, const Judged &j, const IsaSet &lacking, bool gate, bool sure) {
  std::string_view version;
  for (const Distribution &d : court.inventory.distributions)
    if (d.input == j.binary.origin.input && d.name == j.binary.distribution) version = d.version;
  return cpu_advice(j.binary.distribution, version, j.cpu, lacking, gate, sure);
}

bool is_open(const Judged &j, Strength strength) { return strength == Strength::unguarded && !j.host.guards_analysed; }

const char *kGuardsUnknown = "; code behind a run-time check is not told apart yet, so this may be guarded";

// Where code that a project meant to keep behind a check often comes from: an initialiser or an inline function of a
// translation unit that was compiled for a better CPU.
std::string leak_remark(const Evidence &e) {
  if (e.strength != Strength::load && e.strength != Strength::import) return {};
  if (e.weak)
    return "; the function is inline code of which the linker kept one copy, perhaps that of a translation unit built for a "
           "better CPU";
  if (e.strength == Strength::load && e.path.size() == 2)
    return "; it is a static initialiser, which runs before any check can";
  return {};
}

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
  if (evidence) finding.message += leak_remark(*evidence);
  finding.fix = advice(court, j, lacking, false, !is_open(j, strength));
  Fate fate = finding.level == Level::error ? Fate::failed : Fate::partial;
  if (is_open(j, strength)) {
    finding.message += kGuardsUnknown;
    fate = Fate::open;
  } else if (strength == Strength::unguarded) {
    finding.message = j.cpu_name + " lacks " + join(lacking.names(), " ") +
                      ": no run-time check was found for this code; without one, running it ends in SIGILL "
                      "(\"Illegal instruction\")";
    finding.fix = "there may be a check that was not recognised; only if it crashes: " + finding.fix;
    fate = Fate::served; // a doubt, not a fact
  }
  court.add(std::move(finding));
  return fate;
}

// The functions of some size that use the one of `features` that most do.
uint64_t users_of(const HostCode &host, const IsaSet &features) {
  uint64_t most = 0;
  for (const auto &[feature, users] : host.function_uses)
    if (features.contains(feature)) most = std::max(most, users);
  return most;
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
  // A file that was compiled for a better CPU throughout and asks nothing has no way around it.
  const uint64_t users = users_of(j.host, lacking);
  const bool throughout = !j.host.asks_cpu && users * kThroughout >= j.host.functions && users > 1;
  finding.level = throughout ? Level::error : Level::warning;
  size_t count = functions.size();
  functions.resize(std::min<size_t>(count, 3));
  finding.message = j.cpu_name + " lacks " + join(lacking.names(), " ") + ": calling " + join(functions, ", ") +
                    (count > 3 ? " or one of " + std::to_string(count - 3) + " more" : "") +
                    " may end in SIGILL (\"Illegal instruction\")";
  if (throughout)
    finding.message += "; " + counted(users, "function") + " of " + std::to_string(j.host.functions) +
                       " in the file use such instructions, and nothing in it asks what the CPU can do";
  finding.fix = advice(court, j, lacking, false, true);
  court.add(std::move(finding));
  return Fate::partial;
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
  finding.fix = advice(court, j, psabi_level(j.host.needed_level) - j.cpu.features, false, true);
  court.add(std::move(finding));
  return Fate::failed;
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
  finding.fix = advice(court, j, lacking, false, true);
  court.rule_on(Side::cpu, Fate::partial, std::move(finding));
}

// Code that this CPU runs because it passes the check, and that it lacks a feature for. For other CPUs it is a fault of the
// file that does them no harm.
void warn_under_checked(Court &court, const Judged &j) {
  for (const UnderChecked &u : j.host.under_checked) {
    IsaSet lacking = u.missing - j.cpu.features;
    bool runs = u.tested.is_subset_of(j.cpu.features) && !lacking.empty();
    Finding finding = cpu_finding("cpu-guard-insufficient", j, Strength::guarded, runs ? lacking : u.missing);
    if (!runs) finding.level = Level::note;
    finding.holds = join(u.missing.names(), " ") + " behind a check of " + join(u.tested.names(), " ");
    finding.message = "the check" + (u.guard ? " at 0x" + llvm::utohexstr(u.guard, true) : std::string()) + " tests " +
                      join(u.tested.names(), " ") + ", but the code behind it also uses " + join(u.missing.names(), " ") +
                      " (" + u.instruction + " at 0x" + llvm::utohexstr(u.address, true) +
                      (u.symbol.empty() ? "" : " in " + kernel_name(u.symbol)) + ")" +
                      (runs ? ": " + j.cpu_name + " passes the check and then ends in SIGILL (\"Illegal instruction\")" : "");
    finding.fix = runs ? advice(court, j, lacking, false, true)
                       : "report it to the project; a virtual machine that hides " + u.missing.names().front() + " would crash";
    if (runs)
      court.rule_on(Side::cpu, Fate::partial, std::move(finding));
    else
      court.add(std::move(finding));
  }
}

Fate judge_host(Court &court, const Judged &j) {
  Fate fate = judge_declared(court, j);
  fate = std::max(fate, judge_strength(court, j, Strength::load, j.host.at_load));
  fate = std::max(fate, judge_strength(court, j, Strength::import, j.host.at_import));
  fate = std::max(fate, judge_calls(court, j));
  fate = std::max(fate, judge_strength(court, j, Strength::unguarded, j.host.unguarded));
  court.count(Side::cpu, fate, j.binary.origin.input, j.binary.distribution);
  note_guarded(court, j);
  warn_under_checked(court, j);
  warn_different(court, j);
  return fate;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// What Python imports, by its name (PEP 3149) or by a root that was found in it.
bool is_module(const Binary &binary) {
  std::string_view name = file_name(binary.origin.path);
  if (name.find(".cpython-") != std::string_view::npos || name.ends_with(".abi3.so")) return true;
  return !binary.host->at_call.empty() || std::ranges::any_of(binary.host->evidence, [](const Evidence &e) {
    return !e.path.empty() && e.path.front().starts_with("PyInit_");
  });
}

// Adds to `failed` (indices of binaries) what needs one of them, directly or not, within an input.
void add_dependents(const Inventory &inventory, std::set<size_t> &failed) {
  std::set<std::pair<uint32_t, std::string_view>> names;
  for (size_t i : failed) names.emplace(inventory.binaries[i].origin.input, file_name(inventory.binaries[i].origin.path));
  for (bool more = !failed.empty(); more;) {
    more = false;
    for (size_t i = 0; i < inventory.binaries.size(); ++i) {
      const Binary &binary = inventory.binaries[i];
      auto is_lost = [&](const std::string &needed) { return names.contains({binary.origin.input, needed}); };
      if (failed.contains(i) || std::ranges::none_of(binary.needed, is_lost)) continue;
      failed.insert(i);
      names.emplace(binary.origin.input, file_name(binary.origin.path));
      more = true;
    }
  }
}

// A distribution of which every module fails is not served, whatever libraries it brings along.
void mark_dead(Court &court, std::set<size_t> failed) {
  const Inventory &inventory = court.inventory;
  if (failed.empty()) return;
  add_dependents(inventory, failed);
  std::map<std::pair<uint32_t, std::string>, bool> dead;
  for (size_t i = 0; i < inventory.binaries.size(); ++i) {
    const Binary &binary = inventory.binaries[i];
    if (!binary.host || !is_module(binary)) continue;
    auto at = dead.try_emplace({binary.origin.input, binary.distribution}, true).first;
    at->second = at->second && failed.contains(i);
  }
  for (const auto &[key, is_dead] : dead)
    if (is_dead) court.mark_dead(key.first, key.second);
  auto is_dead = [](const auto &entry) { return entry.second; };
  if (!dead.empty() && std::ranges::all_of(dead, is_dead)) court.mark_dead(Court::kNoInput, "");
}

Fate judge_excess(Court &court, const Judged &j, Strength strength, const IsaSet &needed) {
  IsaSet lacking = needed - j.cpu.features;
  if (lacking.empty()) return Fate::served;
  Finding finding = cpu_finding("cpu-level-exceeded", j, strength, lacking);
  finding.message = "uses " + join(lacking.names(), " ") + " beyond " + j.cpu_name;
  if (is_open(j, strength))
    finding.message += kGuardsUnknown;
  else if (strength == Strength::unguarded)
    finding.message += "; no run-time check was found for this code, though there may be one that was not recognised";
  finding.fix = advice(court, j, lacking, true, true);
  court.add(std::move(finding));
  return Fate::failed;
}

} // namespace

void judge_cpus(Court &court) {
  for (size_t i = 0; i < court.machines.size(); ++i) {
    const std::optional<Cpu> &cpu = court.machines[i].cpu;
    // A CPU that was asked for and not found decides nothing.
    if (court.machines[i].judge_cpu && !cpu)
      for (const Binary &binary : court.inventory.binaries)
        if (binary.host) court.count(Side::cpu, Fate::open, binary.origin.input, binary.distribution);
    if (!cpu) continue;
    std::set<size_t> failed;
    for (size_t k = 0; k < court.inventory.binaries.size(); ++k) {
      const Binary &binary = court.inventory.binaries[k];
      if (!binary.host) continue;
      Judged j{binary, *binary.host, static_cast<int>(i), *cpu, cpu->name.empty() ? "the CPU" : cpu->name};
      if (judge_host(court, j) == Fate::failed) failed.insert(k);
    }
    mark_dead(court, std::move(failed));
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
