// Metadata to Vocabulary, key by key.
// Called by codec/tokenizer. Source: the GGUF specification, "Tokenizer".
#include "codec/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kKindsKey = "tokenizer.ggml.token_type";
constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

[[noreturn]] void fail_key(const weights::Metadata& metadata, std::string_view key,
                           std::string_view what) {
  fail(ErrorCode::kCorruptFile, fmt::format("{}: key '{}': {}", metadata.path(), key, what));
}

void check_length(const weights::Metadata& metadata, std::string_view key, size_t found,
                  size_t expected) {
  if (found != expected) {
    fail_key(metadata, key,
             fmt::format("found {} entries, expected {}, one for each of '{}'", found, expected,
                         kTokensKey));
  }
}

const std::vector<std::string>& read_texts(const weights::Metadata& metadata) {
  const auto* texts = metadata.find_strings(kTokensKey);
  if (texts == nullptr) {
    fail_key(metadata, kTokensKey, "is missing; the file has no vocabulary");
  }
  if (texts->empty() || texts->size() > static_cast<size_t>(std::numeric_limits<TokenId>::max())) {
    fail_key(metadata, kTokensKey,
             fmt::format("found {} tokens, expected 1 to 2147483647", texts->size()));
  }
  const std::string key = metadata.find_string("general.architecture").value_or("") + ".vocab_size";
  const std::optional<int64_t> n_vocab = metadata.find_int(key);
  if (n_vocab && *n_vocab > static_cast<int64_t>(texts->size())) {
    fail_key(metadata, kTokensKey,
             fmt::format("found {} tokens, but key '{}' says {}; the vocabulary is cut short",
                         texts->size(), key, *n_vocab));
  }
  return *texts;
}

std::vector<float> read_scores(const weights::Metadata& metadata, size_t n_vocab) {
  std::vector<float> scores;
  const auto* found = metadata.find_doubles(kScoresKey);
  if (found == nullptr) {
    return scores;
  }
  check_length(metadata, kScoresKey, found->size(), n_vocab);
  scores.reserve(n_vocab);
  for (size_t id = 0; id < n_vocab; ++id) {
    if (std::isnan((*found)[id])) {
      fail_key(metadata, kScoresKey, fmt::format("entry {} is not a number", id));
    }
    scores.push_back(static_cast<float>((*found)[id]));
  }
  return scores;
}

std::vector<TokenKind> read_kinds(const weights::Metadata& metadata, size_t n_vocab) {
  const auto* found = metadata.find_ints(kKindsKey);
  if (found == nullptr) {
    return std::vector<TokenKind>(n_vocab, TokenKind::kNormal);
  }
  check_length(metadata, kKindsKey, found->size(), n_vocab);
  std::vector<TokenKind> kinds;
  kinds.reserve(n_vocab);
  for (size_t id = 0; id < n_vocab; ++id) {
    const int64_t kind = (*found)[id];
    if (kind < static_cast<int64_t>(TokenKind::kNormal) ||
        kind > static_cast<int64_t>(TokenKind::kByte)) {
      fail_key(metadata, kKindsKey, fmt::format("entry {} is {}, expected 1 to 6", id, kind));
    }
    kinds.push_back(static_cast<TokenKind>(kind));
  }
  return kinds;
}

void check_byte_tokens(const weights::Metadata& metadata, const Vocabulary& vocabulary) {
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    if (vocabulary.kinds[id] == TokenKind::kByte && parse_byte_token(vocabulary.texts[id]) < 0) {
      fail_key(metadata, kTokensKey,
               fmt::format("entry {} is '{}', a byte token; expected <0x00> to <0xFF>", id,
                           vocabulary.texts[id].substr(0, 40)));
    }
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

int parse_byte_token(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') {
    return -1;
  }
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

std::optional<TokenId> read_token_id(const weights::Metadata& metadata, std::string_view key,
                                     size_t n_vocab) {
  const std::optional<int64_t> id = metadata.find_int(key);
  if (!id) {
    return std::nullopt;
  }
  if (*id < 0 || *id >= static_cast<int64_t>(n_vocab)) {
    fail_key(
        metadata, key,
        fmt::format("found the id {}, expected 0 to {} (the vocabulary's last)", *id, n_vocab - 1));
  }
  return static_cast<TokenId>(*id);
}

// Keys "tokenizer.chat_template.NAME".
std::vector<NamedTemplate> read_named_templates(const weights::Metadata& metadata) {
  const std::string prefix = std::string(kTemplateKey) + ".";
  std::vector<NamedTemplate> named;
  for (const auto& [key, value] : metadata.entries()) {
    if (key.starts_with(prefix)) {
      named.push_back({key.substr(prefix.size()), metadata.get_string(key)});
    }
  }
  return named;
}

Vocabulary read_vocabulary(const weights::Metadata& metadata) {
  Vocabulary vocabulary;
  vocabulary.model = metadata.get_string("tokenizer.ggml.model");
  vocabulary.pre = metadata.find_string("tokenizer.ggml.pre").value_or("");
  vocabulary.texts = read_texts(metadata);
  const size_t n_vocab = vocabulary.texts.size();
  vocabulary.scores = read_scores(metadata, n_vocab);
  vocabulary.kinds = read_kinds(metadata, n_vocab);
  check_byte_tokens(metadata, vocabulary);
  vocabulary.bos = read_token_id(metadata, "tokenizer.ggml.bos_token_id", n_vocab);
  vocabulary.eos = read_token_id(metadata, "tokenizer.ggml.eos_token_id", n_vocab);
  vocabulary.eot = read_token_id(metadata, "tokenizer.ggml.eot_token_id", n_vocab);
  vocabulary.eom = read_token_id(metadata, "tokenizer.ggml.eom_token_id", n_vocab);
  vocabulary.unk = read_token_id(metadata, "tokenizer.ggml.unknown_token_id", n_vocab);
  vocabulary.pad = read_token_id(metadata, "tokenizer.ggml.padding_token_id", n_vocab);
  vocabulary.add_bos = metadata.find_bool("tokenizer.ggml.add_bos_token").value_or(false);
  vocabulary.add_eos = metadata.find_bool("tokenizer.ggml.add_eos_token").value_or(false);
  vocabulary.add_space_prefix =
      metadata.find_bool("tokenizer.ggml.add_space_prefix").value_or(false);
  vocabulary.chat_template = metadata.find_string(kTemplateKey).value_or("");
  vocabulary.named_templates = read_named_templates(metadata);
  return vocabulary;
}

bool is_in_templates(const Vocabulary& vocabulary, std::string_view text) {
  const auto holds = [&](std::string_view source) {
    return source.find(text) != std::string_view::npos;
  };
  return holds(vocabulary.chat_template) ||
         std::any_of(vocabulary.named_templates.begin(), vocabulary.named_templates.end(),
                     [&](const NamedTemplate& entry) { return holds(entry.source); });
}

}  // namespace fathom::codec
