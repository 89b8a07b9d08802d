// A normalizer's name to its step.
// Called by codec/tokenizer_json. Read next: codec/json_steps.cc. Source: the tokenizer.json format
// as Hugging Face tokenizers reads it.
#include "codec/json_normalizers.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "codec/base64.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

std::string read_base64(const JsonPart& part) {
  const auto bytes = decode_base64(part.text());
  if (!bytes) {
    part.refuse("this text is not base64");
  }
  return *bytes;
}

NormalizerPtr read_replace(const JsonPart& part) {
  const JsonPart& pattern = part.get("pattern");
  std::string content = part.get_text("content");
  if (pattern.type() == JsonPart::Type::kText) {
    return make_replace_text(pattern.text(), std::move(content));
  }
  if (const auto text = pattern.find_text("String")) {
    return make_replace_text(*text, std::move(content));
  }
  return make_replace_pattern(read_pattern(pattern), std::move(content));
}

NormalizerPtr read_sequence(const JsonPart& part) {
  std::vector<NormalizerPtr> steps;
  for (const JsonPart& item : part.get("normalizers").items()) {
    if (NormalizerPtr step = read_normalizer(item)) {
      steps.push_back(std::move(step));
    }
  }
  return make_sequence(std::move(steps));
}

NormalizerPtr read_bert(const JsonPart& part) {
  BertOptions options;
  options.clean_text = part.flag_or("clean_text", true);
  options.split_cjk = part.flag_or("handle_chinese_chars", true);
  options.lowercase = part.flag_or("lowercase", true);
  options.strip_accents = part.flag_or("strip_accents", options.lowercase);
  return make_bert_normalizer(options);
}

}  // namespace

Pattern read_pattern(const JsonPart& part) {
  if (part.type() == JsonPart::Type::kText) {
    return Pattern::of_text(part.text());
  }
  if (const auto text = part.find_text("String")) {
    return Pattern::of_text(*text);
  }
  return Pattern(part.get_text("Regex"), {.is_foreign = true, .where = part.where()});
}

char32_t read_character(const JsonPart& part) {
  const std::string& text = part.text();
  if (text.empty() || read_utf8(text, 0).size != text.size()) {
    part.refuse(fmt::format("found '{}', expected one character", text.substr(0, 40)));
  }
  return read_utf8(text, 0).character;
}

NormalizerPtr read_normalizer(const JsonPart& part) {
  if (part.is_null()) {
    return nullptr;
  }
  const std::string type = part.get_text("type");
  if (type == "Sequence") {
    return read_sequence(part);
  }
  if (type == "NFC") {
    return make_form_normalizer(NormalForm::kNfc);
  }
  if (type == "NFD") {
    return make_form_normalizer(NormalForm::kNfd);
  }
  if (type == "NFKC") {
    return make_form_normalizer(NormalForm::kNfkc);
  }
  if (type == "NFKD") {
    return make_form_normalizer(NormalForm::kNfkd);
  }
  if (type == "Lowercase") {
    return make_lowercase();
  }
  if (type == "Strip") {
    return make_strip(part.flag_or("strip_left", true), part.flag_or("strip_right", true));
  }
  if (type == "StripAccents") {
    return make_strip_accents();
  }
  if (type == "Replace") {
    return read_replace(part);
  }
  if (type == "Prepend") {
    return make_prepend(part.get_text("prepend"));
  }
  if (type == "BertNormalizer") {
    return read_bert(part);
  }
  if (type == "Nmt") {
    return make_nmt();
  }
  if (type == "ByteLevel") {
    return make_byte_level();
  }
  if (type == "Precompiled") {
    const JsonPart& charsmap = part.get("precompiled_charsmap");
    return make_charmap_by_cluster(Charmap(read_base64(charsmap), charsmap.where()));
  }
  part.refuse_kind(fmt::format("the normalizer '{}' is not known", type));
}

}  // namespace fathom::codec
