#include "table.h"

#include <algorithm>

#include "escape.h"

namespace isa_audit {
namespace {

constexpr std::string_view kGap = "  ";

// The bytes of the first `count` code points.
size_t prefix_bytes(std::string_view text, size_t count) {
  size_t at = 0;
  while (at < text.size() && count > 0) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
    --count;
  }
  return at;
}

std::string cut_to(const std::string &cell, size_t width, Column::Cut cut) {
  size_t size = columns(cell);
  if (size <= width) return cell;
  if (cut != Column::Cut::path) return cell.substr(0, prefix_bytes(cell, width - 1)) + "…";
  size_t at = 0; // of the last separator
  for (size_t next = 0; (next = cell.find_first_of("/!", next)) != std::string::npos; ++next) {
    if (columns(std::string_view(cell).substr(next)) + 1 <= width) return "…" + cell.substr(next);
    at = next + 1;
  }
  std::string name = cell.substr(at);
  return columns(name) <= width ? name : name.substr(0, prefix_bytes(name, width - 1)) + "…";
}

} // namespace

std::string painted(std::string_view text, Colour colour, bool on) {
  const char *code = "";
  switch (colour) {
  case Colour::none: break;
  case Colour::red: code = "\x1b[1;31m"; break;
  case Colour::yellow: code = "\x1b[33m"; break;
  case Colour::green: code = "\x1b[32m"; break;
  case Colour::cyan: code = "\x1b[36m"; break;
  case Colour::bold: code = "\x1b[1m"; break;
  }
  if (!on || colour == Colour::none) return std::string(text);
  return code + std::string(text) + "\x1b[0m";
}

void Table::add(std::vector<std::string> cells, Colour colour) { rows_.push_back({std::move(cells), colour}); }

bool Table::fits(size_t width) const {
  if (width == 0) return true;
  size_t sum = kGap.size() * (columns_.size() - 1);
  for (size_t w : widths(0)) sum += w;
  return sum <= width;
}

// The natural widths; while a row of them does not fit, the widest column that may shrink is cut.
std::vector<size_t> Table::widths(size_t width) const {
  std::vector<size_t> out;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t widest = columns(columns_[i].header);
    for (const Row &row : rows_) widest = std::max(widest, columns(row.cells[i]));
    out.push_back(widest);
  }
  if (width == 0) return out;
  auto total = [&] {
    size_t sum = kGap.size() * (out.size() - 1);
    for (size_t w : out) sum += w;
    return sum;
  };
  while (total() > width) {
    size_t widest = out.size();
    for (size_t i = 0; i < out.size(); ++i)
      if (columns_[i].cut != Column::Cut::never && out[i] > columns_[i].least && (widest == out.size() || out[i] > out[widest]))
        widest = i;
    if (widest == out.size()) break;
    --out[widest];
  }
  return out;
}

std::string Table::format(const std::vector<std::string> &cells, const std::vector<size_t> &widths, Colour first,
                          bool color) const {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string cell = cut_to(cells[i], widths[i], columns_[i].cut);
    std::string pad(widths[i] - std::min(widths[i], columns(cell)), ' ');
    if (i) out += kGap;
    if (columns_[i].align == Column::Align::right) out += pad;
    out += i == 0 ? painted(cell, first, color) : cell;
    if (columns_[i].align == Column::Align::left) out += pad;
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string Table::header(size_t width, bool color) const {
  std::vector<std::string> cells;
  bool any = false;
  for (const Column &column : columns_) {
    cells.push_back(column.header);
    any |= !column.header.empty();
  }
  if (!any) return "";
  std::string line = format(cells, widths(width), Colour::none, false);
  line.pop_back();
  return painted(line, Colour::bold, color) + "\n";
}

std::vector<std::string> Table::lines(size_t width, bool color) const {
  std::vector<size_t> fitted = widths(width);
  std::vector<std::string> out;
  out.reserve(rows_.size());
  for (const Row &row : rows_) out.push_back(format(row.cells, fitted, row.colour, color));
  return out;
}

std::string Table::text(size_t width, bool color) const {
  std::string out = header(width, color);
  for (const std::string &line : lines(width, color)) out += line;
  return out;
}

std::string wrapped(std::string_view text, size_t width, std::string_view lead) {
  return wrapped(text, width, lead, columns(lead));
}

std::string wrapped(std::string_view text, size_t width, std::string_view lead, size_t indent) {
  std::string out(lead);
  size_t used = columns(lead);
  bool fresh = true; // nothing but the lead or the indent on the line
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    size_t size = columns(word);
    if (width && !fresh && used + 1 + size > width) {
      out += '\n';
      out.append(indent, ' ');
      used = indent;
      fresh = true;
    }
    if (!fresh) {
      out += ' ';
      ++used;
    }
    out += word;
    used += size;
    fresh = false;
  }
  return out + "\n";
}

} // namespace isa_audit
