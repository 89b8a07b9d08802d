// One pass over the vocabulary.
// Called by codec/gguf_tokenizer, codec/sentencepiece_file. Read next: codec/decode_chain.cc.
#include "codec/piece_texts.h"

#include <string_view>

#include "codec/normalizer.h"
#include "codec/vocabulary.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kBlank = "\xE2\x96\x81";  // U+2581

}  // namespace

std::vector<std::string> list_piece_texts(const Vocabulary& vocabulary) {
  std::vector<std::string> texts;
  texts.reserve(vocabulary.texts.size());
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const std::string& text = vocabulary.texts[id];
    const TokenKind kind = vocabulary.kinds[id];
    if (kind == TokenKind::kByte) {
      texts.emplace_back(1, static_cast<char>(parse_byte_token(text)));
    } else if (kind == TokenKind::kControl || text.find(kBlank) == std::string::npos) {
      texts.push_back(text);
    } else {
      texts.push_back(replace_all(text, kBlank, " "));
    }
  }
  return texts;
}

}  // namespace fathom::codec
