// Every operation reaches the backend behind once, under its own line, with the bytes and the
// arithmetic that its arguments mean.
// Called by ctest. Read next: src/xray/op_profile.h.
#include "xray/op_profile.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace fathom::xray {
namespace {

using ops::Attend;
using ops::Norm;
using ops::PackedRows;
using ops::Rows;
using ops::Site;
using quant::PackedMatrix;

using Floats = std::span<const float>;
using Ints = std::span<const int32_t>;
using Longs = std::span<const int64_t>;

// Remembers which operation was called.
class FakeBackend final : public ops::Backend {
 public:
  std::vector<std::string> calls;

  void embed(const PackedMatrix&, Ints, float, const Rows&, const Site&) override {
    calls.emplace_back("embed");
  }

  void add_positions(const PackedMatrix&, Longs, int64_t, const Rows&, const Site&) override {
    calls.emplace_back("add_positions");
  }

  void norm_pack(const Rows&, const Norm&, PackedRows&, const Site&) override {
    calls.emplace_back("norm_pack");
  }

  void norm(const Rows&, const Norm&, const Rows&, const Site&) override {
    calls.emplace_back("norm");
  }

  void pack(const Rows&, PackedRows&, const Site&) override { calls.emplace_back("pack"); }

  void gather_pack(const Rows&, Ints, PackedRows&, const Site&) override {
    calls.emplace_back("gather_pack");
  }

  void pack_heads(const Rows&, int, int64_t, int64_t, PackedRows&, const Site&) override {
    calls.emplace_back("pack_heads");
  }

  void linear(const PackedRows&, std::span<const ops::LinearPart>, ops::Epilogue, int) override {
    calls.emplace_back("linear");
  }

  void gated_linear(const PackedRows&, const ops::GatedLinear&, PackedRows&, int) override {
    calls.emplace_back("gated_linear");
  }

  void gate_pack(const Rows&, const Rows&, const ops::HiddenActivation&, PackedRows&,
                 int) override {
    calls.emplace_back("gate_pack");
  }

  void grouped_linear(const PackedRows&, const ops::GroupedLinear&, int) override {
    calls.emplace_back("grouped_linear");
  }

  void grouped_gated_linear(const PackedRows&, const ops::GroupedGated&, PackedRows&,
                            int) override {
    calls.emplace_back("grouped_gated_linear");
  }

  void route(const Rows&, const ops::Router&, const ops::Routing&, int) override {
    calls.emplace_back("route");
  }

  void combine_experts(const Rows&, const ops::Routing&, const Rows&, const Site&) override {
    calls.emplace_back("combine_experts");
  }

  void rotate_and_store(const ops::RotateAndStore&, int) override {
    calls.emplace_back("rotate_and_store");
  }

  void attend(const Attend&, int) override { calls.emplace_back("attend"); }

  void add(const Rows&, const Rows&, float, const Site&) override { calls.emplace_back("add"); }

  void add_gated(const Rows&, const Rows&, const Rows&, const Site&) override {
    calls.emplace_back("add_gated");
  }

  void scale(const Rows&, float, const Site&) override { calls.emplace_back("scale"); }

  void clamp(const Rows&, float, const Site&) override { calls.emplace_back("clamp"); }

  void copy_heads(const ops::HeadCopy&) override { calls.emplace_back("copy_heads"); }

  void soft_cap(const Rows&, float, const Site&) override { calls.emplace_back("soft_cap"); }

  void check_finite(const Rows&, const Site&) override { calls.emplace_back("check_finite"); }

  void fill_rope(Longs, Floats, float, float*, float*) override { calls.emplace_back("fill_rope"); }
};

// 40 rows of 64 columns: three groups of 16 rows, interleaved with those of another matrix.
PackedMatrix make_matrix(DType type) {
  static const std::byte kData{};
  return {.type = type,
          .n_rows = 40,
          .n_cols = 64,
          .data = &kData,
          .group_stride_bytes = 2 * quant::group_bytes(type, 64)};
}

// Q8_0: 16 rows of two blocks, each 32 codes and a scale of 2 bytes.
constexpr double kGroupBytes = 16.0 * 2 * 34;

ops::RowForms int8_form() {
  ops::RowForms forms;
  forms.add(ops::RowForm::kInt8);
  return forms;
}

class OpProfileTest : public testing::Test {
 protected:
  OpProfileTest() : measured_(fake_, profile_), rows_(pool_, 8, 64, int8_form()) {
    rows_.resize(3);
  }

  const OpLine& line(const std::string& op) const {
    for (const OpLine& entry : profile_.lines()) {
      if (entry.op == op) {
        return entry;
      }
    }
    ADD_FAILURE() << "no line " << op;
    static const OpLine kNone;
    return kNone;
  }

