// The sampler chain as data: names to steps, and the ranges of every parameter.
// Called by apps (flags), engine (requests). Read next: sample/sampler.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/error.h"
#include "sample/sampler.h"

namespace fathom::sample {

namespace {

struct StepName {
  std::string_view name;
  Step step;
};

// The names that llama.cpp uses, and its short forms.
constexpr std::array kStepNames = {
    StepName{"penalties", Step::kPenalties}, StepName{"temperature", Step::kTemperature},
    StepName{"temp", Step::kTemperature},    StepName{"top_k", Step::kTopK},
    StepName{"top-k", Step::kTopK},          StepName{"top_p", Step::kTopP},
    StepName{"top-p", Step::kTopP},          StepName{"min_p", Step::kMinP},
    StepName{"min-p", Step::kMinP},
};

// Samplers that other programs have.
constexpr std::array<std::string_view, 22> kUnknownHere = {
    "dry",       "xtc",        "mirostat",   "mirostat_v2", "typ_p",          "typical",
    "typical_p", "tfs",        "tfs_z",      "top_n_sigma", "top-nsigma",     "infill",
    "dynatemp",  "temp_ext",   "top_a",      "eta_cutoff",  "epsilon_cutoff", "quadratic",
    "smoothing", "adaptive_p", "logit_bias", "grammar"};

Step parse_step(std::string_view name) {
  for (const StepName& entry : kStepNames) {
    if (entry.name == name) {
      return entry.step;
    }
  }
  constexpr std::string_view kOurs = "penalties, temperature, top_k, top_p, min_p";
  if (std::find(kUnknownHere.begin(), kUnknownHere.end(), name) != kUnknownHere.end()) {
    fail(ErrorCode::kUnsupported,
         fmt::format("'{}' is no step of a chain in Fathom; there are: {}", name, kOurs));
  }
  fail(ErrorCode::kInvalidArgument,
       fmt::format("unknown sampler '{}'; there are: {}", name, kOurs));
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Refuses a parameter, with its name as the command line spells it.
void require(bool good, std::string_view name, double found, std::string_view allowed) {
  if (!good) {
    fail(ErrorCode::kInvalidArgument, fmt::format("{} is {}; allowed: {}", name, found, allowed));
  }
}

}  // namespace

std::string_view name_of(Step step) {
  for (const StepName& entry : kStepNames) {
    if (entry.step == step) {
      return entry.name;
    }
  }
  return "?";
}

std::vector<Step> parse_chain(std::string_view list) {
  std::vector<Step> chain;
  while (true) {
    const size_t end = list.find_first_of(";,");
    const Step step = parse_step(trimmed(list.substr(0, end)));
    if (std::find(chain.begin(), chain.end(), step) != chain.end()) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("'{}' stands twice; each step runs once", name_of(step)));
    }
    chain.push_back(step);
    if (end == std::string_view::npos) {
      return chain;
    }
    list.remove_prefix(end + 1);
  }
}

void check(const SamplingParams& params, int64_t n_vocab) {
  const auto is_finite = [](float value) { return std::isfinite(value); };
  require(is_finite(params.temperature) && params.temperature >= 0, "temperature",
          params.temperature, "0 (greedy) and more");
  require(params.top_k >= 0, "top_k", params.top_k, "0 (off) and more");
  require(params.top_p > 0 && params.top_p <= 1, "top_p", params.top_p, "above 0, up to 1 (off)");
  require(params.min_p >= 0 && params.min_p <= 1, "min_p", params.min_p, "0 (off) to 1");
  require(is_finite(params.repeat_penalty) && params.repeat_penalty > 0, "repeat_penalty",
          params.repeat_penalty, "above 0 (1: off)");
  require(is_finite(params.presence_penalty), "presence_penalty", params.presence_penalty,
          "a finite number (0: off)");
  require(is_finite(params.frequency_penalty), "frequency_penalty", params.frequency_penalty,
          "a finite number (0: off)");
  require(params.penalty_window >= -1, "penalty_window", params.penalty_window,
          "-1 (the whole text) and more");
  require(params.n_logprobs >= -1 && params.n_logprobs <= n_vocab, "logprobs", params.n_logprobs,
          fmt::format("0 to {} (the vocabulary)", n_vocab));
  for (const auto& [id, bias] : params.logit_bias) {
    require(id >= 0 && id < n_vocab, "logit_bias: the token id", id,
            fmt::format("0 to {}", n_vocab - 1));
    require(is_finite(bias) || bias < 0, fmt::format("logit_bias of token {}", id), bias,
            "a finite number, or -inf to forbid the token");
  }
  const auto require_id = [&](std::string_view name, int32_t id) {
    require(id >= 0 && id < n_vocab, name, id, fmt::format("0 to {}", n_vocab - 1));
  };
  for (const int32_t id : params.allowed_ids) {
    require_id("allowed_ids: the token id", id);
  }
  for (const std::vector<int32_t>& word : params.bad_words) {
    require(!word.empty(), "bad_words: the length of a word", 0, "1 token and more");
    for (const int32_t id : word) {
      require_id("bad_words: the token id", id);
    }
  }
}

}  // namespace fathom::sample
