// Text to token ids and back: the interface of every tokenizer.
// Called by api (prompts), apps/tokenize. Read next: codec/text_tokenizer.h, codec/bpe.h.
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

// Bytes [begin, end) of a text in which nothing is structure: what a user wrote.
struct PlainRange {
  size_t begin = 0, end = 0;
};

struct EncodeOptions {
  bool add_special = false;    // add what the model's tokenizer adds around a text (BOS, EOS)
  bool parse_special = false;  // true: control tokens written in the text become their ids
  // true: user-defined tokens that the chat template writes ("</think>") stay text as well. The
  // reference matches user-defined tokens always.
  bool keep_markers = false;
  // Ascending, not overlapping; must outlive the call. Control tokens and markers that touch one of
  // them stay text although parse_special is on; all else is encoded as in one text.
  std::span<const PlainRange> plain = {};
  // true: BOS ids in a row at the begin become one, so that a template that writes BOS and a
  // tokenizer that adds it agree. The reference keeps both.
  bool one_bos = false;
};

// A chat template that is chosen by its name, such as "tool_use".
struct NamedTemplate {
  std::string name, source;
};

// The vocabulary: text, kind and special ids. [n_vocab] entries.
struct Vocabulary {
  std::vector<std::string> texts;  // as stored in the file (byte-level alphabet, U+2581 for blanks)
  std::vector<float> scores;       // empty when the kind of tokenizer has none
  std::vector<TokenKind> kinds;
  std::optional<TokenId> bos, eos, eot, eom, unk, pad;
  std::vector<TokenId> more_ends;  // further tokens that end an answer, by the model's own settings
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;  // SentencePiece's dummy prefix: a blank before every text
  std::string chat_template;      // empty when the file has none
  std::vector<NamedTemplate> named_templates;  // besides that one, in the order of the file
  std::string model;  // "llama", "gpt2", "t5", "bert"; of other files the model's name
  std::string pre;    // pre-tokenizer's name, "" when absent
};

// An answer being decoded, id by id. What push and finish add makes up exactly what decode gives.
// Thread rule: one stream, one thread.
class DecodeStream {
 public:
  virtual ~DecodeStream() = default;

  // Adds the text that is certain now, valid UTF-8. Error: kInvalidArgument for an id that is not
  // in the vocabulary.
  virtual void push(TokenId id, std::string& out) = 0;

  // No id follows: adds what was kept back. An unfinished character becomes U+FFFD.
  virtual void finish(std::string& out) = 0;
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

  // A stream, which must not outlive the tokenizer. `special`: control tokens give their text.
  // `at_start`: the first id begins a text; false: it goes on from one, so that nothing is dropped.
  [[nodiscard]] virtual std::unique_ptr<DecodeStream> start_decoding(bool special,
                                                                     bool at_start) const = 0;

  [[nodiscard]] virtual const Vocabulary& vocabulary() const = 0;

  // Tokens that end an answer: EOS, EOT and their kin by GGUF keys and marker names.
  [[nodiscard]] virtual std::vector<TokenId> end_tokens() const = 0;

  // Id of a vocabulary entry by its stored text.
  [[nodiscard]] virtual std::optional<TokenId> find(std::string_view stored_text) const = 0;
};

// Whether there is a vocabulary: a GGUF file's keys, or a tokenizer file in a Hugging Face folder.
bool has_tokenizer(const weights::Metadata& metadata);

// Builds the tokenizer that a GGUF file or a Hugging Face folder describes (for a folder see
// codec/tokenizer_files.h). Errors: kUnsupported (tokenizer model or pre-tokenizer not known, both
// named), kCorruptFile (arrays of unequal length, merges of unknown pieces, ids out of range; a
// tokenizer that fails its self-test), kNotFound (a folder without a tokenizer file).
std::unique_ptr<Tokenizer> make_tokenizer(const weights::Metadata& metadata);

}  // namespace fathom::codec
