// MessagePack as a stream of tokens: nothing is built and nothing recurses, so hostile nesting costs nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "llvm/BinaryFormat/MsgPackReader.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace isa_audit {

class PackReader {
public:
  using Token = llvm::msgpack::Object;

  explicit PackReader(std::string_view blob) : reader_(llvm::MemoryBufferRef(llvm::StringRef(blob.data(), blob.size()), "")) {}

  // False at the end and where the bytes are no MessagePack.
  bool next(Token &token);

  // Passes over what belongs to a token just read.
  bool skip(const Token &token);

  // The next token as a map or an array: the number of its pairs or elements.
  bool map(size_t &length);
  bool array(size_t &length);
  // The next token as text, as an integer that is not negative.
  bool text(std::string_view &text);
  bool number(uint64_t &number);

private:
  llvm::msgpack::Reader reader_;
};

inline std::string_view text_of(const PackReader::Token &token) { return {token.Raw.data(), token.Raw.size()}; }

} // namespace isa_audit
