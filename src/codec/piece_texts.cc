// U+2581 is looked for, and what lies between is copied.
// Called by codec/gguf_tokenizer, codec/sentencepiece_file. Read next: codec/decode_chain.cc.
#include "codec/piece_texts.h"

#include <string_view>

#include "codec/vocabulary.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kBlank = "\xE2\x96\x81";  // U+2581

}  // namespace

void append_piece_text(const Vocabulary& vocabulary, size_t id, std::string& out) {
  const std::string_view text = vocabulary.texts[id];
  const TokenKind kind = vocabulary.kinds[id];
  if (kind == TokenKind::kByte) {
    out += static_cast<char>(parse_byte_token(text));
    return;
  }
  size_t done = 0;
  if (kind != TokenKind::kControl) {
    for (size_t at = text.find(kBlank); at != std::string_view::npos;
         at = text.find(kBlank, done)) {
      out.append(text, done, at - done) += ' ';
      done = at + kBlank.size();
    }
  }
  out.append(text, done);
}

}  // namespace fathom::codec
