// TemplateProcessing, and the two older kinds with a fixed order.
// Called by codec/tokenizer_json. Read next: codec/text_tokenizer.cc. Source: the tokenizer.json
// format as Hugging Face tokenizers reads it.
#include "codec/json_template.h"

#include <fmt/format.h>

#include <string>

namespace fathom::codec {

namespace {

TokenId read_id(const JsonPart& part, size_t n_vocab) {
  return static_cast<TokenId>(part.count(static_cast<int64_t>(n_vocab) - 1));
}

// ["[SEP]", 102]
TokenId read_pair(const JsonPart& part, size_t n_vocab) {
  if (part.items().size() != 2) {
    part.refuse(
        fmt::format("found {} values, expected a token's text and id", part.items().size()));
  }
  return read_id(part.items()[1], n_vocab);
}

void read_template(const JsonPart& part, size_t n_vocab, AroundText& around) {
  bool has_text = false;
  std::vector<TokenId> before, after;
  for (const JsonPart& item : part.get("single").items()) {
    if (const JsonPart* sequence = item.find("Sequence")) {
      if (has_text || sequence->get_text("id") != "A") {
        item.refuse_kind("a template for one text that does not hold it exactly once");
      }
      has_text = true;
      continue;
    }
    const std::string name = item.get("SpecialToken").get_text("id");
    const JsonPart& token = part.get("special_tokens").get(name);
    for (const JsonPart& id : token.get("ids").items()) {
      (has_text ? after : before).push_back(read_id(id, n_vocab));
    }
  }
  if (!has_text) {
    part.refuse_kind("a template for one text that does not hold it exactly once");
  }
  around.prefix.insert(around.prefix.begin(), before.begin(), before.end());
  around.suffix.insert(around.suffix.end(), after.begin(), after.end());
}

void read_into(const JsonPart& part, size_t n_vocab, AroundText& around) {
  const std::string type = part.get_text("type");
  if (type == "Sequence") {
    for (const JsonPart& item : part.get("processors").items()) {
      read_into(item, n_vocab, around);
    }
  } else if (type == "TemplateProcessing") {
    read_template(part, n_vocab, around);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    around.prefix.insert(around.prefix.begin(), read_pair(part.get("cls"), n_vocab));
    around.suffix.push_back(read_pair(part.get("sep"), n_vocab));
  } else if (type != "ByteLevel") {  // which moves offsets only
    part.refuse_kind(fmt::format("the post-processor '{}' is not known", type));
  }
}

}  // namespace

AroundText read_post_processor(const JsonPart& part, size_t n_vocab) {
  AroundText around;
  if (!part.is_null()) {
    read_into(part, n_vocab, around);
  }
  return around;
}

}  // namespace fathom::codec
