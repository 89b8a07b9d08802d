// Where a text without words can be cut all the same: before a blank that no piece reaches across.
// Called by codec/sentencepiece, codec/bpe, codec/unigram. Read next: codec/sentencepiece.cc.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_set>

namespace fathom::codec {

class BlankCuts {
 public:
  // Takes note of a piece that the model may produce, with U+2581 for blanks.
  void add_piece(std::string_view piece);

  // The end of the stretch that begins at `begin`: before the next blank that follows a character
  // which stands before a blank in no piece; the end of the text when there is none.
  [[nodiscard]] size_t find_cut(std::string_view text, size_t begin) const;

 private:
  bool ascii_before_blank_[128] = {};
  std::unordered_set<char32_t> before_blank_;
};

}  // namespace fathom::codec
