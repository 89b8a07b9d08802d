// The plan of split buffers, and the invariants that every attention checks.
#include "ops/cpu_backend.h"

#include <gtest/gtest.h>

#include "lib/ops/pages.h"
#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

TEST(CpuBackend, TakesExactlyThePlannedBytes) {
  for (const int64_t context : {1, 512, 513, 4096}) {
    const SplitLimits limits{
        .max_decode_rows = 3, .n_heads = 9, .head_dim = 64, .max_context = context};
    const Rig rig(2, limits);
    EXPECT_EQ(rig.pool.used_bytes(), rig.pool.capacity_bytes());
  }
  // One span needs no second pass.
  EXPECT_EQ(CpuBackend::split_bytes({.n_heads = 9, .head_dim = 64, .max_context = 512}), 0U);
  // 8 spans x 9 heads x (64 + 2) floats
  EXPECT_EQ(CpuBackend::split_bytes({.n_heads = 9, .head_dim = 64, .max_context = 4096}),
            72U * 64 * 4 + 2 * 320);
}

TEST(CpuBackend, AttendOffersItsValuesByHead) {
  const Shape shape{.n_heads = 4, .n_kv_heads = 2, .head_dim = 8, .type = PageType::kBF16};
  Rig rig(1);
  const Sequence sequence(shape, 5, 1, 0);
  const Pages pages(shape, 1);
  store_all(rig, shape, pages, sequence);
  Recorder recorder;
  rig.exec.set_observer(&recorder);
  const SequenceRows rows = sequence.rows(0, 5, 0);
  const Matrix out(5, 32);
  Attend job;
  job.q = sequence.q.rows();
  job.out = out.rows();
  job.n_heads = 4;
  job.pages = pages.view();
  job.sequences = {&rows, 1};
  rig.backend.attend(job, 2);
  ASSERT_EQ(recorder.entries.size(), 1U);
  EXPECT_EQ(recorder.entries[0].name, "attn_values");
  EXPECT_EQ(recorder.entries[0].layer, 2);
  EXPECT_EQ(recorder.entries[0].shape, (std::vector<int64_t>{5, 4, 8}));
  EXPECT_TRUE(same_values(recorder.entries[0], out.rows()));
}

class SequencesDeathTest : public testing::Test {
 protected:
  void attend(const std::vector<SequenceRows>& sequences) {
    Attend job;
    job.q = sequence_.q.part(0, 6);
    job.out = out_.rows();
    job.n_heads = shape_.n_heads;
    job.pages = pages_.view();
    job.sequences = sequences;
    rig_.backend.attend(job, 0);
  }

  Shape shape_;
  Rig rig_{1};
  Pages pages_{shape_, 4};
  Sequence sequence_{shape_, 64, 1, 0};
  Matrix out_{6, 6 * 16};
};

TEST_F(SequencesDeathTest, RowsMustCoverTheBatchInOrder) {
  attend({sequence_.rows(10, 2, 0), sequence_.rows(3, 4, 2)});  // fine
  EXPECT_DEATH(attend({sequence_.rows(0, 5, 0)}), "n_rows");
  EXPECT_DEATH(attend({sequence_.rows(0, 4, 0), sequence_.rows(8, 3, 3)}), "first_row");
  EXPECT_DEATH(attend({sequence_.rows(0, 3, 0), sequence_.rows(8, 2, 4)}), "first_row");
  EXPECT_DEATH(attend({sequence_.rows(0, 6, 0), sequence_.rows(8, 0, 6)}), "n_rows > 0");
}

TEST_F(SequencesDeathTest, PagesMustCoverThePositions) {
  attend({sequence_.rows(58, 6, 0)});  // up to position 63, one page
  EXPECT_DEATH(attend({sequence_.rows(59, 6, 0)}), "pages");
  EXPECT_DEATH(attend({sequence_.rows(-1, 6, 0)}), "first_position");
}

}  // namespace
}  // namespace fathom::ops
