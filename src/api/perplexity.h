// How well a model predicts a text: perplexity as llama-perplexity defines it.
// Called by apps/perplexity. Read next: api/score.h, api/divergence.h, api/saved_logprobs.h.
// Sources: llama.cpp, tools/perplexity (the definition: chunks, BOS, second halves).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "api/session.h"

namespace fathom::api {

inline constexpr int64_t kDefaultChunk = 512;
inline constexpr int64_t kMinChunk = 8;  // 3 scored tokens, so that there is a standard error

// A text cut into chunks that know nothing of each other.
struct ChunkedText {
  int64_t chunk = kDefaultChunk;  // tokens in each
  // [n_chunks * chunk] as the model reads them: where it adds BOS, BOS stands in place of the first
  // token of every chunk. What is left after the last whole chunk is dropped.
  std::vector<int32_t> ids = {};

  [[nodiscard]] int64_t n_chunks() const { return std::ssize(ids) / chunk; }

  // First token of a chunk that is scored. Those before it, half of the chunk, are only read, so
  // that every scored token has a context.
  [[nodiscard]] int64_t first_scored() const { return chunk / 2 + 1; }

  [[nodiscard]] int64_t scored_per_chunk() const { return chunk - first_scored(); }
};

// Tokenizes `text` as a whole, with what the tokenizer adds around a text, and cuts it into chunks:
// all of them, or the first max_chunks (-1: all). Error: kInvalidArgument for a text shorter than
// one chunk, both numbers named.
ChunkedText cut_text(const codec::Tokenizer& tokenizer, std::string_view text, int64_t chunk,
                     int64_t max_chunks);

// Sums over scored tokens of -ln(probability of the token).
struct PerplexitySum {
  int64_t n_tokens = 0;
  double nll = 0;
  double squares = 0;

  void add(double token_nll);

  // Nats per token.
  [[nodiscard]] double mean() const { return nll / static_cast<double>(n_tokens); }

  [[nodiscard]] double perplexity() const;

  // Standard error of perplexity(), from the spread of the tokens' nll; 0 below two tokens.
  [[nodiscard]] double error() const;
};

// Scored tokens in a row, of one chunk.
struct ScoredRows {
  int64_t first = 0;  // index in ChunkedText::ids of the token that row 0 predicts
  std::span<const int32_t> targets = {};  // [n]: the tokens that stand there
  ops::Rows log_probs = {};               // [n, n_vocab]: natural logarithms
};

// Each may be empty. What they throw ends the measurement.
struct PerplexityHooks {
  std::function<void(const ScoredRows&)> on_rows = {};  // in the order of the text
  std::function<void(int64_t chunk, const PerplexitySum& so_far)> on_chunk = {};
};

// Runs every chunk of `text` from an empty context. The session must have been opened with
// context >= chunk and max_logits > 0. Errors: those of score().
PerplexitySum measure_perplexity(Session& session, const ChunkedText& text,
                                 const PerplexityHooks& hooks);

}  // namespace fathom::api
