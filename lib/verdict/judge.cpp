// judge() runs the parts one after the other; each adds findings and counts fates. A verdict is the worse of the two sides,
// GPU and CPU. One side is not served when everything on it failed, partly served when something failed or has holes, and
// open (not judged) when something could not be decided. Holes in the input make a verdict incomplete unless it is bad
// already: what is missing cannot make it better. What the policy allows is no finding, but the verdict tells of it: it is made
// of facts.
#include "isa-audit/verdict/judge.h"

#include <algorithm>

#include "court.h"

namespace isa_audit {

const char *verdict_name(Verdict verdict) {
  switch (verdict) {
  case Verdict::served: return "served";
  case Verdict::partly_served: return "partly-served";
  case Verdict::not_served: return "not-served";
  case Verdict::not_judged: return "not-judged";
  case Verdict::incomplete: return "incomplete";
  }
  return "";
}

Court::Court(const Inventory &inventory, const std::vector<Machine> &machines, const Policy &policy)
    : inventory(inventory), machines(machines), policy(policy), distributions_(inventory.distributions.size()),
      inputs_(inventory.inputs.size()) {
  for (size_t i = 0; i < inventory.distributions.size(); ++i)
    index_.emplace(std::pair(inventory.distributions[i].input, inventory.distributions[i].name), i);
}

bool Court::is_allowed(std::string_view rule) const { return std::ranges::find(policy.allowed, rule) != policy.allowed.end(); }

void Court::add(Finding finding) {
  if (auto at = policy.levels.find(finding.rule); at != policy.levels.end()) finding.level = at->second;
  std::vector<Finding> &where = is_allowed(finding.rule) ? allowed_ : findings_;
  where.push_back(std::move(finding));
}

Court::Tally *Court::tally_of(uint32_t input, const std::string &distribution) {
  if (auto at = index_.find({input, distribution}); at != index_.end()) return &distributions_[at->second];
  return input < inputs_.size() ? &inputs_[input] : nullptr;
}

void Court::count(Side side, Fate fate, uint32_t input, const std::string &distribution) {
  auto add_to = [&](Tally &tally) { ++tally.counts[static_cast<size_t>(side)][static_cast<size_t>(fate)]; };
  add_to(all_);
  if (Tally *tally = tally_of(input, distribution)) add_to(*tally);
}

void Court::rule_on(Side side, Fate fate, Finding finding) {
  bool of_machine = finding.origin.path.empty() && finding.machine >= 0;
  count(side, fate, of_machine ? kNoInput : finding.origin.input, finding.distribution);
  add(std::move(finding));
}

void Court::mark_incomplete(uint32_t input, const std::string &distribution) {
  all_.incomplete = true;
  if (Tally *tally = tally_of(input, distribution)) tally->incomplete = true;
}

void Court::mark_plain(uint32_t input, const std::string &distribution) {
  if (inventory.binaries.empty()) all_.plain = true;
  if (Tally *tally = tally_of(input, distribution)) tally->plain = true;
}

void Court::mark_dead(uint32_t input, const std::string &distribution) {
  Tally *tally = input == kNoInput ? &all_ : tally_of(input, distribution);
  if (tally) tally->dead = true;
}

Verdict Court::Tally::verdict() const {
  bool judged = false, open = false;
  Verdict worst = Verdict::served;
  for (const auto &side : counts) {
    auto [served, undecided, partial, failed] = side;
    judged |= served + undecided + partial + failed > 0;
    open |= undecided > 0;
    if (failed && !served && !partial && !undecided)
      worst = Verdict::not_served;
    else if (failed || partial)
      worst = std::max(worst, Verdict::partly_served);
  }
  if (dead) return Verdict::not_served;
  if (worst != Verdict::served) return worst;
  if (incomplete) return Verdict::incomplete;
  return (judged && !open) || (!judged && plain) ? Verdict::served : Verdict::not_judged;
}

int Court::exit_code() const {
  // An incomplete input is no definite answer; its problems make the exit code 2. A user who sets its level wants 1.
  auto fails = [&](const Finding &f) {
    if (f.rule == "input-incomplete" && !policy.levels.contains(f.rule)) return false;
    return policy.fail_on != FailOn::never && f.level >= (policy.fail_on == FailOn::error ? Level::error : Level::warning);
  };
  if (std::ranges::any_of(findings_, fails)) return 1;
  bool doubts = policy.fail_on == FailOn::warning &&
                std::ranges::any_of(inventory.problems, [](const Problem &p) { return p.level == Level::warning; });
  if (doubts) return 1;
  bool unread = std::ranges::any_of(inventory.problems, [](const Problem &p) { return p.level == Level::error; });
  bool nothing = inventory.binaries.empty() && inventory.distributions.empty() && inventory.side_files.empty();
  return unread || nothing || unanswered_ ? 2 : 0;
}

namespace {

void put_in_order(std::vector<Finding> &findings) {
  std::ranges::sort(findings, [](const Finding &a, const Finding &b) {
    if (a.level != b.level) return a.level > b.level;
    if (a.rule != b.rule) return a.rule < b.rule;
    if (a.origin != b.origin) return a.origin < b.origin;
    if (a.subject != b.subject) return a.subject < b.subject;
    return a < b;
  });
  auto [first, last] = std::ranges::unique(findings);
  findings.erase(first, last);
}

} // namespace

Judgement Court::finish() {
  put_in_order(findings_);
  put_in_order(allowed_);
  Judgement out;
  out.exit_code = exit_code();
  out.findings = std::move(findings_);
  out.allowed = std::move(allowed_);
  out.verdict = all_.verdict();
  // A folder of wheels may hold a distribution several times: they are judged as one.
  for (const Distribution &d : inventory.distributions)
    out.distributions.push_back(distributions_[index_.at({d.input, d.name})].verdict());
  for (const Tally &tally : inputs_) out.inputs.push_back(tally.verdict());
  return out;
}

std::vector<const Gpu *> judged_gpus(const Machine &machine) {
  bool any_visible = std::ranges::any_of(machine.gpus, &Gpu::visible);
  std::vector<const Gpu *> out;
  for (const Gpu &gpu : machine.gpus) {
    bool seen = std::ranges::any_of(out, [&](const Gpu *g) { return g->loader_target() == gpu.loader_target(); });
    if ((gpu.visible || !any_visible) && !seen) out.push_back(&gpu);
  }
  return out;
}

Judgement judge(const Inventory &inventory, const std::vector<Machine> &machines, const Policy &policy) {
  Court court(inventory, machines, policy);
  judge_inputs(court);
  judge_labels(court);
  judge_gpus(court);
  judge_runtimes(court);
  judge_kernels(court);
  judge_external(court);
  judge_sidecars(court);
  judge_vendors(court);
  judge_required(court);
  judge_cpus(court);
  judge_max_cpu(court);
  return court.finish();
}

} // namespace isa_audit
