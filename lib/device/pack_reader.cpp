#include "pack_reader.h"

namespace isa_audit {

namespace msgpack = llvm::msgpack;

bool PackReader::next(Token &token) {
  auto got = reader_.read(token);
  if (!got) {
    llvm::consumeError(got.takeError());
    return false;
  }
  return *got;
}

bool PackReader::skip(const Token &token) {
  auto children = [](const Token &o) -> uint64_t {
    if (o.Kind == msgpack::Type::Array) return o.Length;
    if (o.Kind == msgpack::Type::Map) return uint64_t(o.Length) * 2;
    return 0;
  };
  // Lengths are at most 2^32 and each token takes a byte of input, so the sum cannot overflow.
  for (uint64_t left = children(token); left; --left) {
    Token child;
    if (!next(child)) return false;
    left += children(child);
  }
  return true;
}

bool PackReader::map(size_t &length) {
  Token token;
  if (!next(token) || token.Kind != msgpack::Type::Map) return false;
  length = token.Length;
  return true;
}

bool PackReader::array(size_t &length) {
  Token token;
  if (!next(token) || token.Kind != msgpack::Type::Array) return false;
  length = token.Length;
  return true;
}

bool PackReader::text(std::string_view &text) {
  Token token;
  if (!next(token) || token.Kind != msgpack::Type::String) return false;
  text = text_of(token);
  return true;
}

bool PackReader::number(uint64_t &number) {
  Token token;
  if (!next(token)) return false;
  if (token.Kind == msgpack::Type::UInt)
    number = token.UInt;
  else if (token.Kind == msgpack::Type::Int && token.Int >= 0)
    number = static_cast<uint64_t>(token.Int);
  else
    return false;
  return true;
}

} // namespace isa_audit
