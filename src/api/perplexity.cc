// Chunks, log-probabilities, sums. Read next: api/score.cc.
#include "api/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/score.h"
#include "base/error.h"

namespace fathom::api {

namespace {

// The BOS that the tokenizer puts before a text, if it does.
std::optional<int32_t> added_bos(const codec::Tokenizer& tokenizer) {
  const std::vector<int32_t> around = tokenizer.encode("", {.add_special = true});
  const auto bos = tokenizer.vocabulary().bos;
  return !around.empty() && bos == around.front() ? bos : std::nullopt;
}

// Logits [n] to log-probabilities, in place; returns -ln p of `target`, not yet rounded to float.
double log_softmax(std::span<float> row, int32_t target) {
  const double highest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float value : row) {
    sum += std::exp(static_cast<double>(value) - highest);
  }
  const double shift = highest + std::log(sum);
  const double nll = shift - static_cast<double>(row[static_cast<size_t>(target)]);
  for (float& value : row) {
    value = static_cast<float>(static_cast<double>(value) - shift);
  }
  return nll;
}

}  // namespace

ChunkedText cut_text(const codec::Tokenizer& tokenizer, std::string_view text, int64_t chunk,
                     int64_t max_chunks) {
  ChunkedText out{.chunk = chunk, .ids = tokenizer.encode(text, {.add_special = true})};
  if (std::ssize(out.ids) < chunk) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("the text has {} tokens, one chunk takes {}; give a longer text or a smaller "
                     "-c",
                     out.ids.size(), chunk));
  }
  int64_t n_chunks = out.n_chunks();
  if (max_chunks >= 0) {
    n_chunks = std::min(n_chunks, max_chunks);
  }
  out.ids.resize(static_cast<size_t>(n_chunks * chunk));
  if (const auto bos = added_bos(tokenizer)) {
    for (int64_t i = 0; i < n_chunks; ++i) {
      out.ids[static_cast<size_t>(i * chunk)] = *bos;
    }
  }
  return out;
}

void PerplexitySum::add(double token_nll) {
  ++n_tokens;
  nll += token_nll;
  squares += token_nll * token_nll;
}

double PerplexitySum::perplexity() const {
  return std::exp(mean());
}

double PerplexitySum::error() const {
  if (n_tokens < 2) {
    return 0;
  }
  const double variance = squares / static_cast<double>(n_tokens) - mean() * mean();
  return std::sqrt(std::max(variance, 0.0) / static_cast<double>(n_tokens - 1)) * perplexity();
}

PerplexitySum measure_perplexity(Session& session, const ChunkedText& text,
                                 const PerplexityHooks& hooks) {
  PerplexitySum sum;
  std::vector<double> nll;
  const std::span<const int32_t> ids = text.ids;
  for (int64_t i = 0; i < text.n_chunks(); ++i) {
    const int64_t begin = i * text.chunk;
    const auto on_rows = [&](int64_t position, ops::Rows rows) {
      // The logits of a position speak of the next token; those of the last one, of none here.
      rows.n_rows = std::min(rows.n_rows, text.chunk - 1 - position);
      const auto n_rows = static_cast<size_t>(rows.n_rows);
      ScoredRows scored{.first = begin + position + 1, .targets = {}, .log_probs = rows};
      scored.targets = ids.subspan(static_cast<size_t>(scored.first), n_rows);
      nll.resize(n_rows);
      session.threads().run(rows.n_rows, [&](int64_t row, int) {
        const auto at = static_cast<size_t>(row);
        nll[at] =
            log_softmax({rows.row(row), static_cast<size_t>(rows.n_cols)}, scored.targets[at]);
      });
      std::ranges::for_each(nll, [&](double value) { sum.add(value); });
      if (hooks.on_rows && rows.n_rows > 0) {
        hooks.on_rows(scored);
      }
    };
    score(session, ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(text.chunk)),
          on_rows, text.first_scored() - 1);
    if (hooks.on_chunk) {
      hooks.on_chunk(i, sum);
    }
  }
  return sum;
}

}  // namespace fathom::api
