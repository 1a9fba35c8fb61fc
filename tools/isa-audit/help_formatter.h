// Help at 80 columns.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace isa_audit {

// `text` broken at spaces so that no line is longer than `width`; lines after the first start with `indent` spaces.
std::string wrapped(const std::string &text, size_t width, size_t indent);

class HelpFormatter : public CLI::Formatter {
public:
  std::string make_option(const CLI::Option *option, bool is_positional) const override;
  std::string make_help(const CLI::App *app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_subcommand(const CLI::App *command) const override;
  std::string make_usage(const CLI::App *app, std::string name) const override;
};

} // namespace isa_audit
