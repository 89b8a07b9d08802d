// Perplexity against its definition in long double, from the logits of score().
// Read next: api/perplexity.cc.
#include "api/perplexity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "api/score.h"
#include "support/error_check.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::api {
namespace {

using testing::ElementsAre;

class PerplexityTest : public testing::Test {
 protected:
  std::unique_ptr<Session> open(bool adds_bos, int64_t context = 16) {
    test::GgufBuilder builder = test::tiny_chat_gguf();
    builder.set("tokenizer.ggml.add_bos_token", adds_bos);
    SessionOptions options;
    options.model_path = builder.write(folder_.path_of("m.gguf"));
    options.context = context;
    options.n_threads = 2;
    options.max_logits = 5;  // several steps in a chunk
    return Session::open(options);
  }

  test::TempFolder folder_;
};

// -ln p of the tokens `first` ... end of a chunk, straight from the definition.
std::vector<long double> nll_by_definition(Session& session, std::span<const int32_t> chunk,
                                           int64_t first) {
  std::vector<long double> out;
  score(session, chunk, [&](int64_t begin, const ops::Rows& rows) {
    for (int64_t row = 0; row < rows.n_rows; ++row) {
      const int64_t predicted = begin + row + 1;
      if (predicted < first || predicted >= std::ssize(chunk)) {
        continue;
      }
      long double sum = 0;
      for (int64_t i = 0; i < rows.n_cols; ++i) {
        sum += std::exp(static_cast<long double>(rows.row(row)[i]));
      }
      const auto id = chunk[static_cast<size_t>(predicted)];
      out.push_back(std::log(sum) - static_cast<long double>(rows.row(row)[id]));
    }
  });
  return out;
}

TEST_F(PerplexityTest, ChunksAreWholeAndBeginWithBosWhereTheModelAddsOne) {
  const std::string text = "abcdefghijklmnopqrstu";  // 21 tokens
  const auto plain = open(false);
  ChunkedText chunks = cut_text(*plain->tokenizer(), text, 8, -1);
  EXPECT_EQ(chunks.n_chunks(), 2);
  EXPECT_THAT(chunks.ids, ElementsAre('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l',
                                      'm', 'n', 'o', 'p'));
  EXPECT_EQ(chunks.first_scored(), 5);
  EXPECT_EQ(chunks.scored_per_chunk(), 3);
  EXPECT_EQ(cut_text(*plain->tokenizer(), text, 8, 1).n_chunks(), 1);
  EXPECT_EQ(cut_text(*plain->tokenizer(), text, 8, 9).n_chunks(), 2);
  const auto with_bos = open(true);
  chunks = cut_text(*with_bos->tokenizer(), text, 8, -1);
  // One BOS before the text, which moves it by a token; another over the first token of chunk 2.
  EXPECT_THAT(chunks.ids, ElementsAre(test::kTinyBegin, 'a', 'b', 'c', 'd', 'e', 'f', 'g',
                                      test::kTinyBegin, 'i', 'j', 'k', 'l', 'm', 'n', 'o'));
  EXPECT_EQ(ChunkedText{.chunk = 9}.first_scored(), 5);  // half of an odd chunk is rounded down
}

TEST_F(PerplexityTest, TooShortATextIsRefused) {
  const auto session = open(false);
  test::expect_error([&] { cut_text(*session->tokenizer(), "short", 8, -1); },
                     ErrorCode::kInvalidArgument, {"5 tokens", "takes 8", "-c"});
  test::expect_error([&] { cut_text(*session->tokenizer(), "", 8, -1); },
                     ErrorCode::kInvalidArgument, {"0 tokens"});
}

TEST_F(PerplexityTest, EqualsTheDefinition) {
  for (const int64_t chunk : {16, 13, 8}) {
    const auto session = open(chunk == 13);
    const ChunkedText text = cut_text(*session->tokenizer(),
                                      "It was a dark and stormy night; the rain fell.", chunk, -1);
    ASSERT_GE(text.n_chunks(), 2);
    long double sum = 0;
    long double squares = 0;
    int64_t count = 0;
    std::vector<double> expected_running;
    for (int64_t i = 0; i < text.n_chunks(); ++i) {
      const auto ids =
          std::span(text.ids).subspan(static_cast<size_t>(i * chunk), static_cast<size_t>(chunk));
      for (const long double nll : nll_by_definition(*session, ids, chunk / 2 + 1)) {
        sum += nll;
        squares += nll * nll;
        ++count;
      }
      expected_running.push_back(static_cast<double>(std::exp(sum / count)));
    }
    std::vector<double> running;
    const PerplexitySum result = measure_perplexity(
        *session, text, {.on_chunk = [&](int64_t index, const PerplexitySum& so_far) {
          EXPECT_EQ(index, std::ssize(running));
          running.push_back(so_far.perplexity());
        }});
    EXPECT_EQ(result.n_tokens, count);
    const long double mean = sum / count;
    const long double variance = squares / count - mean * mean;
    EXPECT_NEAR(result.mean(), static_cast<double>(mean), 1e-12);
    EXPECT_NEAR(result.error(),
                static_cast<double>(std::sqrt(variance / (count - 1)) * std::exp(mean)), 1e-9);
    EXPECT_THAT(running, testing::Pointwise(testing::DoubleNear(1e-9), expected_running));
    EXPECT_GT(result.error(), 0);
    EXPECT_EQ(session->pages().n_free(), session->pages().n_pages());
  }
}

TEST_F(PerplexityTest, RowsAreTheLogProbabilitiesOfEveryScoredToken) {
  const auto session = open(false);
  const ChunkedText text =
      cut_text(*session->tokenizer(), "rows come in the order of the text", 16, -1);
  int64_t n_rows = 0;
  PerplexitySum sum;
  const PerplexitySum result =
      measure_perplexity(*session, text, {.on_rows = [&](const auto& rows) {
        ASSERT_EQ(rows.log_probs.n_rows, std::ssize(rows.targets));
        for (int64_t row = 0; row < rows.log_probs.n_rows; ++row, ++n_rows) {
          const int64_t index = rows.first + row;
          EXPECT_EQ(index, n_rows / 7 * 16 + 9 + n_rows % 7);
          const int32_t id = text.ids[static_cast<size_t>(index)];
          EXPECT_EQ(rows.targets[static_cast<size_t>(row)], id);
          double whole = 0;
          for (int64_t i = 0; i < rows.log_probs.n_cols; ++i) {
            whole += std::exp(static_cast<double>(rows.log_probs.row(row)[i]));
          }
          EXPECT_NEAR(whole, 1.0, 1e-6);
          sum.add(-static_cast<double>(rows.log_probs.row(row)[id]));
        }
      }});
  EXPECT_EQ(n_rows, 14);
  EXPECT_NEAR(sum.mean(), result.mean(), 1e-6);
}

TEST(PerplexitySumTest, OfKnownNumbers) {
  PerplexitySum sum;
  sum.add(1.0);
  EXPECT_EQ(sum.error(), 0);
  sum.add(2.0);
  sum.add(6.0);
  EXPECT_DOUBLE_EQ(sum.mean(), 3.0);
  EXPECT_DOUBLE_EQ(sum.perplexity(), std::exp(3.0));
  EXPECT_DOUBLE_EQ(sum.error(), std::sqrt(14.0 / 3.0 / 2.0) * std::exp(3.0));
}

}  // namespace
}  // namespace fathom::api
