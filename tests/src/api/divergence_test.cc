// Divergence of distributions that are small enough to check by hand.
// Read next: api/divergence.cc.
#include "api/divergence.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::api {
namespace {

using Distribution = std::array<double, 2>;

// One chunk of 8 tokens over a vocabulary of two; tokens 5, 6 and 7 are scored.
struct SmallRun {
  ChunkedText text{.chunk = 8, .ids = {0, 0, 0, 0, 0, 1, 0, 1}};
  std::vector<float> values;

  explicit SmallRun(const std::array<Distribution, 3>& rows) {
    for (const Distribution& row : rows) {
      for (const double p : row) {
        values.push_back(static_cast<float>(std::log(p)));
      }
    }
  }

  // Rows first ... first + n of the three.
  ScoredRows rows(int64_t first = 0, int64_t n = 3) {
    return {.first = 5 + first,
            .targets =
                std::span(text.ids).subspan(static_cast<size_t>(5 + first), static_cast<size_t>(n)),
            .log_probs = {values.data() + 2 * first, n, 2, 2}};
  }

  std::string save(const test::TempFolder& folder) {
    const std::string path = folder.path_of("base.logp");
    LogProbWriter writer(path, "base", 2, text);
    writer.write(rows());
    writer.commit();
    return path;
  }
};

double divergence_of(const Distribution& q, const Distribution& p) {
  return q[0] * std::log(q[0] / p[0]) + q[1] * std::log(q[1] / p[1]);
}

TEST(DivergenceTest, OfKnownDistributions) {
  const test::TempFolder folder;
  const std::array<Distribution, 3> base = {{{0.5, 0.5}, {0.75, 0.25}, {0.125, 0.875}}};
  const std::array<Distribution, 3> other = {{{0.5, 0.5}, {0.25, 0.75}, {0.25, 0.75}}};
  const SavedLogProbs saved(SmallRun(base).save(folder));
  SmallRun own(other);
  ThreadPool threads(2);
  DivergenceMeter meter(saved);
  meter.add(own.rows(0, 1), threads);
  meter.add(own.rows(1, 2), threads);
  const DivergenceReport report = meter.report();
  const double middle = divergence_of(base[1], other[1]);
  const double last = divergence_of(base[2], other[2]);
  EXPECT_EQ(report.n_tokens, 3);
  EXPECT_NEAR(report.mean, (middle + last) / 3, 1e-7);
  EXPECT_NEAR(report.median, last, 1e-7);  // of 0, last, middle
  EXPECT_NEAR(report.p99, 0.02 * last + 0.98 * middle, 1e-7);
  EXPECT_NEAR(report.max, middle, 1e-7);
  EXPECT_EQ(report.n_same_top, 2);  // of equal ones the first counts
  EXPECT_NEAR(report.same_top_share(), 2.0 / 3.0, 1e-12);
  EXPECT_EQ(report.worst_index, 6);
  EXPECT_EQ(report.worst_id, 0);
  EXPECT_NEAR(report.worst_saved_probability, 0.75, 1e-7);
  EXPECT_NEAR(report.worst_probability, 0.25, 1e-7);
  EXPECT_EQ(report.saved.n_tokens, 3);
  EXPECT_NEAR(report.saved.mean(), -std::log(0.5 * 0.75 * 0.875) / 3, 1e-7);
}

TEST(DivergenceTest, OfARunFromItselfIsExactlyZero) {
  const test::TempFolder folder;
  SmallRun run({{{0.3, 0.7}, {0.9, 0.1}, {1e-30, 1.0}}});
  const SavedLogProbs saved(run.save(folder));
  ThreadPool threads(1);
  DivergenceMeter meter(saved);
  meter.add(run.rows(), threads);
  const DivergenceReport report = meter.report();
  EXPECT_EQ(report.mean, 0);
  EXPECT_EQ(report.max, 0);
  EXPECT_EQ(report.same_top_share(), 1);
  EXPECT_EQ(report.worst_probability, report.worst_saved_probability);
}

// What the base rules out does not count; what only this run rules out is infinitely far.
TEST(DivergenceTest, ZeroProbabilities) {
  const test::TempFolder folder;
  const SavedLogProbs saved(SmallRun({{{0.0, 1.0}, {0.5, 0.5}, {0.5, 0.5}}}).save(folder));
  SmallRun own({{{0.5, 0.5}, {0.5, 0.5}, {0.0, 1.0}}});
  ThreadPool threads(1);
  DivergenceMeter meter(saved);
  meter.add(own.rows(0, 2), threads);
  EXPECT_NEAR(meter.report().max, std::log(2.0), 1e-7);
  meter.add(own.rows(2, 1), threads);
  EXPECT_TRUE(std::isinf(meter.report().max));
  EXPECT_EQ(meter.report().worst_index, 7);
}

TEST(DivergenceTest, SavedValuesThatAreNoLogProbabilitiesAreRefused) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), 0.5F}) {
    const test::TempFolder folder;
    SmallRun base({{{0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}}});
    base.values[3] = value;
    const SavedLogProbs saved(base.save(folder));
    SmallRun own({{{0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}}});
    ThreadPool threads(1);
    DivergenceMeter meter(saved);
    test::expect_error([&] { meter.add(own.rows(), threads); }, ErrorCode::kCorruptFile,
                       {"base.logp", "token 6"});
  }
}

}  // namespace
}  // namespace fathom::api
