// Logits of whole texts: chunks, refusals. Read next: api/score.cc.
#include "api/score.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_check.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::api {
namespace {

std::vector<float> logits_of(const std::vector<int32_t>& ids, int64_t rows_at_once) {
  const test::TempFolder folder;
  SessionOptions options;
  options.model_path = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  options.context = 64;
  options.n_threads = 1;
  options.max_logits = rows_at_once;
  const auto session = Session::open(options);
  std::vector<float> values;
  int64_t next = 0;
  score(*session, ids, [&](int64_t first, const ops::Rows& rows) {
    EXPECT_EQ(first, next);
    EXPECT_LE(rows.n_rows, rows_at_once);
    EXPECT_EQ(rows.n_cols, test::kTinyVocab);
    next += rows.n_rows;
    for (int64_t row = 0; row < rows.n_rows; ++row) {
      values.insert(values.end(), rows.row(row), rows.row(row) + rows.n_cols);
    }
  });
  EXPECT_EQ(session->pages().n_free(), session->pages().n_pages());
  return values;
}

TEST(ScoreTest, EveryChunkSizeGivesTheSameBits) {
  const std::vector<int32_t> ids = {5, 9, 200, 31, 7, 7, 100};
  const std::vector<float> whole = logits_of(ids, 7);
  ASSERT_EQ(whole.size(), 7U * test::kTinyVocab);
  EXPECT_EQ(logits_of(ids, 1), whole);
  EXPECT_EQ(logits_of(ids, 3), whole);
}

TEST(ScoreTest, UnwantedPositionsAreReadWithoutLogits) {
  const test::TempFolder folder;
  SessionOptions options;
  options.model_path = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  options.context = 64;
  options.max_logits = 3;
  const auto session = Session::open(options);
  const std::vector<int32_t> ids = {5, 9, 200, 31, 7, 7, 100};
  const std::vector<float> whole = logits_of(ids, 7);
  for (const int64_t wanted : {0, 2, 3, 4, 6, 7}) {
    std::vector<float> values;
    const auto add = [&](int64_t first, const ops::Rows& rows) {
      EXPECT_EQ(first, wanted + std::ssize(values) / test::kTinyVocab);
      values.insert(values.end(), rows.data, rows.data + rows.n_rows * rows.n_cols);
    };
    score(*session, ids, add, wanted);
    EXPECT_EQ(values, std::vector<float>(whole.begin() + wanted * test::kTinyVocab, whole.end()));
  }
}

TEST(ScoreTest, BadIdsAreRefused) {
  test::expect_error([] { logits_of({}, 1); }, ErrorCode::kInvalidArgument, {});
  test::expect_error([] { logits_of({260}, 1); }, ErrorCode::kInvalidArgument, {"260", "259"});
  test::expect_error([] { logits_of({-1}, 1); }, ErrorCode::kInvalidArgument, {"-1"});
  test::expect_error([] { logits_of(std::vector<int32_t>(65, 1), 1); },
                     ErrorCode::kResourceExhausted, {"65", "64"});
}

}  // namespace
}  // namespace fathom::api
