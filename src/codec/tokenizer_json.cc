// The file is scanned once: vocabulary and merges stay where they lie in it, the small parts become
// JsonParts. Then the stages are built in the order in which a text meets them.
// Called by codec/tokenizer_files. Read next: codec/json_models.cc, codec/json_normalizers.cc.
#include "codec/tokenizer_json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codec/json_models.h"
#include "codec/json_normalizers.h"
#include "codec/json_part.h"
#include "codec/json_scanner.h"
#include "codec/json_template.h"

namespace fathom::codec {

namespace {

// Ids from here on are no token of a published vocabulary but a broken file.
constexpr int64_t kMostIds = int64_t{1} << 24;

// Bytes that a merge takes in a file at least, but for the shortest: sizes the list in one go.
constexpr size_t kUsualEntry = 16;

// What the file holds, before anything is built.
struct Parts {
  JsonModel model;
  bool has_model = false;
  std::vector<AddedToken> added_tokens;
  std::string normalizer, pre_tokenizer, post_processor, decoder;  // JSON texts
};

class FileReader {
 public:
  FileReader(std::string_view text, std::string_view path)
      : path_(path), scanner_(text, std::string(path)) {}

  // The texts of the model lie in the file or in the reader.
  Parts read() {
    scanner_.read_object([&](std::string_view key) { read_field(key); });
    scanner_.finish();
    if (!parts_.has_model) {
      fail(ErrorCode::kCorruptFile, fmt::format("{}: key 'model' is missing", path_));
    }
    return std::move(parts_);
  }

 private:
  void read_field(std::string_view key) {
    if (key == "model") {
      parts_.has_model = true;
      parts_.model.where = fmt::format("{}: model", path_);
      scanner_.read_object([&](std::string_view field) { read_model_field(field); });
    } else if (key == "added_tokens") {
      parts_.added_tokens.clear();
      if (!scanner_.skip_null()) {
        scanner_.read_list([&] { read_added_token(parts_.added_tokens.size()); });
      }
    } else if (key == "normalizer") {
      parts_.normalizer = read_small();
    } else if (key == "pre_tokenizer") {
      parts_.pre_tokenizer = read_small();
    } else if (key == "post_processor") {
      parts_.post_processor = read_small();
    } else if (key == "decoder") {
      parts_.decoder = read_small();
    } else if (key == "version") {
      const std::string_view version = scanner_.read_text();
      if (version != "1.0") {
        fail(ErrorCode::kUnsupported,
             fmt::format("{}: found version '{}', expected '1.0'", path_, version));
      }
    } else {
      scanner_.read_raw();  // "truncation" and "padding" shape batches; they change no single text
    }
  }

  // The JSON of a value without its white space; "" for null.
  std::string read_small() {
    if (scanner_.skip_null()) {
      return {};
    }
    const std::string_view raw = scanner_.read_raw();
    std::string small(raw.size(), '\0');
    size_t size = 0;
    if (simdjson::minify(raw.data(), raw.size(), small.data(), size) != simdjson::SUCCESS) {
      scanner_.refuse("a value");
    }
    small.resize(size);
    return small;
  }

  std::string read_text_or_none() {
    return scanner_.skip_null() ? std::string() : std::string(scanner_.read_text());
  }

  bool read_flag_or_none() { return !scanner_.skip_null() && scanner_.read_bool(); }

  void read_model_field(std::string_view key) {
    JsonModel& model = parts_.model;
    if (key == "type") {
      model.type = scanner_.read_text();
    } else if (key == "vocab") {
      read_vocab();
    } else if (key == "merges") {
      read_merges();
    } else if (key == "unk_token") {
      if (!scanner_.skip_null()) {
        model.unk_token = std::string(scanner_.read_text());
      }
    } else if (key == "unk_id") {
      if (!scanner_.skip_null()) {
        model.unk_id = scanner_.read_integer();
      }
    } else if (key == "continuing_subword_prefix") {
      model.continuing_prefix = read_text_or_none();
    } else if (key == "end_of_word_suffix") {
      model.end_suffix = read_text_or_none();
    } else if (key == "fuse_unk") {
      model.fuse_unk = read_flag_or_none();
    } else if (key == "byte_fallback") {
      model.byte_fallback = read_flag_or_none();
    } else if (key == "ignore_merges") {
      model.ignore_merges = read_flag_or_none();
    } else if (key == "dropout") {
      model.dropout = scanner_.skip_null() ? 0.0 : scanner_.read_number();
    } else if (key == "max_input_chars_per_word") {
      model.most_characters = scanner_.read_integer();
    } else {
      scanner_.read_raw();
    }
  }

