// The text that Prometheus reads: names, labels of fixed size, histograms.
#include "api/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <string>

#include "support/temp_folder.h"
#include "support/test_data.h"

namespace fathom::api {
namespace {

using testing::HasSubstr;
using testing::Not;

http::RequestRecord ended() {
  http::RequestRecord record{.id = "req-1", .route = "/v1/completions"};
  record.status = 200;
  record.prompt_tokens = 5;
  record.cached_tokens = 2;
  record.generated_tokens = 3;
  record.queue_s = 0.02;
  record.first_token_s = 0.3;
  record.total_s = 0.7;
  record.inter_tokens_s = {0.004F, 0.3F};
  record.finish_reason = "length";
  return record;
}

TEST(Metrics, CountsRequestsAndTokens) {
  Metrics metrics("9.9");
  metrics.record(ended());
  metrics.record(ended());
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("# TYPE fathom_requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("fathom_requests_total{finish_reason=\"length\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("fathom_requests_total{finish_reason=\"stop\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("fathom_responses_total{route=\"none\",status=\"200\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("fathom_prompt_tokens_total 10\n"));
  EXPECT_THAT(text, HasSubstr("fathom_cached_tokens_total 4\n"));
  EXPECT_THAT(text, HasSubstr("fathom_generated_tokens_total 6\n"));
  EXPECT_THAT(text, HasSubstr("fathom_build_info{version=\"9.9\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("process_resident_memory_bytes "));
}

TEST(Metrics, SortsTimesIntoBuckets) {
  Metrics metrics("1");
  metrics.record(ended());
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("fathom_queue_seconds_bucket{le=\"0.01\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("fathom_queue_seconds_bucket{le=\"0.025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("fathom_time_to_first_token_seconds_count 1\n"));
  EXPECT_THAT(text, HasSubstr("fathom_inter_token_seconds_bucket{le=\"0.005\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("fathom_inter_token_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("fathom_request_seconds_sum 0.7\n"));
}

TEST(Metrics, NoClientAddsSeries) {
  Metrics metrics("1");
  const std::string before = metrics.text();
  for (int i = 0; i < 1000; ++i) {
    http::RequestRecord record = ended();
    record.id = record.key = std::to_string(i);
    record.status = 600 + i;
    const std::string reason = "reason" + std::to_string(i);
    record.finish_reason = reason;
    metrics.record(record);
  }
  const std::string after = metrics.text();
  EXPECT_EQ(std::count(before.begin(), before.end(), '\n'),
            std::count(after.begin(), after.end(), '\n'));
  EXPECT_THAT(after, HasSubstr("fathom_responses_total{route=\"none\",status=\"other\"} 1000\n"));
  EXPECT_THAT(after, HasSubstr("fathom_requests_total{finish_reason=\"none\"} 1000\n"));
}

TEST(Metrics, RefusalsAreNoRequestsOfTheEngine) {
  Metrics metrics("1");
  http::RequestRecord refused;
  refused.status = 401;
  metrics.record(refused);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("fathom_responses_total{route=\"none\",status=\"401\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("fathom_request_seconds_count 0\n"));
  EXPECT_THAT(text, HasSubstr("fathom_requests_total{finish_reason=\"none\"} 0\n"));
}

TEST(Metrics, CountsAnswersByRoute) {
  Metrics metrics("1");
  constexpr http::Route kRoutes[] = {{"POST", "/v1/completions"}, {"GET", "/v1/models/{id}"}};
  metrics.set_routes(kRoutes);
  metrics.record({.route = "/v1/completions", .status = 429});
  metrics.record({.route = "/elsewhere", .status = 429});
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("{route=\"/v1/completions\",status=\"429\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{route=\"/v1/models/{id}\",status=\"429\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("{route=\"none\",status=\"429\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("elsewhere")));
}

TEST(Metrics, TakesTheEnginesNumbers) {
  Metrics metrics("1");
  EXPECT_THAT(metrics.text(), Not(HasSubstr("fathom_kv_pages")));
  metrics.set_engine([] {
    engine::EngineStats stats;
    stats.n_waiting = 3;
    stats.n_pages_cached = 7;
    stats.n_rows = 10;
    stats.n_prompt_rows = 4;
    stats.n_preemptions = 2;
    stats.n_context_shifts = 5;
    stats.prefix.matched_tokens = 64;
    stats.forward_s = 1.5;
    return stats;
  });
  metrics.set_connections([] { return int64_t{11}; });
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("fathom_requests{state=\"waiting\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("fathom_kv_pages{state=\"cached\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("fathom_rows_total{kind=\"generated\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("fathom_preemptions_total 2\n"));
  EXPECT_THAT(text, HasSubstr("fathom_context_shifts_total 5\n"));
  EXPECT_THAT(text, HasSubstr("fathom_prefix_hit_tokens_total 64\n"));
  EXPECT_THAT(text, HasSubstr("fathom_step_seconds_total{phase=\"forward\"} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("fathom_connections 11\n"));
}

// docs/serving.md has a row for each family, with its type and help, and no other.
TEST(Metrics, TheDocumentKnowsThemAll) {
  Metrics metrics("1");
  metrics.set_engine([] { return engine::EngineStats(); });
  metrics.set_connections([] { return int64_t{0}; });
  const std::string text = metrics.text();
  const std::string page = test::read_text(test::test_data("../docs/serving.md"));
  const std::regex family("# HELP (\\S+) (.*)\n# TYPE \\S+ (\\S+)\n");
  int n_families = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), family), end; at != end; ++at) {
    const auto& found = *at;
    const std::string begin = "| `" + found.str(1) + "` | " + found.str(3) + " | ";
    EXPECT_NE(page.find("\n" + begin + found.str(2) + " |\n"), std::string::npos) << begin;
    ++n_families;
  }
  const std::regex row("\n\\| `(fathom|process)_[a-z_]+` \\|");
  EXPECT_EQ(std::distance(std::sregex_iterator(page.begin(), page.end(), row), {}), n_families);
}

// Every name that the board asks for is one that the server gives.
TEST(Metrics, TheBoardKnowsTheNames) {
  Metrics metrics("1");
  metrics.record(ended());
  metrics.set_engine([] { return engine::EngineStats(); });
  metrics.set_connections([] { return int64_t{0}; });
  const std::string text = metrics.text();
  const std::string board = test::read_text(test::test_data("../docs/grafana.json"));
  const std::regex name("(fathom|process)_[a-z_]+(?=\\{)");
  int n_names = 0;
  for (std::sregex_iterator at(board.begin(), board.end(), name), end; at != end; ++at) {
    EXPECT_THAT(text, HasSubstr("\n" + at->str())) << at->str();
    ++n_names;
  }
  EXPECT_GE(n_names, 20);
}

}  // namespace
}  // namespace fathom::api
