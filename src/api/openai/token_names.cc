// Asks the tokenizer for one token at a time.
// Called by api/openai/answer_json, api/openai/handler.
#include "api/openai/token_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/utf8.h"

namespace fathom::api::openai {

bool has_text(const codec::Tokenizer& tokenizer, int32_t id) {
  return id >= 0 && id < std::ssize(tokenizer.vocabulary().texts);
}

std::string token_bytes(const codec::Tokenizer& tokenizer, int32_t id, bool at_start) {
  if (!has_text(tokenizer, id)) {
    return {};
  }
  std::string bytes = tokenizer.bytes_of(id, false);
  if (at_start && bytes.starts_with(' ') &&
      tokenizer.decode({&id, 1}, false) == std::string_view(bytes).substr(1)) {
    bytes.erase(0, 1);
  }
  return bytes;
}

std::string token_name(const codec::Tokenizer& tokenizer, int32_t id, const std::string& bytes) {
  if (!has_text(tokenizer, id)) {
    return fmt::format("<token {}>", id);
  }
  if (bytes.empty()) {
    return codec::replace_invalid_utf8(tokenizer.bytes_of(id, true));
  }
  if (codec::is_valid_utf8(bytes)) {
    return bytes;
  }
  std::string name = "bytes:";
  for (const char byte : bytes) {
    name += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return name;
}

int64_t count_characters(const std::string& bytes) {
  return std::ranges::count_if(
      bytes, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; });
}

}  // namespace fathom::api::openai