  FakeBackend fake_;
  OpProfile profile_;
  ProfilingBackend measured_;
  MemoryPool pool_{"test", size_t{1} << 20};
  PackedRows rows_;
  Rows floats_{};
};

TEST_F(OpProfileTest, EveryOperationIsHandedOnAndHasALine) {
  const Site site{0, "here"};
  const PackedMatrix table = make_matrix(DType::kQ8_0);
  const std::array<int32_t, 2> ids = {1, 2};
  const std::array<int64_t, 2> positions = {0, 1};
  measured_.embed(table, ids, 1, floats_, site);
  measured_.add_positions(table, positions, 0, floats_, site);
  measured_.norm_pack(floats_, {}, rows_, site);
  measured_.norm(floats_, {}, floats_, site);
  measured_.pack(floats_, rows_, site);
  measured_.gather_pack(floats_, ids, rows_, site);
  measured_.pack_heads(floats_, 1, 0, 0, rows_, site);
  measured_.linear(rows_, {}, ops::Epilogue::kStore, 0);
  measured_.gated_linear(rows_, {}, rows_, 0);
  measured_.gate_pack(floats_, floats_, {}, rows_, 0);
  measured_.grouped_linear(rows_, {}, 0);
  measured_.grouped_gated_linear(rows_, {}, rows_, 0);
  measured_.route(floats_, {}, {}, 0);
  measured_.combine_experts(floats_, {}, floats_, site);
  measured_.rotate_and_store({}, 0);
  measured_.attend({}, 0);
  measured_.add(floats_, floats_, 1, site);
  measured_.add_gated(floats_, floats_, floats_, site);
  measured_.scale(floats_, 1, site);
  measured_.clamp(floats_, 1, site);
  measured_.copy_heads({});
  measured_.soft_cap(floats_, 1, site);
  measured_.check_finite(floats_, site);
  measured_.fill_rope(positions, {}, 1, nullptr, nullptr);
  ASSERT_EQ(fake_.calls.size(), 24U);
  ASSERT_EQ(profile_.lines().size(), 24U);
  for (size_t i = 0; i < fake_.calls.size(); ++i) {
    EXPECT_EQ(profile_.lines()[i].op, fake_.calls[i]);
    EXPECT_EQ(profile_.lines()[i].calls, 1);
    EXPECT_GE(profile_.lines()[i].seconds, 0.0);
  }
  EXPECT_EQ(line("embed").bytes, 2 * kGroupBytes / 16);  // two rows of the table
  EXPECT_EQ(line("norm").bytes, 0.0);
}

TEST_F(OpProfileTest, ProductsReadTheirMatrixOnce) {
  std::array<ops::LinearPart, 2> parts;
  parts[0].weight = parts[1].weight = make_matrix(DType::kQ8_0);
  parts[0].name = "q";
  parts[1].name = "k";
  measured_.linear(rows_, parts, ops::Epilogue::kStore, 0);
  measured_.linear(rows_, parts, ops::Epilogue::kStore, 1);
  const OpLine& both = line("linear");
  EXPECT_EQ(both.name, "q k");
  EXPECT_EQ(both.calls, 2);
  EXPECT_EQ(both.bytes, 2.0 * 2 * 3 * kGroupBytes);
  EXPECT_EQ(both.operations, 2.0 * 2 * (2.0 * 40 * 64 * 3));
  EXPECT_TRUE(both.is_integer);
  ops::GatedLinear gated;
  gated.up = make_matrix(DType::kBF16);  // no gate
  measured_.gated_linear(rows_, gated, rows_, 0);
  EXPECT_EQ(line("gated_linear").bytes, 48.0 * 64 * 2);
  EXPECT_FALSE(line("gated_linear").is_integer);
}

// Of the experts only those with rows are read.
TEST_F(OpProfileTest, ExpertsWithoutRowsCostNothing) {
  const std::array<PackedMatrix, 3> weights = {make_matrix(DType::kQ8_0), make_matrix(DType::kQ8_0),
                                               make_matrix(DType::kQ8_0)};
  const std::array<int64_t, 4> first_rows = {0, 2, 2, 3};
  ops::GroupedLinear job;
  job.weights = weights;
  job.first_rows = first_rows;
  job.name = "down";
  measured_.grouped_linear(rows_, job, 0);
  EXPECT_EQ(line("grouped_linear").bytes, 2.0 * 3 * kGroupBytes);
  EXPECT_EQ(line("grouped_linear").operations, 2.0 * 40 * 64 * 3);
}

TEST_F(OpProfileTest, AttentionReadsWhatItsRowsSee) {
  Attend job;
  job.n_heads = 4;
  job.pages.n_kv_heads = 2;
  job.pages.head_dim = 8;
  job.pages.value_dim = 8;
  std::array<ops::SequenceRows, 1> rows;
  rows[0].n_rows = 3;
  rows[0].first_position = 10;  // rows see 11, 12 and 13 positions
  job.sequences = rows;
  measured_.attend(job, 0);
  EXPECT_EQ(line("attend").bytes, 13.0 * 2 * 16 * 2);
  EXPECT_EQ(line("attend").operations, 2.0 * (11 + 12 + 13) * 16 * 4);
  profile_.clear();
  job.window = 4;  // positions 7 to 12; four each
  job.pages.type = PageType::kF32;
  measured_.attend(job, 0);
  EXPECT_EQ(line("attend").bytes, 6.0 * 2 * 16 * 4);
  EXPECT_EQ(line("attend").operations, 2.0 * (4 + 4 + 4) * 16 * 4);
}

TEST_F(OpProfileTest, LinesOfOneNameAddUp) {
  profile_.add({.op = "a", .name = "x", .calls = 1, .seconds = 0.5, .bytes = 2});
  profile_.add({.op = "a", .name = "y", .calls = 1, .seconds = 1.0});
  profile_.add({.op = "a", .name = "x", .calls = 2, .seconds = 0.25, .bytes = 3});
  ASSERT_EQ(profile_.lines().size(), 2U);
  EXPECT_EQ(profile_.lines()[0].calls, 3);
  EXPECT_EQ(profile_.lines()[0].bytes, 5.0);
  EXPECT_EQ(profile_.seconds(), 1.75);
}

}  // namespace
}  // namespace fathom::xray
