// RECORD: comma-separated values (RFC 4180) of path, hash and size; only the path is read here. A quote that is not closed
// in its row swallows the beginning of the next: reading goes on with the line after the one where the bad row starts.

#include "isa-audit/source/site_packages.h"

namespace isa_audit {
namespace {

constexpr size_t kToldRows = 10; // so that a file that is no RECORD is told in a few lines

struct Row {
  std::string path;
  const char *fault = nullptr; // why the row is no CSV
};

// Reads the row at `at` and moves `at` behind its line end.
Row read_row(std::string_view text, size_t &at) {
  Row row;
  const size_t start = at;
  const auto line_end = [&] {
    size_t end = text.find_first_of("\r\n", at);
    if (end == std::string_view::npos) end = text.size();
    return end;
  };
  const auto next_line = [&](size_t end) {
    at = end + (text.substr(end).starts_with("\r\n") ? 2 : 1);
    if (at > text.size()) at = text.size();
  };
  if (text[at] != '"') {
    const size_t end = line_end();
    row.path = text.substr(at, std::min(text.find(',', at), end) - at);
    next_line(end);
  } else {
    ++at;
    while (true) {
      const size_t quote = text.find('"', at);
      if (quote == std::string_view::npos) {
        row.fault = "a quote is not closed";
        break;
      }
      row.path += text.substr(at, quote - at);
      at = quote + 1;
      if (at >= text.size() || text[at] != '"') break;
      row.path += '"';
      ++at;
    }
    if (!row.fault && at < text.size() && text[at] != ',' && text[at] != '\r' && text[at] != '\n')
      row.fault = "something follows a closing quote";
    if (row.fault) at = start;
    next_line(line_end());
  }
  if (row.path.find('\0') != std::string::npos) row.fault = "a path holds a zero byte";
  return row;
}

} // namespace

std::vector<std::string> parse_record(std::string_view text, std::vector<std::string> &problems) {
  std::vector<std::string> paths;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  size_t number = 0, faults = 0;
  for (size_t at = 0; at < text.size();) {
    ++number;
    Row row = read_row(text, at);
    if (row.fault) {
      if (++faults <= kToldRows) problems.push_back("row " + std::to_string(number) + " is no CSV: " + row.fault);
    } else if (!row.path.empty()) {
      paths.push_back(std::move(row.path));
    }
  }
  if (faults > kToldRows) problems.push_back(std::to_string(faults - kToldRows) + " more rows are no CSV");
  return paths;
}

} // namespace isa_audit