  void read_vocab() {
    JsonModel& model = parts_.model;
    model.vocab.clear();
    model.vocab.reserve(scanner_.n_left() / (2 * kUsualEntry));
    model.vocab_is_list = scanner_.peek() == JsonScanner::Type::kList;
    if (!model.vocab_is_list) {
      scanner_.read_object([&](std::string_view text) {
        model.vocab.push_back({text, scanner_.read_integer(), 0});
      });
      return;
    }
    scanner_.read_list([&] {
      JsonModel::Entry entry;
      entry.id = static_cast<int64_t>(model.vocab.size());
      size_t n_values = 0;
      scanner_.read_list([&] {
        if (n_values == 0) {
          entry.text = scanner_.read_text();
        } else {
          entry.score = scanner_.read_number();
        }
        ++n_values;
      });
      if (n_values != 2) {
        fail(ErrorCode::kCorruptFile,
             fmt::format("{}: model.vocab.{}: expected a text and a score", path_, entry.id));
      }
      model.vocab.push_back(entry);
    });
  }

  // Null counts as missing.
  void read_added_token(size_t place) {
    AddedToken token;
    std::optional<int64_t> id;
    std::optional<std::string> text;
    std::optional<bool> normalized;
    scanner_.read_object([&](std::string_view key) {
      if (scanner_.skip_null()) {
        return;
      }
      if (key == "id") {
        id = scanner_.read_integer();
      } else if (key == "content") {
        text = std::string(scanner_.read_text());
      } else if (key == "normalized") {
        normalized = scanner_.read_bool();
      } else if (bool* flag = flag_of(token, key)) {
        *flag = scanner_.read_bool();
      } else {
        scanner_.read_raw();
      }
    });
    if (!id || !text) {
      refuse_added(place, fmt::format("key '{}' is missing", id ? "content" : "id"));
    }
    if (*id < 0 || *id >= kMostIds) {
      refuse_added(place, fmt::format("'id' is {}, expected 0 to {}", *id, kMostIds - 1));
    }
    token.id = static_cast<TokenId>(*id);
    token.text = std::move(*text);
    token.normalized = normalized.value_or(!token.is_control);
    parts_.added_tokens.push_back(std::move(token));
  }

  static bool* flag_of(AddedToken& token, std::string_view key) {
    return key == "special"       ? &token.is_control
           : key == "lstrip"      ? &token.strips_left
           : key == "rstrip"      ? &token.strips_right
           : key == "single_word" ? &token.single_word
                                  : nullptr;
  }

  [[noreturn]] void refuse_added(size_t place, std::string_view what) const {
    fail(ErrorCode::kCorruptFile, fmt::format("{}: added_tokens[{}]: {}", path_, place, what));
  }

  void read_merges() {
    JsonModel& model = parts_.model;
    model.merges.clear();
    model.merges.reserve(scanner_.n_left() / kUsualEntry);
    model.has_merges = true;
    scanner_.read_list([&] {
      if (scanner_.peek() == JsonScanner::Type::kList) {
        std::array<std::string_view, 2> pair;
        size_t n_texts = 0;
        scanner_.read_list([&] {
          check_merge(n_texts < pair.size());
          pair[n_texts++] = scanner_.read_text();
        });
        check_merge(n_texts == pair.size());
        model.merges.push_back({pair[0], pair[1]});
        return;
      }
      const std::string_view merge = scanner_.read_text();
      const size_t blank = merge.find(' ');
      check_merge(blank != std::string_view::npos &&
                  merge.find(' ', blank + 1) == std::string_view::npos);
      model.merges.push_back({merge.substr(0, blank), merge.substr(blank + 1)});
    });
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
  JsonScanner scanner_;
  Parts parts_;
};

JsonPart parse_part(const std::string& json, std::string_view path, std::string_view key) {
  const std::string where = fmt::format("{}: {}", path, key);
  return JsonPart::parse(json.empty() ? "null" : std::string_view(json), where);
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
  std::erase_if(parts.added_tokens, [](const AddedToken& token) { return token.text.empty(); });
  pipeline.added = std::move(parts.added_tokens);
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
