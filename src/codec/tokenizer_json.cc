// simdjson parses the file (its tree picks the machine's instruction set at run time, its on-demand
// interface does not); vocabulary and merges are read from the tree, the small parts become
// JsonParts. Then the stages are built in the order in which a text meets them.
// Called by codec/tokenizer_files. Read next: codec/json_models.cc, codec/json_normalizers.cc.
#include "codec/tokenizer_json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "codec/json_models.h"
#include "codec/json_normalizers.h"
#include "codec/json_part.h"
#include "codec/json_template.h"

namespace fathom::codec {

namespace {

namespace dom = simdjson::dom;

// What the file holds, before anything is built.
struct Parts {
  JsonModel model;
  bool has_model = false;
  std::string added_tokens, normalizer, pre_tokenizer, post_processor, decoder;  // JSON texts
};

class FileReader {
 public:
  FileReader(std::string_view text, std::string_view path) : path_(path), padded_(text) {}

  Parts read() {
    try {
      const dom::object file = parser_.parse(padded_);
      for (const dom::key_value_pair& field : file) {
        read_field(field.key, field.value);
      }
    } catch (const simdjson::simdjson_error& error) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: JSON is broken or of another shape than a tokenizer.json: {}", path_,
                       error.what()));
    }
    if (!parts_.has_model) {
      fail(ErrorCode::kCorruptFile, fmt::format("{}: key 'model' is missing", path_));
    }
    return std::move(parts_);
  }

 private:
  void read_field(std::string_view key, dom::element value) {
    if (key == "model") {
      parts_.has_model = true;
      parts_.model.where = fmt::format("{}: model", path_);
      const dom::object model = value;
      for (const dom::key_value_pair& field : model) {
        read_model_field(field.key, field.value);
      }
    } else if (key == "added_tokens") {
      parts_.added_tokens = raw(value);
    } else if (key == "normalizer") {
      parts_.normalizer = raw(value);
    } else if (key == "pre_tokenizer") {
      parts_.pre_tokenizer = raw(value);
    } else if (key == "post_processor") {
      parts_.post_processor = raw(value);
    } else if (key == "decoder") {
      parts_.decoder = raw(value);
    } else if (key == "version") {
      const std::string_view version = value.get_string();
      if (version != "1.0") {
        fail(ErrorCode::kUnsupported,
             fmt::format("{}: found version '{}', expected '1.0'", path_, version));
      }
    }
    // "truncation" and "padding" shape batches; they change no text that is encoded by itself.
  }

  // The JSON of a value; "" for null.
  static std::string raw(dom::element value) {
    return value.is_null() ? std::string() : simdjson::minify(value);
  }

  static std::string text_or_none(dom::element value) {
    return value.is_null() ? std::string() : std::string(std::string_view(value.get_string()));
  }

  static bool flag_or_none(dom::element value) {
    return !value.is_null() && value.get_bool().value();
  }

  void read_model_field(std::string_view key, dom::element value) {
    JsonModel& model = parts_.model;
    if (key == "type") {
      model.type = std::string_view(value.get_string());
    } else if (key == "vocab") {
      read_vocab(value);
    } else if (key == "merges") {
      read_merges(value);
    } else if (key == "unk_token") {
      if (!value.is_null()) {
        model.unk_token = std::string(std::string_view(value.get_string()));
      }
    } else if (key == "unk_id") {
      if (!value.is_null()) {
        model.unk_id = value.get_int64().value();
      }
    } else if (key == "continuing_subword_prefix") {
      model.continuing_prefix = text_or_none(value);
    } else if (key == "end_of_word_suffix") {
      model.end_suffix = text_or_none(value);
    } else if (key == "fuse_unk") {
      model.fuse_unk = flag_or_none(value);
    } else if (key == "byte_fallback") {
      model.byte_fallback = flag_or_none(value);
    } else if (key == "ignore_merges") {
      model.ignore_merges = flag_or_none(value);
    } else if (key == "dropout") {
      model.dropout = value.is_null() ? 0.0 : value.get_double().value();
    } else if (key == "max_input_chars_per_word") {
      model.most_characters = value.get_int64();
    }
  }

  void read_vocab(dom::element value) {
    JsonModel& model = parts_.model;
    model.vocab.clear();
    model.vocab_is_list = value.is_array();
    if (!model.vocab_is_list) {
      const dom::object entries = value;
      model.vocab.reserve(entries.size());
      for (const dom::key_value_pair& field : entries) {
        model.vocab.push_back({field.key, field.value.get_int64().value(), 0});
      }
      return;
    }
    const dom::array entries = value;
    model.vocab.reserve(entries.size());
    for (const dom::element item : entries) {
      const dom::array pair = item;
      JsonModel::Entry entry;
      entry.id = static_cast<int64_t>(model.vocab.size());
      if (pair.size() == 2) {
        entry.text = pair.at(0).get_string().value();
        entry.score = pair.at(1).get_double().value();
      }
      if (pair.size() != 2 || std::isnan(entry.score)) {
        fail(ErrorCode::kCorruptFile,
             fmt::format("{}: model.vocab.{}: expected a text and a score", path_, entry.id));
      }
      model.vocab.push_back(entry);
    }
  }

  void read_merges(dom::element value) {
    JsonModel& model = parts_.model;
    model.merges.clear();
    model.has_merges = true;
    const dom::array merges = value;
    model.merges.reserve(merges.size());
    for (const dom::element item : merges) {
      std::string_view left, right;
      if (item.is_array()) {
        const dom::array pair = item;
        check_merge(pair.size() == 2);
        left = pair.at(0).get_string().value();
        right = pair.at(1).get_string().value();
      } else {
        const std::string_view merge = item.get_string();
        const size_t blank = merge.find(' ');
        check_merge(blank != std::string_view::npos &&
                    merge.find(' ', blank + 1) == std::string_view::npos);
        left = merge.substr(0, blank);
        right = merge.substr(blank + 1);
      }
      model.merges.emplace_back(left, right);
    }
  }

  void check_merge(bool is_good) const {
    if (!is_good) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: model.merges.{}: expected two pieces, as a list or with one blank "
                       "between them",
                       path_, parts_.model.merges.size()));
    }
  }

  std::string path_;
  simdjson::padded_string padded_;
  dom::parser parser_;
  Parts parts_;
};

