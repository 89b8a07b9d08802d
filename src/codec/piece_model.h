// A model: one word to token ids. Merging, Viterbi and longest match are each one class.
// Called by codec/text_tokenizer. Read next: codec/bpe.h, codec/sentencepiece.h, codec/unigram.h,
// codec/word_piece.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/tokenizer.h"

namespace fathom::codec {

class PieceModel {
 public:
  // The state of one encode call: buffers, and the words seen so far.
  // Thread rule: one run, one thread; many runs at a time.
  class Run {
   public:
    virtual ~Run() = default;

    // Adds the ids of `word`: valid UTF-8, or any bytes for a byte-level model; not empty.
    virtual void add(std::string_view word, std::vector<TokenId>& out) = 0;

    // Merges, look-ups and path steps made so far: the work, counted without a clock.
    [[nodiscard]] virtual uint64_t n_steps() const { return 0; }
  };

  virtual ~PieceModel() = default;

  // The run must not outlive the model.
  [[nodiscard]] virtual std::unique_ptr<Run> start() const = 0;

  // The id of an entry by its stored text; added tokens are not the model's.
  [[nodiscard]] virtual std::optional<TokenId> find(std::string_view stored_text) const = 0;
};

}  // namespace fathom::codec
