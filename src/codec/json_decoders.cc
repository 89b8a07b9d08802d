// A decoder's name to its steps.
// Called by codec/tokenizer_json. Read next: codec/json_template.cc. Source: the tokenizer.json
// format as Hugging Face tokenizers reads it.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "codec/json_normalizers.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

constexpr int64_t kMostStripped = 1 << 20;

DecodeStepPtr read_replace(const JsonPart& part) {
  const JsonPart& pattern = part.get("pattern");
  std::string content = part.get_text("content");
  const auto text =
      pattern.type() == JsonPart::Type::kText ? pattern.text() : pattern.find_text("String");
  if (text) {
    return make_decode_replace(*text, std::move(content));
  }
  return make_decode_replace_pattern(read_pattern(pattern), std::move(content));
}

DecodeStepPtr read_metaspace(const JsonPart& part) {
  std::string replacement;
  append_utf8(replacement, read_character(part.get("replacement")));
  const std::string scheme = part.find_text("prepend_scheme").value_or("always");
  const bool drops_first = scheme != "never" && part.flag_or("add_prefix_space", true);
  return make_decode_metaspace(std::move(replacement), drops_first);
}

void read_into(const JsonPart& part, std::vector<DecodeStepPtr>& steps) {
  const std::string type = part.get_text("type");
  if (type == "Sequence") {
    for (const JsonPart& item : part.get("decoders").items()) {
      read_into(item, steps);
    }
  } else if (type == "ByteLevel") {
    steps.push_back(make_decode_byte_level());
    steps.push_back(make_decode_repair(false));
  } else if (type == "Metaspace") {
    steps.push_back(read_metaspace(part));
  } else if (type == "ByteFallback") {
    steps.push_back(make_decode_byte_fallback());
  } else if (type == "Fuse") {
    steps.push_back(make_decode_fuse());
  } else if (type == "Strip") {
    steps.push_back(make_decode_strip(read_character(part.get("content")),
                                      static_cast<size_t>(part.get("start").count(kMostStripped)),
                                      static_cast<size_t>(part.get("stop").count(kMostStripped))));
  } else if (type == "Replace") {
    steps.push_back(read_replace(part));
  } else if (type == "WordPiece") {
    steps.push_back(make_decode_word_piece(part.find_text("prefix").value_or("##"),
                                           part.flag_or("cleanup", true)));
  } else if (type == "BPEDecoder") {
    steps.push_back(make_decode_suffix(part.find_text("suffix").value_or("</w>")));
  } else if (type == "CTC") {
    steps.push_back(make_decode_ctc(part.find_text("pad_token").value_or("<pad>"),
                                    part.find_text("word_delimiter_token").value_or("|"),
                                    part.flag_or("cleanup", true)));
  } else {
    part.refuse_kind(fmt::format("the decoder '{}' is not known", type));
  }
}

}  // namespace

std::vector<DecodeStepPtr> read_decoder(const JsonPart& part) {
  std::vector<DecodeStepPtr> steps;
  if (part.is_null()) {
    steps.push_back(make_decode_join());
  } else {
    read_into(part, steps);
  }
  return steps;
}

}  // namespace fathom::codec
