// Ids to text through a file's decoding steps, for a whole answer or as it comes: one way for both.
// Called by codec/text_tokenizer. Read next: codec/decode_chain.cc, codec/decode_step.h.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/decode_step.h"
#include "codec/tokenizer.h"

namespace fathom::codec {

class DecodeChain {
 public:
  // Adds the text of entry `id` to `out`, as the first step takes it.
  using AppendText = std::function<void(size_t id, std::string& out)>;

  // Asks for each of the `n_vocab` entries once, in order.
  DecodeChain(std::vector<DecodeStepPtr> steps, size_t n_vocab, const AppendText& append_text);

  // What `id` gives when it follows other tokens; bytes of a byte token may be part of a character.
  [[nodiscard]] std::string bytes_of(TokenId id) const;

  // The steps at work on one answer. Must not outlive the chain.
  class Flow {
   public:
    Flow(const DecodeChain& chain, bool at_start);
    ~Flow();

    // Adds what is certain to `out`: valid UTF-8.
    void push(TokenId id, std::string& out);
    void finish(std::string& out);

   private:
    class Link;
    void run(size_t step, std::string_view token);

    const DecodeChain* chain_;
    std::vector<std::unique_ptr<Link>> links_;
    std::string* out_ = nullptr;
  };

 private:
  [[nodiscard]] std::string_view text_of(TokenId id) const {
    const auto i = static_cast<size_t>(id);
    return std::string_view(arena_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }

  std::vector<DecodeStepPtr> steps_;
  size_t n_mapped_ = 0;          // steps that the arena has gone through already
  bool fused_by_map_ = false;    // one of them fuses
  std::string arena_;            // mapped texts in a row
  std::vector<size_t> offsets_;  // [n_vocab + 1]
};

}  // namespace fathom::codec
