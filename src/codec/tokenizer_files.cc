// The kind of a file by its name, and for .model by how it begins; then what a folder's other files
// add.
// Called by codec/tokenizer, apps. Read next: codec/tokenizer_json.cc. Source: what transformers
// reads beside a tokenizer.
#include "codec/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "codec/json_part.h"
#include "codec/self_test.h"
#include "codec/sentencepiece_file.h"
#include "codec/text_tokenizer.h"
#include "codec/tiktoken.h"
#include "codec/tokenizer_json.h"
#include "codec/vocabulary.h"
#include "weights/model_file.h"

namespace fathom::codec {

namespace {

namespace fs = std::filesystem;

std::string_view view_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// The file's JSON, if it is there.
std::optional<JsonPart> read_json(const fs::path& path) {
  if (!fs::exists(path)) {
    return std::nullopt;
  }
  const MappedFile file(path.string());
  return JsonPart::parse(view_of(file), path.string());
}

Pipeline read_rank_file(const MappedFile& file, const fs::path& path) {
  const fs::path beside = path.parent_path() / "tiktoken.json";
  std::optional<TiktokenSettings> settings;
  if (fs::exists(beside)) {
    const MappedFile json(beside.string());
    settings = read_tiktoken_settings(view_of(json), beside.string());
  }
  return read_tiktoken(view_of(file), path.string(), settings);
}

Pipeline read_file(const fs::path& path) {
  const MappedFile file(path.string());
  const std::string_view bytes = view_of(file);
  if (path.extension() == ".json") {
    return read_tokenizer_json(bytes, path.string());
  }
  if (path.extension() == ".tiktoken" || is_tiktoken(bytes)) {
    return read_rank_file(file, path);
  }
  return read_sentencepiece_model(bytes, path.string());
}

// A token as these files name it: a text, or an object with a "content".
std::optional<std::string> read_token(const JsonPart& config, std::string_view key) {
  const JsonPart* part = config.find(key);
  if (part == nullptr) {
    return std::nullopt;
  }
  return part->type() == JsonPart::Type::kObject ? part->find_text("content")
                                                 : std::optional(part->text());
}

std::optional<TokenId> find_token(const Pipeline& pipeline, const JsonPart& config,
                                  std::string_view key) {
  const std::optional<std::string> text = read_token(config, key);
  const auto& texts = pipeline.vocabulary->texts;
  const auto found = text ? std::find(texts.begin(), texts.end(), *text) : texts.end();
  return found == texts.end() ? std::nullopt
                              : std::optional(static_cast<TokenId>(found - texts.begin()));
}

void name_special_tokens(const JsonPart& config, Pipeline& pipeline) {
  Vocabulary& vocabulary = *pipeline.vocabulary;
  const auto put = [&](std::string_view key, std::optional<TokenId>& id) {
    if (const auto found = find_token(pipeline, config, key)) {
      id = found;
    }
  };
  put("bos_token", vocabulary.bos);
  put("eos_token", vocabulary.eos);
  put("unk_token", vocabulary.unk);
  put("pad_token", vocabulary.pad);
}

// A folder that says whether BOS or EOS are added has the last word.
void set_template(const JsonPart& config, Pipeline& pipeline) {
  const JsonPart* bos = config.find("add_bos_token");
  const JsonPart* eos = config.find("add_eos_token");
  if (bos == nullptr && eos == nullptr) {
    return;
  }
  Vocabulary& vocabulary = *pipeline.vocabulary;
  pipeline.prefix.clear();
  pipeline.suffix.clear();
  if (bos != nullptr && bos->flag() && vocabulary.bos) {
    pipeline.prefix.push_back(*vocabulary.bos);
  }
  if (eos != nullptr && eos->flag() && vocabulary.eos) {
    pipeline.suffix.push_back(*vocabulary.eos);
  }
}

std::string read_text(const fs::path& path) {
  const MappedFile file(path.string());
  return std::string(view_of(file));
}

// [{"name": "default", "template": "..."}], or the text of the only one.
void read_config_templates(const JsonPart& part, Vocabulary& vocabulary) {
  if (part.type() == JsonPart::Type::kText) {
    vocabulary.chat_template = part.text();
    return;
  }
  for (const JsonPart& named : part.items()) {
    std::string name = named.get_text("name");
    std::string source = named.get_text("template");
    if (name == "default") {
      vocabulary.chat_template = std::move(source);
    } else {
      vocabulary.named_templates.push_back({std::move(name), std::move(source)});
    }
  }
}

// chat_template.jinja with additional_chat_templates/NAME.jinja, else what tokenizer_config.json
// says.
void read_chat_templates(const fs::path& folder, const std::optional<JsonPart>& config,
                         Vocabulary& vocabulary) {
  const fs::path jinja = folder / "chat_template.jinja";
  const fs::path more = folder / "additional_chat_templates";
  const JsonPart* part = config ? config->find("chat_template") : nullptr;
  if (fs::exists(jinja)) {
    vocabulary.chat_template = read_text(jinja);
  } else if (part != nullptr) {
    read_config_templates(*part, vocabulary);
  }
  if (!fs::is_directory(more)) {
    return;
  }
  for (const auto& entry : fs::directory_iterator(more)) {
    if (entry.path().extension() == ".jinja") {
      vocabulary.named_templates.push_back({entry.path().stem().string(), read_text(entry.path())});
    }
  }
  std::sort(vocabulary.named_templates.begin(), vocabulary.named_templates.end(),
            [](const NamedTemplate& a, const NamedTemplate& b) { return a.name < b.name; });
}

void read_end_tokens(const fs::path& folder, Vocabulary& vocabulary) {
  const auto config = read_json(folder / "generation_config.json");
  const JsonPart* ids = config ? config->find("eos_token_id") : nullptr;
  if (ids == nullptr) {
    return;
  }
  const auto add = [&](const JsonPart& part) {
    vocabulary.more_ends.push_back(
        static_cast<TokenId>(part.count(static_cast<int64_t>(vocabulary.texts.size()) - 1)));
  };
  if (ids->type() == JsonPart::Type::kNumber) {
    add(*ids);
  } else {
    for (const JsonPart& id : ids->items()) {
      add(id);
    }
  }
}

Pipeline read_folder(const fs::path& folder) {
  const auto file = find_tokenizer_file(folder.string());
  if (!file) {
    fail(ErrorCode::kNotFound,
         fmt::format(
             "{}: no tokenizer file: expected tokenizer.json, tokenizer.model or *.tiktoken; "
             "give token ids with --ids",
             folder.string()));
  }
  Pipeline pipeline = read_file(*file);
  Vocabulary& vocabulary = *pipeline.vocabulary;
  const auto map = read_json(folder / "special_tokens_map.json");
  if (map) {
    name_special_tokens(*map, pipeline);
  }
  const auto config = read_json(folder / "tokenizer_config.json");
  if (config) {
    name_special_tokens(*config, pipeline);
    set_template(*config, pipeline);
  }
  read_end_tokens(folder, vocabulary);
  read_chat_templates(folder, config, vocabulary);
  for (AddedToken& token : pipeline.added) {
    token.is_marker =
        !token.is_control && is_markup(token.text) && is_in_templates(vocabulary, token.text);
  }
  return pipeline;
}

// The first id of the template is BOS, where nothing else says what BOS is.
void note_template(Pipeline& pipeline) {
  Vocabulary& vocabulary = *pipeline.vocabulary;
  if (!vocabulary.bos && !pipeline.prefix.empty()) {
    vocabulary.bos = pipeline.prefix[0];
  }
  vocabulary.add_bos = !pipeline.prefix.empty() && vocabulary.bos == pipeline.prefix[0];
  vocabulary.add_eos = !pipeline.suffix.empty() && vocabulary.eos == pipeline.suffix.back();
}

}  // namespace

bool is_gguf(const std::string& path) {
  if (fs::is_directory(path)) {
    return false;
  }
  const MappedFile file(path);
  return view_of(file).starts_with("GGUF");
}

std::optional<std::string> find_tokenizer_file(const std::string& folder) {
  for (const std::string_view name : {"tokenizer.json", "tokenizer.model"}) {
    const fs::path path = fs::path(folder) / name;
    if (fs::exists(path)) {
      return path.string();
    }
  }
  std::vector<std::string> ranks;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tiktoken") {
      ranks.push_back(entry.path().string());
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks.empty() ? std::nullopt : std::optional(ranks[0]);
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path) {
  if (is_gguf(path)) {
    return make_tokenizer(weights::open_model(path)->metadata);
  }
  Pipeline pipeline = fs::is_directory(path) ? read_folder(path) : read_file(path);
  note_template(pipeline);
  return check_tokenizer(std::make_unique<TextTokenizer>(std::move(pipeline)));
}

}  // namespace fathom::codec
