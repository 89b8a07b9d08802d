// Tokens in answers: their bytes, and a name that is valid UTF-8.
// Called by api/openai/answer_json, api/openai/handler. Read next: codec/tokenizer.h.
#pragma once

#include <cstdint>
#include <string>

#include "codec/tokenizer.h"

namespace fathom::api::openai {

// Whether the vocabulary has an entry for an id; models may have more rows than that.
bool has_text(const codec::Tokenizer& tokenizer, int32_t id);

// The bytes that a token adds to a text. `at_start`: it is the first of a text that begins with it,
// where some vocabularies drop a blank. Control tokens add nothing, nor do ids without a text.
std::string token_bytes(const codec::Tokenizer& tokenizer, int32_t id, bool at_start);

// The bytes as a text; "bytes:\xf0\x9f" for those that are no whole characters, as OpenAI writes
// them; for control tokens the text that they are written with.
std::string token_name(const codec::Tokenizer& tokenizer, int32_t id, const std::string& bytes);

// Characters of UTF-8 that begin within `bytes`.
int64_t count_characters(const std::string& bytes);

}  // namespace fathom::api::openai
