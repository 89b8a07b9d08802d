// The form of a trace line. Read next: xray/shape_trace.h.
#include "xray/shape_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::xray {
namespace {

using testing::ElementsAre;

TEST(ShapeTraceTest, OneLinePerTensorInOrder) {
  ShapeTrace trace;
  const std::vector<int64_t> rows = {7, 576};
  const std::vector<int64_t> heads = {7, 9, 64};
  trace.on_tensor({.layer = -1, .name = "embed", .shape = rows, .type = DType::kF32, .values = {}});
  trace.on_tensor(
      {.layer = 0, .name = "attn_norm", .shape = rows, .type = DType::kI8, .values = {}});
  trace.on_tensor({.layer = 29, .name = "q", .shape = heads, .type = DType::kBF16, .values = {}});
  EXPECT_THAT(trace.lines(),
              ElementsAre("trunk - embed - [7, 576] - F32", "0 - attn_norm - [7, 576] - I8",
                          "29 - q - [7, 9, 64] - BF16"));
  trace.clear();
  EXPECT_TRUE(trace.lines().empty());
}

}  // namespace
}  // namespace fathom::xray
