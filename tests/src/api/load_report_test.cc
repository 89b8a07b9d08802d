// Figures of samples counted by hand, and the three forms they are printed in.
#include "api/load_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

namespace fathom::api {
namespace {

using testing::HasSubstr;

LoadResult two_good_one_bad() {
  LoadResult result;
  result.n_clients = 2;
  result.wall_s = 4;
  result.samples.resize(3);
  result.samples[0].first_token_s = 0.5;
  result.samples[0].total_s = 1;
  result.samples[0].gaps_s = {0.1, 0.2};
  result.samples[0].n_prompt = 10;
  result.samples[0].n_generated = 3;
  result.samples[1] = result.samples[0];
  result.samples[1].first_token_s = 0.7;
  result.samples[1].n_generated = 5;
  result.samples[2].error = "status 500: <b>";
  return result;
}

TEST(LoadReport, TakesPercentiles) {
  std::vector<double> values(100);
  std::iota(values.rbegin(), values.rend(), 1);
  const Percentiles found = percentiles_of(values);
  EXPECT_EQ(found.p50, 50);
  EXPECT_EQ(found.p95, 95);
  EXPECT_EQ(found.p99, 99);
  EXPECT_EQ(percentiles_of({7}).p99, 7);
  EXPECT_EQ(percentiles_of({}).p50, 0);
}

TEST(LoadReport, AddsUp) {
  const LoadFigures figures = figures_of(two_good_one_bad());
  EXPECT_EQ(figures.n_good, 2);
  EXPECT_EQ(figures.n_failed, 1);
  EXPECT_EQ(figures.first_error, "status 500: <b>");
  EXPECT_DOUBLE_EQ(figures.output_tokens_per_s, 2);
  EXPECT_DOUBLE_EQ(figures.prompt_tokens_per_s, 5);
  EXPECT_DOUBLE_EQ(figures.requests_per_s, 0.5);
  EXPECT_EQ(figures.first_token.p50, 0.5);
  EXPECT_EQ(figures.first_token.p99, 0.7);
  EXPECT_EQ(figures.inter_token.p50, 0.1);
  EXPECT_EQ(figures.inter_token.p99, 0.2);
}

TEST(LoadReport, Prints) {
  LoadPlan plan;
  plan.model = "<model>";
  plan.target.host = "host";
  std::vector<LoadFigures> levels = {figures_of(two_good_one_bad())};
  levels.push_back(levels.front());
  levels[1].n_clients = 4;
  EXPECT_THAT(load_table_head(), HasSubstr("out tok/s"));
  EXPECT_THAT(load_table_row(levels[0]), HasSubstr("0.500 / 0.700"));
  EXPECT_THAT(load_table_row(levels[0]), HasSubstr("100.0 / 200.0"));
  const auto json = nlohmann::json::parse(load_json(plan, levels));
  EXPECT_EQ(json["levels"].size(), 2U);
  EXPECT_EQ(json["levels"][1]["clients"], 4);
  EXPECT_EQ(json["levels"][0]["first_token_s"]["p99"], 0.7);
  const std::string page = load_html(plan, levels);
  EXPECT_THAT(page, HasSubstr("&lt;model&gt;"));
  EXPECT_THAT(page, HasSubstr("<polyline"));
  EXPECT_THAT(page, HasSubstr("Output tokens per second"));
  EXPECT_THAT(load_html(plan, {}), HasSubstr("<table>"));
}

}  // namespace
}  // namespace fathom::api
