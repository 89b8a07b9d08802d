// Worker scratch, what the observer sees, and which fault is kept.
#include "ops/exec.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

TEST(Exec, ScratchOfWorkersIsApartAndAligned) {
  ThreadPool threads(3);
  MemoryPool pool("scratch", Exec::scratch_bytes(3));
  const Exec exec(threads, kernels::scalar_table(), pool);
  EXPECT_EQ(pool.used_bytes(), Exec::scratch_bytes(3));
  for (int worker = 0; worker < 3; ++worker) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(exec.scratch(worker)) % 64, 0U);
    EXPECT_EQ(static_cast<size_t>(exec.scratch(worker) - exec.scratch(0)),
              kWorkerScratchBytes * static_cast<size_t>(worker));
    std::memset(exec.scratch(worker), worker, kWorkerScratchBytes);  // for the address sanitizer
  }
}

TEST(Exec, ScratchThatWasNotPlannedIsRefused) {
  ThreadPool threads(2);
  MemoryPool pool("scratch", Exec::scratch_bytes(1));
  EXPECT_THROW(Exec(threads, kernels::scalar_table(), pool), Error);
}

TEST(Exec, ObserverGetsShapeAndDenseValues) {
  Rig rig(1);
  const Matrix x = Matrix::random(3, 8, 1);
  rig.exec.observe({.layer = 4, .name = "nobody"}, x.rows());
  Recorder recorder;
  rig.exec.set_observer(&recorder);
  EXPECT_TRUE(rig.exec.observed());
  rig.exec.observe({.layer = 4, .name = "q"}, x.rows());
  rig.exec.observe({.layer = -1, .name = "heads"}, x.rows(), DType::kI8, 2);
  ASSERT_EQ(recorder.entries.size(), 2U);
  EXPECT_EQ(recorder.entries[0].name, "q");
  EXPECT_EQ(recorder.entries[0].layer, 4);
  EXPECT_EQ(recorder.entries[0].type, DType::kF32);
  EXPECT_EQ(recorder.entries[0].shape, (std::vector<int64_t>{3, 8}));
  EXPECT_TRUE(same_values(recorder.entries[0], x.rows()));
  EXPECT_EQ(recorder.entries[1].layer, -1);
  EXPECT_EQ(recorder.entries[1].type, DType::kI8);
  EXPECT_EQ(recorder.entries[1].shape, (std::vector<int64_t>{3, 2, 4}));
  rig.exec.set_observer(nullptr);
  rig.exec.observe({.layer = 4, .name = "q"}, x.rows());
  EXPECT_EQ(recorder.entries.size(), 2U);
}

TEST(Exec, KeepsTheLowestRowOfTheFirstFaultyOperation) {
  Rig rig(1);
  const std::vector<int64_t> batch_rows = {7, 31};
  rig.exec.report_fault({.layer = -1, .name = "logits", .batch_rows = batch_rows}, 1);
  EXPECT_EQ(rig.exec.take_fault()->row, 31) << "of the batch";
  EXPECT_FALSE(rig.exec.take_fault().has_value());
  rig.exec.report_fault({.layer = 2, .name = "attn_norm"}, 9);
  rig.exec.report_fault({.layer = 2, .name = "attn_norm"}, 4);
  rig.exec.report_fault({.layer = 2, .name = "attn_norm"}, 6);
  rig.exec.report_fault({.layer = 2, .name = "ffn_norm"}, 0);
  rig.exec.report_fault({.layer = 3, .name = "attn_norm"}, 1);
  const auto fault = rig.exec.take_fault();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->layer, 2);
  EXPECT_EQ(fault->name, "attn_norm");
  EXPECT_EQ(fault->row, 4);
  EXPECT_FALSE(rig.exec.take_fault().has_value());
}

}  // namespace
}  // namespace fathom::ops
