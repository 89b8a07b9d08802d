// Tokenizer files of every format: read, encode, decode, whole and as a stream.
// Input: one byte (0 tokenizer.json, 1 SentencePiece, 2 tiktoken), then the file; what follows a
// zero byte in a JSON or rank file is the text to encode. Read next: codec/tokenizer_json.h.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codec/sentencepiece_file.h"
#include "codec/tiktoken.h"
#include "codec/tokenizer_json.h"

namespace {

using fathom::codec::Pipeline;

Pipeline read(unsigned kind, std::string_view file) {
  if (kind == 0) {
    return fathom::codec::read_tokenizer_json(file, "fuzz");
  }
  if (kind == 1) {
    return fathom::codec::read_sentencepiece_model(file, "fuzz");
  }
  fathom::codec::TiktokenSettings settings;
  settings.pattern = R"(\p{L}+|\s+|.)";
  return fathom::codec::read_tiktoken(file, "fuzz", settings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) {
    return 0;
  }
  const unsigned kind = data[0] % 3;
  std::string_view file(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string_view text = "Hello  w\xC3\xB6rld \xF0\x9F\x98\x80 \xFF 123\n";
  const size_t zero = file.find('\0');
  if (kind != 1 && zero != std::string_view::npos) {
    text = file.substr(zero + 1);
    file = file.substr(0, zero);
  }
  try {
    const fathom::codec::TextTokenizer tokenizer(read(kind, file));
    const auto ids = tokenizer.encode(text, {.add_special = true, .parse_special = true});
    const std::string whole = tokenizer.decode(ids, true);
    std::string streamed;
    const auto stream = tokenizer.start_decoding(true, true);
    for (const auto id : ids) {
      stream->push(id, streamed);
    }
    stream->finish(streamed);
    if (streamed != whole) {
      std::abort();
    }
  } catch (const fathom::Error&) {
    return 0;
  }
  return 0;
}
