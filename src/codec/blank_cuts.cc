// A set of the characters that some piece has before a blank.
// Called by codec/sentencepiece, codec/bpe, codec/unigram. Read next: codec/sentencepiece.cc.
#include "codec/blank_cuts.h"

#include "codec/unicode.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kBlank = "\xE2\x96\x81";  // U+2581

}  // namespace

void BlankCuts::add_piece(std::string_view piece) {
  for (size_t at = piece.find(kBlank, 1); at != std::string_view::npos;
       at = piece.find(kBlank, at + 1)) {
    const char32_t before = read_utf8(piece, character_start(piece, at)).character;
    if (before < 128) {
      ascii_before_blank_[before] = true;
    } else {
      before_blank_.insert(before);
    }
  }
}

size_t BlankCuts::find_cut(std::string_view text, size_t begin) const {
  for (size_t at = text.find(kBlank, begin + 1); at != std::string_view::npos;
       at = text.find(kBlank, at + 1)) {
    const auto last = static_cast<unsigned char>(text[at - 1]);
    const bool is_cut =
        last < 0x80 ? !ascii_before_blank_[last]
                    : !before_blank_.contains(read_utf8(text, character_start(text, at)).character);
    if (is_cut) {
      return at;
    }
  }
  return text.size();
}

}  // namespace fathom::codec
