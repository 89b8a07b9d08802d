// The arrays of a step: ids, positions, rows, wanted logits.
#include "engine/batch.h"

#include <gtest/gtest.h>

namespace fathom::engine {
namespace {

class NoSink final : public TextSink {
 public:
  bool on_token(const TokenEvent& /*event*/) override { return true; }

  void on_finish(FinishReason /*reason*/, const Usage& /*usage*/,
                 std::string_view /*message*/) override {}
};

TEST(Batch, LaysSequencesOneAfterTheOther) {
  constexpr kv::PageShape kShape = {PageType::kBF16, 1, 1, 4, 4};
  MemoryPool memory("kv", static_cast<size_t>(kv::pool_bytes(kShape, 4)));
  kv::PagePool pages(memory, kShape, 4);
  NoSink sink;
  Request a;
  a.prompt = {10, 11, 12, 13};
  Request b;
  b.prompt = {20, 21};
  Sequence first(1, a, sink, pages, {}, 100, 36);
  Sequence second(2, b, sink, pages, {}, 100, 7);
  first.pages().reserve(70);
  second.pages().reserve(2);
  first.num_computed = 2;

  Batch batch(8, 2, 4);
  batch.fill({{&first, 2, true, 1}, {&second, 1, false, 0}});
  const model::StepInput input = batch.input();
  EXPECT_EQ(std::vector<int32_t>(input.token_ids.begin(), input.token_ids.end()),
            (std::vector<int32_t>{12, 13, 20}));
  EXPECT_EQ(std::vector<int64_t>(input.positions.begin(), input.positions.end()),
            (std::vector<int64_t>{2, 3, 0}));
  ASSERT_EQ(input.sequences.size(), 2U);
  EXPECT_EQ(input.sequences[0].first_position, 2);
  EXPECT_EQ(input.sequences[0].pages.size(), 2U);
  EXPECT_EQ(input.sequences[0].rope_length, 36);  // as planned, not as far as it is
  EXPECT_EQ(input.sequences[1].first_row, 2);
  EXPECT_EQ(input.sequences[1].rope_length, 7);
  EXPECT_EQ(std::vector<int64_t>(input.logit_rows.begin(), input.logit_rows.end()),
            (std::vector<int64_t>{1}));
  EXPECT_EQ(batch.share_of_row(0), 0U);
  EXPECT_EQ(batch.share_of_row(1), 0U);
  EXPECT_EQ(batch.share_of_row(2), 1U);
  EXPECT_TRUE(input.fast_rows.empty());
  // More logits than the last row's: those before tokens of the prompt.
  first.num_computed = 0;
  batch.fill({{&second, 1, false, 1}, {&first, 4, true, 3}});
  const auto rows = batch.input().logit_rows;
  EXPECT_EQ(std::vector<int64_t>(rows.begin(), rows.end()), (std::vector<int64_t>{0, 2, 3, 4}));
}

// Rows are fast by their position alone: those of the prompt, however late they are computed.
TEST(Batch, MarksTheRowsOfPrompts) {
  constexpr kv::PageShape kShape = {PageType::kBF16, 1, 1, 4, 4};
  MemoryPool memory("kv", static_cast<size_t>(kv::pool_bytes(kShape, 4)));
  kv::PagePool pages(memory, kShape, 4);
  NoSink sink;
  Request request;
  request.prompt = {10, 11, 12, 13};
  request.n_keep = 1;
  Sequence sequence(1, request, sink, pages, {}, 100, 36);
  sequence.pages().reserve(10);
  sequence.append(50);
  sequence.append(51);
  sequence.num_computed = 2;
  Batch batch(8, 2, 4, true);
  batch.fill({{&sequence, 4, true, 1}});
  const auto fast = batch.input().fast_rows;
  EXPECT_EQ(std::vector<bool>(fast.begin(), fast.end()),
            (std::vector<bool>{true, true, false, false}));
  // A shift of a context of 6 drops (6 - 1) / 2 = 2 of the prompt behind the first: two are left.
  sequence.shift(6);
  EXPECT_EQ(sequence.n_prompt_left(), 2);
  sequence.num_computed = 0;
  batch.fill({{&sequence, 4, true, 1}});
  const auto shifted = batch.input().fast_rows;
  EXPECT_EQ(std::vector<bool>(shifted.begin(), shifted.end()),
            (std::vector<bool>{true, true, false, false}));
}

}  // namespace
}  // namespace fathom::engine
