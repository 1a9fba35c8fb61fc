#include "isa-audit/host/analyse.h"

#include <memory>
#include <numeric>

#include "detectors.h"
#include "notes.h"
#include "report.h"
#include "variants.h"
#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit {

namespace {

using namespace host;

struct File {
  std::unique_ptr<Image> image;
  std::unique_ptr<Program> program;
};

std::string_view file_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

void describe(const File &file, HostCode &host) {
  const IsaNotes notes = read_isa_notes(file.image->elf());
  host.needed_level = notes.needed;
  host.used_level = notes.used;
  if (notes.needed) host.declared_needed = psabi_level(notes.needed);
  if (notes.used) host.declared_used = psabi_level(notes.used);
  for (const CodeRange &r : file.image->code()) host.code_bytes += r.end - r.start;
  for (const Function &f : file.program->functions()) host.decoded_bytes += f.decoded;
}

// Where a bound on the work cut the analysis, and what that may have done to the result.
void tell_cuts(const Guards &guards, const Reach &reach, size_t file, std::vector<std::string> &problems) {
  if (guards.skipped(file))
    problems.push_back(
        "too many functions depend on what the CPU can do: some were not looked at, so code that a run-time check "
        "protects may be told as unguarded");
  if (reach.roots(file).cut)
    problems.push_back(
        "too many functions follow from PyInit: module definitions that further ones return were not looked for, "
        "so code that runs at import may be told as unguarded");
}

} // namespace

std::vector<HostCode> analyse_host_set(std::span<const HostInput> inputs, const ParallelFor &parallel,
                                       std::vector<std::vector<std::string>> *problems) {
  if (problems) problems->assign(inputs.size(), {});
  // By path, so that the result does not depend on the order of the inputs.
  std::vector<size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const int by_path = inputs[a].path.compare(inputs[b].path);
    return by_path != 0 ? by_path < 0 : a < b;
  });

  std::vector<File> files(order.size());
  parallel(order.size(), [&](size_t at) { // most files are small: one job each; large ones have jobs of their own
    files[at].image = std::make_unique<Image>(*inputs[order[at]].elf);
    files[at].program = std::make_unique<Program>(*files[at].image, parallel, find_cpuinfo_names(*files[at].image));
  });
  std::vector<GraphFile> graph_files;
  std::vector<std::string> paths;
  for (size_t at = 0; at < order.size(); ++at) {
    graph_files.push_back({files[at].program.get(), file_name(inputs[order[at]].path)});
    paths.push_back(inputs[order[at]].path);
  }
  const std::vector<std::string> variants = find_variants(paths);

  Graph graph(std::move(graph_files), parallel);
  Guards guards(graph);
  guards.run();
  Reach reach(graph, guards);
  Reporter reporter(graph, guards, reach);
  std::vector<HostCode> result(inputs.size());
  for (size_t at = 0; at < order.size(); ++at) {
    HostCode &host = result[order[at]];
    describe(files[at], host);
    reporter.report(at, variants[at], host);
    if (problems) tell_cuts(guards, reach, at, (*problems)[order[at]]);
  }
  return result;
}

HostCode list_host(const Elf &elf, const ParallelFor &parallel) {
  File file;
  file.image = std::make_unique<Image>(elf);
  file.program = std::make_unique<Program>(*file.image, parallel);
  HostCode host;
  describe(file, host);
  for (const Function &f : file.program->functions()) host.used |= faulting(f.classes) | silent(f.classes);
  return host;
}

HostCode analyse_host(const Elf &elf, const ParallelFor &parallel, std::vector<std::string> &problems) {
  const HostInput input{&elf, ""};
  std::vector<std::vector<std::string>> lists;
  HostCode host = std::move(analyse_host_set({&input, 1}, parallel, &lists).front());
  problems.insert(problems.end(), lists.front().begin(), lists.front().end());
  return host;
}

} // namespace isa_audit
