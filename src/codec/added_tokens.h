// Tokens that are matched in raw text before anything else: control tokens and user-defined ones.
// Called by codec/text_tokenizer. Source: the added vocabulary of Hugging Face tokenizers.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "codec/tokenizer.h"

namespace fathom::codec {

// One token to match. White space next to it can belong to it.
struct AddedToken {
  TokenId id = 0;
  std::string_view text;  // must outlive the matcher
  bool is_control = false;
  bool is_marker = false;  // no control token, but the chat template writes it
  bool strips_left = false;
  bool strips_right = false;
};

// A part of a text: plain text, or one added token.
struct Fragment {
  std::string_view text;
  TokenId id = -1;  // -1: plain text
};

class AddedTokens {
 public:
  // Of two tokens with one text the first counts.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // Cuts `text` at the leftmost, then longest matches. Control tokens are left in the plain text
  // unless `options.parse_special`, markers are when `options.keep_markers`. No fragment is empty.
  // Thread rule: any thread.
  [[nodiscard]] std::vector<Fragment> split(std::string_view text,
                                            const EncodeOptions& options) const;

 private:
  // The longest token at `at`, or nullptr.
  [[nodiscard]] const AddedToken* match(std::string_view text, size_t at) const;

  // Positions in tokens_: [begin, end).
  struct Range {
    size_t begin = 0, end = 0;
  };

  std::vector<AddedToken> tokens_;  // sorted by text, no two equal
  std::array<Range, 256> by_first_byte_{};
};

}  // namespace fathom::codec