JsonPart parse_part(const std::string& json, std::string_view path, std::string_view key) {
  const std::string where = fmt::format("{}: {}", path, key);
  return JsonPart::parse(json.empty() ? "null" : std::string_view(json), where);
}

std::vector<AddedToken> read_added_tokens(const JsonPart& part) {
  std::vector<AddedToken> tokens;
  for (const JsonPart& item : part.items()) {
    AddedToken token;
    token.text = item.get_text("content");
    token.id = static_cast<TokenId>(item.get("id").count((1 << 24) - 1));
    token.is_control = item.flag_or("special", false);
    token.strips_left = item.flag_or("lstrip", false);
    token.strips_right = item.flag_or("rstrip", false);
    token.single_word = item.flag_or("single_word", false);
    token.normalized = item.flag_or("normalized", !token.is_control);
    if (!token.text.empty()) {
      tokens.push_back(std::move(token));
    }
  }
  return tokens;
}

// Entries for all ids. The model is built over them, so none may be added later.
void make_room(const std::vector<AddedToken>& tokens, Vocabulary& vocabulary) {
  size_t n = vocabulary.texts.size();
  for (const AddedToken& token : tokens) {
    n = std::max(n, static_cast<size_t>(token.id) + 1);
  }
  vocabulary.texts.resize(n);
  vocabulary.kinds.resize(n, TokenKind::kUnused);
  vocabulary.scores.resize(vocabulary.scores.empty() ? 0 : n);
}

// Texts and kinds of the added tokens. A token whose id is another one's in the model's vocabulary
// would be read in two ways, and is refused.
void name_added_tokens(Pipeline& pipeline) {
  Vocabulary& vocabulary = *pipeline.vocabulary;
  for (const AddedToken& token : pipeline.added) {
    const auto id = static_cast<size_t>(token.id);
    std::string& text = vocabulary.texts[id];
    const auto known = pipeline.model->find(token.text);
    const bool is_other = vocabulary.kinds[id] != TokenKind::kUnused && text != token.text;
    if (is_other || (known && *known != token.id)) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: added_tokens: '{}' has the id {} here, but {}", pipeline.path,
                       token.text.substr(0, 40), id,
                       is_other ? fmt::format("that is the id of '{}'", text.substr(0, 40))
                                : fmt::format("{} in the model's vocabulary", *known)));
    }
    text = token.text;
    vocabulary.kinds[id] = token.is_control ? TokenKind::kControl : TokenKind::kUserDefined;
  }
}

}  // namespace

Pipeline read_tokenizer_json(std::string_view text, std::string_view path) {
  FileReader reader(text, path);
  Parts parts = reader.read();
  JsonModel& model = parts.model;
  name_model(model);
  Pipeline pipeline;
  pipeline.path = path;
  pipeline.vocabulary = std::make_unique<Vocabulary>();
  fill_vocabulary(model, *pipeline.vocabulary);
  pipeline.normalizer = read_normalizer(parse_part(parts.normalizer, path, "normalizer"));
  ReadSteps steps = read_pre_tokenizer(parse_part(parts.pre_tokenizer, path, "pre_tokenizer"),
                                       can_read_bytes(model));
  pipeline.pre_tokenizer = PreTokenizer(std::move(steps.steps));
  pipeline.added = read_added_tokens(
      parse_part(parts.added_tokens.empty() ? "[]" : parts.added_tokens, path, "added_tokens"));
  make_room(pipeline.added, *pipeline.vocabulary);
  const bool is_composed = parts.normalizer.empty() || parts.normalizer.find("NFC") < 16;
  pipeline.keeps_text = steps.byte_level_words && steps.keeps_text && is_composed &&
                        has_all_bytes(model) && parts.decoder.find("ByteLevel") < 16;
  pipeline.model = make_json_model(model, *pipeline.vocabulary, steps.byte_level_words);
  name_added_tokens(pipeline);
  pipeline.decode_steps = read_decoder(parse_part(parts.decoder, path, "decoder"));
  AroundText around = read_post_processor(parse_part(parts.post_processor, path, "post_processor"),
                                          pipeline.vocabulary->texts.size());
  pipeline.prefix = std::move(around.prefix);
  pipeline.suffix = std::move(around.suffix);
  return pipeline;
}

}  // namespace fathom::codec
