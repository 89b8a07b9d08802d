// Row against row, then order statistics. Read next: api/saved_logprobs.cc.
#include "api/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/error.h"

namespace fathom::api {

namespace {

// The value that `share` of the sorted values lie below, in proportion between two of them.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  return part == 0 ? sorted[below] : (1 - part) * sorted[below] + part * sorted[above];
}

}  // namespace

DivergenceMeter::Token DivergenceMeter::compare(std::span<const float> saved,
                                                std::span<const float> own) {
  // What rounding to float may leave above 0 of a certain token.
  constexpr float kHighest = 1e-6F;
  Token token;
  double sum = 0;
  for (size_t i = 0; i < saved.size(); ++i) {
    const double log_q = saved[i];
    token.is_sound = token.is_sound && saved[i] <= kHighest;  // false for a NaN
    const double q = std::exp(log_q);
    if (q > 0) {
      sum += q * (log_q - static_cast<double>(own[i]));
    }
  }
  token.divergence = std::max(sum, 0.0);  // rounded logarithms may leave a little below 0
  token.same_top = std::max_element(saved.begin(), saved.end()) - saved.begin() ==
                   std::max_element(own.begin(), own.end()) - own.begin();
  return token;
}

void DivergenceMeter::add(const ScoredRows& rows, ThreadPool& threads) {
  const int64_t n_rows = rows.log_probs.n_rows;
  std::vector<Token> tokens(static_cast<size_t>(n_rows));
  const auto own_row = [&](int64_t row) {
    return std::span<const float>(rows.log_probs.row(row),
                                  static_cast<size_t>(rows.log_probs.n_cols));
  };
  threads.run(n_rows, [&](int64_t row, int) {
    tokens[static_cast<size_t>(row)] = compare(saved_->row(rows.first + row), own_row(row));
  });
  for (int64_t row = 0; row < n_rows; ++row) {
    const Token& token = tokens[static_cast<size_t>(row)];
    const int64_t index = rows.first + row;
    if (!token.is_sound) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: the values of token {} are no log-probabilities; write the file again "
                       "with --save-logits",
                       saved_->path(), index));
    }
    const int32_t id = rows.targets[static_cast<size_t>(row)];
    const double saved_log = saved_->row(index)[static_cast<size_t>(id)];
    sums_.saved.add(-saved_log);
    sums_.n_same_top += token.same_top ? 1 : 0;
    if (divergences_.empty() || token.divergence > sums_.max) {
      sums_.max = token.divergence;
      sums_.worst_index = index;
      sums_.worst_id = id;
      sums_.worst_saved_probability = std::exp(saved_log);
      const float own_log = own_row(row)[static_cast<size_t>(id)];
      sums_.worst_probability = std::exp(static_cast<double>(own_log));
    }
    divergences_.push_back(token.divergence);
  }
  saved_->release(rows.first, n_rows);
}

DivergenceReport DivergenceMeter::report() const {
  FATHOM_CHECK(!divergences_.empty());
  DivergenceReport report = sums_;
  report.n_tokens = std::ssize(divergences_);
  report.mean = std::accumulate(divergences_.begin(), divergences_.end(), 0.0) /
                static_cast<double>(report.n_tokens);
  std::vector<double> sorted = divergences_;
  std::ranges::sort(sorted);
  report.median = quantile(sorted, 0.5);
  report.p99 = quantile(sorted, 0.99);
  return report;
}

}  // namespace fathom::api
