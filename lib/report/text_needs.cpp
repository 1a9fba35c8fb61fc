// What each distribution asks of a CPU, one line each, and under --all what each file asks of CPU and GPU.
#include <algorithm>

#include <fmt/format.h>

#include "isa-audit/verdict/cpu_needs.h"
#include "isa-audit/verdict/target_order.h"
#include "text_parts.h"

namespace isa_audit {
namespace {

constexpr size_t kRows = 20;
constexpr size_t kExtras = 3;  // features named beside a level
constexpr size_t kTargets = 8; // of a file, on a terminal

std::string title(const TextContext &context, uint32_t input, const std::string &name) {
  for (const Distribution &d : context.inventory.distributions)
    if (d.input == input && d.name == name) return escaped(d.name + " " + d.version);
  return name.empty() ? context.input(input) : escaped(name);
}

bool any_cpu_finding(const TextContext &context) {
  return std::ranges::any_of(context.report.judgement.findings,
                             [](const Finding &f) { return f.rule.starts_with("cpu-") && f.level > Level::note; });
}

struct NeedsCells {
  std::string import = "-", all = "-", best = "-";

  NeedsCells() = default;
  explicit NeedsCells(const CpuNeeds &needs)
      : import(needs.guards_known ? short_isa_text(needs.import) : "?"),
        all(short_isa_text(needs.all) + (needs.guards_known ? "" : "?")), best(short_isa_text(needs.all | needs.exploits)) {}

  std::string sentence() const { return fmt::format("to import {}; to run all {}; can use {}", import, all, best); }
};

NeedsCells file_needs(const Binary &binary) {
  if (!binary.host) return {};
  const HostCode *host = &*binary.host;
  return NeedsCells(cpu_needs(std::span(&host, 1)));
}

std::vector<std::string> file_targets(const Binary &binary) {
  std::vector<std::string> out;
  if (!binary.device) return out;
  auto add = [&](const CodeObject &object) { out.push_back(object.target.text()); };
  for_each_object(*binary.device, add);
  for (const DeviceImage &image : binary.device->nvidia) std::ranges::for_each(image.code_objects, add);
  std::ranges::sort(out, TargetOrder());
  auto [first, last] = std::ranges::unique(out);
  out.erase(first, last);
  if (binary.device->external) out.emplace_back("(kpack)");
  return out;
}

} // namespace

std::string short_isa_text(const IsaSet &features) {
  std::string text = describe_isa(features), out;
  size_t extras = 0, at = 0;
  for (size_t next = 0; at < text.size(); at = next) {
    next = std::min(text.find('+', at + 1), text.size());
    if (at == 0 || ++extras <= kExtras) out += text.substr(at, next - at);
  }
  return extras > kExtras ? fmt::format("{} and {} more", out, extras - kExtras) : out;
}

std::string needs_text(const TextContext &context) {
  if (!context.style.verbose && !context.style.all && !any_cpu_finding(context)) return "";
  Table table({{"CPU NEEDED", Column::Align::left, Column::Cut::path, 16}, {"TO IMPORT"}, {"TO RUN ALL"}, {"CAN USE"}});
  std::string blocks;
  auto all = cpu_needs(context.inventory);
  for (const auto &[key, needs] : all) {
    if (!context.style.all && table.rows() == kRows) break;
    NeedsCells cells(needs);
    std::string name = title(context, key.first, key.second);
    blocks += wrapped(fmt::format("{}: CPU needed {}", name, cells.sentence()), context.width(), "", 2);
    table.add({std::move(name), cells.import, cells.all, cells.best});
  }
  if (all.empty()) return "";
  std::string out = table.fits(context.width()) ? table.text(context.width(), context.style.color) : blocks;
  return table.rows() < all.size() ? out + more_text(all.size() - table.rows(), "") : out;
}

std::string files_text(const TextContext &context) {
  using enum Column::Cut;
  Table table({{"FILE", Column::Align::left, path, 20}, {"GPU TARGETS"}, {"CPU TO IMPORT"}, {"TO RUN ALL"}, {"CAN USE"}});
  for (const Binary &binary : context.inventory.binaries) {
    NeedsCells needs = file_needs(binary);
    std::vector<std::string> targets = file_targets(binary);
    table.add({context.path(binary.origin), targets.empty() ? "-" : escaped(join_targets(targets)), needs.import, needs.all,
               needs.best});
  }
  if (!table.rows() || table.fits(context.width())) return table.rows() ? table.text(context.width(), context.style.color) : "";
  // Too wide for the terminal: a block for each file.
  std::string out;
  for (const Binary &binary : context.inventory.binaries) {
    out += context.path(binary.origin) + "\n";
    std::vector<std::string> targets = file_targets(binary);
    if (!targets.empty()) out += wrapped(escaped(join_targets(targets, kTargets)), context.width(), "  gpu  ");
    if (!binary.host) continue;
    out += wrapped(file_needs(binary).sentence(), context.width(), "  cpu  ");
  }
  return out;
}

} // namespace isa_audit
