#include "help_formatter.h"

#include <algorithm>

namespace isa_audit {

namespace {

constexpr size_t kWidth = 80, kColumn = 26;

// "  -j, --jobs N             Threads …", the description wrapped in its own column.
std::string row(std::string left, const std::string &description) {
  left = "  " + left;
  std::string text = wrapped(description, kWidth - kColumn, kColumn);
  if (left.size() + 2 > kColumn) return left + "\n" + std::string(kColumn, ' ') + text + "\n";
  return left + std::string(kColumn - left.size(), ' ') + text + "\n";
}

} // namespace

std::string wrapped(const std::string &text, size_t width, size_t indent) {
  std::string out;
  size_t column = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(' ', at), text.size());
    if (column && column + 1 + (end - at) > width) {
      out += "\n" + std::string(indent, ' ');
      column = 0;
    } else if (column) {
      out += ' ';
      ++column;
    }
    out.append(text, at, end - at);
    column += end - at;
    at = end + 1;
  }
  return out;
}

std::string HelpFormatter::make_option(const CLI::Option *option, bool is_positional) const {
  std::string left = option->get_name(is_positional, true);
  std::ranges::replace(left, ',', ' ');
  if (size_t gap = left.find(' '); gap != std::string::npos) left.replace(gap, 1, ", ");
  if (!is_positional && option->get_type_size() != 0 && !option->get_type_name().empty()) {
    std::string type = option->get_type_name();
    left += " " + type.substr(0, type.find(':'));
  }
  return row(left, option->get_description());
}

// One blank line between groups, where CLI11 puts two.
std::string HelpFormatter::make_help(const CLI::App *app, std::string name, CLI::AppFormatMode mode) const {
  std::string out = CLI::Formatter::make_help(app, std::move(name), mode);
  for (size_t at = out.find("\n\n\n"); at != std::string::npos; at = out.find("\n\n\n", at)) out.erase(at, 1);
  return out;
}

std::string HelpFormatter::make_subcommand(const CLI::App *command) const {
  return row(command->get_name(), command->get_description());
}

std::string HelpFormatter::make_usage(const CLI::App *app, std::string name) const {
  if (app->get_parent())
    return "Usage: isa-audit " + app->get_name() + " [OPTIONS]" +
           (app->get_name() == "rules"     ? " [RULE]"
            : app->get_name() == "extract" ? " PATH..."
                                           : "") +
           "\n";
  return "\nUsage: " + name + " [OPTIONS] PATH...\n       " + name + " [OPTIONS] --dist NAME\n       " + name + " COMMAND\n";
}

} // namespace isa_audit
