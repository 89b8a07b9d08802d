// Names, bytes and numbers of tokens.
// Called by api/openai/answer_json. Source: OpenAI's API reference, "logprobs".
#include "api/openai/logprobs_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/openai/token_names.h"

namespace fathom::api::openai {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kImpossible = -9999.0;

double finite(float logprob) {
  return std::isfinite(logprob) ? static_cast<double>(logprob) : kImpossible;
}

Json bytes_json(const std::string& bytes) {
  Json list = Json::array();
  for (const char byte : bytes) {
    list.push_back(static_cast<unsigned char>(byte));
  }
  return list;
}

Json entry_json(const codec::Tokenizer& tokenizer, int32_t id, float logprob, bool at_start) {
  const std::string bytes = token_bytes(tokenizer, id, at_start);
  return {{"token", token_name(tokenizer, id, bytes)},
          {"logprob", finite(logprob)},
          {"bytes", bytes_json(bytes)}};
}

}  // namespace

Json token_json(const codec::Tokenizer& tokenizer, const sample::Sampled& sampled, bool at_start) {
  Json entry = entry_json(tokenizer, sampled.id, sampled.logprob, at_start);
  Json best = Json::array();
  for (const sample::TokenLogprob& other : sampled.best) {
    best.push_back(entry_json(tokenizer, other.id, other.logprob, at_start));
  }
  entry["top_logprobs"] = std::move(best);
  return entry;
}

Json prompt_json(const codec::Tokenizer& tokenizer, std::span<const sample::Sampled> prompt) {
  Json list = Json::array({nullptr});
  for (const sample::Sampled& sampled : prompt) {
    list.push_back(token_json(tokenizer, sampled, false));
  }
  return list;
}

struct LegacyLogprobs::Lists {
  Json tokens = Json::array();
  Json logprobs = Json::array();
  Json best = Json::array();
  Json offsets = Json::array();
  Json bytes = Json::array();
};

LegacyLogprobs::LegacyLogprobs(const codec::Tokenizer& tokenizer, int64_t n_characters)
    : tokenizer_(&tokenizer), n_characters_(n_characters), lists_(std::make_unique<Lists>()) {}

LegacyLogprobs::~LegacyLogprobs() = default;

void LegacyLogprobs::add_token(int32_t id, const std::string& bytes) {
  lists_->tokens.push_back(token_name(*tokenizer_, id, bytes));
  lists_->offsets.push_back(n_characters_);
  lists_->bytes.push_back(bytes_json(bytes));
  n_characters_ += count_characters(bytes);
}

// The chosen token is one of those listed, also where it is none of the likeliest.
void LegacyLogprobs::add(const sample::Sampled& sampled, bool at_start) {
  const std::string chosen = token_bytes(*tokenizer_, sampled.id, at_start);
  add_token(sampled.id, chosen);
  lists_->logprobs.push_back(finite(sampled.logprob));
  Json best = Json::object();
  for (const sample::TokenLogprob& other : sampled.best) {
    const std::string bytes = token_bytes(*tokenizer_, other.id, at_start);
    best[token_name(*tokenizer_, other.id, bytes)] = finite(other.logprob);
  }
  if (!sampled.best.empty()) {
    best.emplace(token_name(*tokenizer_, sampled.id, chosen), finite(sampled.logprob));
  }
  lists_->best.push_back(sampled.best.empty() ? Json() : std::move(best));
}

void LegacyLogprobs::add_first(int32_t id, bool is_silent) {
  add_token(id, is_silent ? std::string() : token_bytes(*tokenizer_, id, true));
  lists_->logprobs.push_back(nullptr);
  lists_->best.push_back(nullptr);
}

Json LegacyLogprobs::take() {
  return {{"tokens", std::move(lists_->tokens)},
          {"token_logprobs", std::move(lists_->logprobs)},
          {"top_logprobs", std::move(lists_->best)},
          {"text_offset", std::move(lists_->offsets)},
          {"bytes", std::move(lists_->bytes)}};
}

}  // namespace fathom::api::openai
