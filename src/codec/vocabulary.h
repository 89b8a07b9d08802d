// The vocabulary of a GGUF file: every array, type, length and id checked before anything uses it.
// Called by codec/tokenizer. Read next: codec/bpe.h, codec/sentencepiece.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "codec/tokenizer.h"
#include "weights/metadata.h"

namespace fathom::codec {

// Reads all `tokenizer.*` keys but the merges. Errors: kCorruptFile, naming file and key, for a
// missing key, a wrong type, arrays of unequal length, fewer tokens than `vocab_size` says, kinds
// and ids out of range, byte tokens that are not <0x00> ... <0xFF>.
Vocabulary read_vocabulary(const weights::Metadata& metadata);

// The id that `key` names, if the file has it. Error: kCorruptFile when it is not in the
// vocabulary.
std::optional<TokenId> read_token_id(const weights::Metadata& metadata, std::string_view key,
                                     size_t n_vocab);

// The byte that a token text like "<0x0A>" names, or -1.
int parse_byte_token(std::string_view text);

// Whether any chat template of the model holds this text.
bool is_in_templates(const Vocabulary& vocabulary, std::string_view text);

}  // namespace fathom::codec
