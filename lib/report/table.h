// Tables without borders: left-aligned columns two blanks apart, numbers right-aligned, nothing behind the last cell. A pipe
// gets every cell whole; on a terminal columns that may shrink are cut so that a row fits a line. Also prose, wrapped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isa_audit {

enum class Colour : uint8_t { none, red, yellow, green, cyan, bold };

// `text` between SGR sequences if `on`.
std::string painted(std::string_view text, Colour colour, bool on);

struct Column {
  std::string header;
  enum class Align : uint8_t { left, right } align = Align::left;
  // How a cell is cut when the row is too wide: not at all, at its end, or as a path (folders first, then the file name's end).
  enum class Cut : uint8_t { never, end, path } cut = Cut::never;
  size_t least = 12; // columns left when cut
};

class Table {
public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Cells are escaped text; as many as there are columns. `colour` is of the first cell.
  void add(std::vector<std::string> cells, Colour colour = Colour::none);
  size_t rows() const { return rows_.size(); }

  bool fits(size_t width) const; // without any cell cut; always for width 0

  // Lines end in '\n'. `width` 0: no limit. The header is "" when no column has one.
  std::string header(size_t width, bool color) const;
  std::vector<std::string> lines(size_t width, bool color) const;
  std::string text(size_t width, bool color) const; // all of it

private:
  std::vector<size_t> widths(size_t width) const;
  std::string format(const std::vector<std::string> &cells, const std::vector<size_t> &widths, Colour first, bool color) const;

  struct Row {
    std::vector<std::string> cells;
    Colour colour;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// `text` in lines of at most `width` columns (0: one line), the first led by `lead`, the others by `indent` blanks.
std::string wrapped(std::string_view text, size_t width, std::string_view lead, size_t indent);
std::string wrapped(std::string_view text, size_t width, std::string_view lead = ""); // indented as far as the lead

} // namespace isa_audit
