// ar archives (ar(5)): "!<arch>\n", then for each member 60 bytes of text (name 16, time 12, owner 6, group 6, mode 8, size 10,
// "`\n") and its bytes, padded to an even offset. GNU ends a short name with '/' and keeps long ones in a member "//", where
// "/123" is an offset and "/\n" the end of a name; BSD writes "#1/20" and puts 20 bytes of name in front of the content, which
// the size includes. Symbol tables ("/", "/SYM64/", "__.SYMDEF…") are no members. Object files with relocatable device code
// (-fgpu-rdc) are shipped this way. Nothing is compressed: members are slices of the file.
#include "ar.h"

#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "zip.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

constexpr std::string_view kMagic = "!<arch>\n";
constexpr uint64_t kHeader = 60;

std::optional<uint64_t> decimal(std::string_view field) {
  field = field.substr(0, field.find(' '));
  uint64_t value = 0;
  auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size() && !field.empty() ? std::optional(value) : std::nullopt;
}

Member make_member(const Bytes &content, Origin origin) {
  Member member;
  member.origin = std::move(origin);
  member.size = content.size();
  member.encoding = "stored";
  member.raw = [content]() -> llvm::Expected<Bytes> { return content; };
  member.head = [content](uint64_t limit) -> llvm::Expected<Bytes> { return content.prefix(limit); };
  member.open = [content]() -> llvm::Expected<Bytes> { return content; };
  return member;
}

class ArReader {
public:
  ArReader(const Bytes &file, uint32_t input, const std::string &prefix, const Feed &feed)
      : file_(file), input_(input), prefix_(prefix), feed_(feed) {}

  void read() {
    if (!file_.text().starts_with(kMagic)) return tell("no ar archive");
    uint64_t at = kMagic.size();
    while (at < file_.size()) {
      if (!file_.contains(at, kHeader)) return tell(llvm::formatv("archive cut off at {0:x}, inside a header", at).str());
      std::string_view header = file_.text().substr(at, kHeader);
      std::optional<uint64_t> size = decimal(header.substr(48, 10));
      if (!size || header.substr(58) != "`\n")
        return tell(llvm::formatv("damaged member header at {0:x}; what follows cannot be read", at).str());
      at += kHeader;
      if (!file_.contains(at, *size))
        return tell(llvm::formatv("archive cut off at {0:x}: a member of {1} bytes", at, *size).str());
      take(header.substr(0, 16), llvm::cantFail(file_.slice(at, *size)));
      at += *size + *size % 2;
    }
  }

private:
  void take(std::string_view field, Bytes content) {
    field = field.substr(0, field.find_last_not_of(' ') + 1);
    if (field == "//") {
      long_names_ = content.text();
      return;
    }
    if (field == "/" || field == "/SYM64/" || field.starts_with("__.SYMDEF")) return;
    std::string_view name = field;
    if (field.starts_with("#1/")) {
      std::optional<uint64_t> length = decimal(field.substr(3));
      if (!length || *length > content.size()) return tell(llvm::formatv("a member named '{0}' is damaged", field).str());
      name = content.text().substr(0, *length);
      name = name.substr(0, name.find('\0'));
      content = llvm::cantFail(content.slice(*length, content.size() - *length));
      if (name.starts_with("__.SYMDEF")) return;
    } else if (field.starts_with('/')) {
      std::optional<uint64_t> offset = decimal(field.substr(1));
      if (!offset || *offset >= long_names_.size()) return tell(llvm::formatv("a member's name '{0}' is nowhere", field).str());
      name = long_names_.substr(*offset);
      name = name.substr(0, name.find('\n'));
    }
    if (name.ends_with('/')) name.remove_suffix(1);
    std::string shown = shown_zip_name(name, false);
    if (shown.empty()) shown = "member";
    // Libraries hold many members of one name.
    std::string path = shown;
    for (uint64_t &next = next_[shown]; !used_.insert(path).second;) path = shown + "#" + std::to_string(++next + 1);
    feed_.member(make_member(content, {input_, prefix_ + path, "", 0}));
  }

  void tell(std::string message) {
    std::string path = prefix_.ends_with('!') ? prefix_.substr(0, prefix_.size() - 1) : prefix_;
    feed_.problem({Level::error, {input_, std::move(path), "", 0}, std::move(message)});
  }

  const Bytes &file_;
  const uint32_t input_;
  const std::string &prefix_;
  const Feed &feed_;
  std::string_view long_names_;
  std::map<std::string, uint64_t> next_; // numbers given to the members of a name
  std::set<std::string> used_;
};

} // namespace

bool match_ar(const Bytes &head, std::string_view) { return head.text().starts_with(kMagic); }

void read_ar(const Bytes &file, uint32_t input, const std::string &prefix, const Feed &feed) {
  ArReader(file, input, prefix, feed).read();
}

} // namespace isa_audit
