// Tokens that are matched in a text before anything else: control tokens and user-defined ones.
// Called by codec/text_tokenizer. Source: the added vocabulary of Hugging Face tokenizers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "codec/text_set.h"
#include "codec/tokenizer.h"

namespace fathom::codec {

// One token to match. White space next to it can belong to it.
struct AddedToken {
  TokenId id = 0;
  std::string text;
  bool is_control = false;
  bool is_marker = false;  // no control token, but the chat template writes it
  bool strips_left = false;
  bool strips_right = false;
  bool single_word = false;  // only where no word character stands next to it
  bool normalized = false;   // matched in the normalized text, and normalized itself
};

// Brackets around a name: what a template may mean as structure. Runs of line ends or blanks, which
// some vocabularies define too, are not.
bool is_markup(std::string_view text);

// A part of a text: plain text, or one added token.
struct Fragment {
  std::string_view text;
  TokenId id = -1;  // -1: plain text
};

class AddedTokens {
 public:
  // Of two tokens with one text the first counts.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  [[nodiscard]] bool is_empty() const { return tokens_.empty(); }

  // Cuts `text` at the leftmost, then longest matches. Control tokens are left in the plain text
  // unless `options.parse_special`, markers are when `options.keep_markers`, and both where they
  // touch one of `options.plain`. No fragment is empty but tokens may overlap: white space that one
  // took does not keep the next from matching, as in the reference.
  // Thread rule: any thread.
  [[nodiscard]] std::vector<Fragment> split(std::string_view text,
                                            const EncodeOptions& options) const;

 private:
  std::vector<AddedToken> tokens_;
  TextSet texts_;  // values are positions in tokens_
};

}  // namespace fathom::codec
