// Reads .tiktoken files: byte strings and their ranks, with pattern and special tokens beside.
// Called by codec/tokenizer_files. Read next: codec/tiktoken.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/text_tokenizer.h"

namespace fathom::codec {

// What a rank file does not say.
struct TiktokenSettings {
  std::string pattern;  // the split expression
  std::vector<std::pair<std::string, int64_t>> special_tokens;
  std::string bos_token;  // "" for none; one of the special tokens
  bool nfc = false;
};

// A file tiktoken.json: pat_str, special_tokens, bos_token, normalizer (null or "NFC").
TiktokenSettings read_tiktoken_settings(std::string_view json, std::string_view path);

// Whether `text` begins as a rank file does: base64, a blank, a number.
bool is_tiktoken(std::string_view text);

// The stages of a rank file. Without settings those of the four published encodings are found by
// the number of ranks. Errors: kUnsupported for another number; kCorruptFile for lines that are not
// "BASE64 RANK", ranks out of range or used twice, fewer than the 256 bytes, a special token's id
// that is taken.
Pipeline read_tiktoken(std::string_view text, std::string_view path,
                       const std::optional<TiktokenSettings>& settings);

}  // namespace fathom::codec
