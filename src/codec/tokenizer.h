// Text to token ids and back: the interface of every tokenizer.
// Called by api (prompts), apps/tokenize. Read next: codec/bpe.h, codec/sentencepiece.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weights/metadata.h"

namespace fathom::codec {

using TokenId = int32_t;

// Kinds of vocabulary entries, as GGUF numbers them.
enum class TokenKind : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

struct EncodeOptions {
  bool add_special = false;    // add what the model's tokenizer adds around a text (BOS, EOS)
  bool parse_special = false;  // true: control tokens written in the text become their ids
  // true: user-defined tokens that the chat template writes ("</think>") stay text as well. The
  // reference matches user-defined tokens always.
  bool keep_markers = false;
};

// The vocabulary: text, kind and special ids. [n_vocab] entries.
struct Vocabulary {
  std::vector<std::string> texts;  // as stored in the file (byte-level alphabet, U+2581 for blanks)
  std::vector<float> scores;       // empty when the kind of tokenizer has none
  std::vector<TokenKind> kinds;
  std::optional<TokenId> bos, eos, eot, eom, unk, pad;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;  // SentencePiece's dummy prefix: a blank before every text
  std::string chat_template;      // empty when the file has none
  std::string model;              // "llama", "gpt2"
  std::string pre;                // pre-tokenizer's name, "" when absent
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Ids of `text`. Invalid UTF-8 is replaced by U+FFFD per maximal subpart before encoding.
  // Thread rule: any thread.
  [[nodiscard]] virtual std::vector<TokenId> encode(std::string_view text,
                                                    const EncodeOptions& options) const = 0;

  // Bytes that `id` stands for when decoded at a place other than the start; control tokens give
  // their text when `special` is true, else nothing. Error: kInvalidArgument for an id that is not
  // in the vocabulary.
  [[nodiscard]] virtual std::string bytes_of(TokenId id, bool special) const = 0;

  // The text of a whole id list (the reference's decode with skip_special_tokens = !special).
  [[nodiscard]] virtual std::string decode(std::span<const TokenId> ids, bool special) const = 0;

  // True when decoding drops one leading blank of the first piece (SentencePiece's dummy prefix).
  [[nodiscard]] virtual bool strips_first_blank() const = 0;

  [[nodiscard]] virtual const Vocabulary& vocabulary() const = 0;

  // Tokens that end an answer: EOS, EOT and their kin by GGUF keys and marker names.
  [[nodiscard]] virtual std::vector<TokenId> end_tokens() const = 0;

  // Id of a vocabulary entry by its stored text.
  [[nodiscard]] virtual std::optional<TokenId> find(std::string_view stored_text) const = 0;
};

// Builds the tokenizer that a GGUF file describes. Errors: kUnsupported (tokenizer model or
// pre-tokenizer not known, both named; a Hugging Face folder: "takes --ids until ..."),
// kCorruptFile (arrays of unequal length, merges of unknown pieces, ids out of range).
std::unique_ptr<Tokenizer> make_tokenizer(const weights::Metadata& metadata);

}  // namespace fathom::codec
