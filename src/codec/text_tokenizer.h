// A tokenizer put together from the stages of its file: added tokens, normalizer, pre-tokenizer,
// model, template, decoder.
// Built by codec/gguf_tokenizer, codec/tokenizer_json, codec/sentencepiece_file, codec/tiktoken.
// Read next: codec/text_tokenizer.cc.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/added_tokens.h"
#include "codec/decode_chain.h"
#include "codec/normalizer.h"
#include "codec/piece_model.h"
#include "codec/pre_tokenizer.h"
#include "codec/tokenizer.h"

namespace fathom::codec {

// The stages. `vocabulary` is behind a pointer because models look into it.
struct Pipeline {
  std::string path;  // the file, for messages
  std::unique_ptr<Vocabulary> vocabulary;
  std::vector<AddedToken> added;
  NormalizerPtr normalizer;  // null: none
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const PieceModel> model;
  std::vector<TokenId> prefix, suffix;  // what add_special puts around a text
  std::vector<DecodeStepPtr> decode_steps;
  // The entries as decoding takes them; null: vocabulary->texts.
  DecodeChain::AppendText decode_text;
  // The unknown token decodes to its text always, not only with the control tokens.
  bool shows_unknown = false;
  // decode(encode(text)) is the text, if it is in normalization form C.
  bool keeps_text = false;
};

class TextTokenizer final : public Tokenizer {
 public:
  explicit TextTokenizer(Pipeline pipeline);

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            const EncodeOptions& options) const override;
  [[nodiscard]] std::string bytes_of(TokenId id, bool special) const override;
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, bool special) const override;
  [[nodiscard]] std::unique_ptr<DecodeStream> start_decoding(bool special,
                                                             bool at_start) const override;

  [[nodiscard]] const Vocabulary& vocabulary() const override { return *pipeline_.vocabulary; }

  [[nodiscard]] std::vector<TokenId> end_tokens() const override;
  [[nodiscard]] std::optional<TokenId> find(std::string_view stored_text) const override;

  [[nodiscard]] const std::string& path() const { return pipeline_.path; }

  // Whether decoding gives back every text in normalization form C.
  [[nodiscard]] bool keeps_text() const { return pipeline_.keeps_text; }

  // Merges, look-ups and path steps that encoding `text` takes, without added tokens: for tests of
  // how the work grows.
  [[nodiscard]] uint64_t count_steps(std::string_view text) const;

 private:
  class Encoder;
  class Stream;

  [[nodiscard]] const DecodeChain& chain() const;
  void check_id(TokenId id) const;

  // Whether `id` gives nothing unless control tokens are asked for.
  [[nodiscard]] bool is_hidden(TokenId id) const {
    const TokenKind kind = pipeline_.vocabulary->kinds[static_cast<size_t>(id)];
    return kind == TokenKind::kControl || (kind == TokenKind::kUnknown && !pipeline_.shows_unknown);
  }

  Pipeline pipeline_;
  AddedTokens raw_;         // matched in the text as it is
  AddedTokens normalized_;  // matched in the normalized text
  // Decoding is prepared when first asked for.
  mutable std::once_flag chain_once_;
  mutable std::vector<DecodeStepPtr> decode_steps_;
  mutable std::unique_ptr<const DecodeChain> chain_;
};

}  // namespace fathom::codec
