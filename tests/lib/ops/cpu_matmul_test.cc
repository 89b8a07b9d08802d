// Linears: exact integers worked out in the test, and the same bits for every number of rows and
// threads, in any company, fused or in steps, watched or not.
#include <gtest/gtest.h>

#include <random>

#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

constexpr int kLayer = 5;

// Small integers: sums are exact in any order, so the expected values need no rounding rules.
TEST(Linear, ExactIntegersF32AndInt8) {
  constexpr int64_t kOut = 37;  // the last group is short
  constexpr int64_t kIn = 96;
  constexpr int64_t kRows = 9;
  std::mt19937 generator(1);
  const auto small = [&] { return static_cast<int>(generator() % 15) - 7; };
  std::vector<float> f32_file;
  std::vector<std::byte> q8_file;
  std::vector<int> w(kOut * kIn);
  for (int64_t i = 0; i < kOut; ++i) {
    for (int64_t k = 0; k < kIn; ++k) {
      const int value = small();
      w[static_cast<size_t>(i * kIn + k)] = value;
      f32_file.push_back(static_cast<float>(value));
      if (k % 32 == 0) {
        q8_file.push_back(std::byte{0x00});  // scale 1.0 as f16
        q8_file.push_back(std::byte{0x3C});
      }
      q8_file.push_back(static_cast<std::byte>(value));
    }
  }
  Matrix x(kRows, kIn);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t k = 0; k < kIn; ++k) {
      x.rows().row(i)[k] = static_cast<float>(k % 32 == 0 ? 127 : small());  // da = 1 exactly
    }
  }
  Rig rig(2);
  const Input input(rig, x.rows());
  const Weight f32 = pack_weight(DType::kF32, kOut, kIn, std::as_bytes(std::span(f32_file)));
  const Weight q8 = pack_weight(DType::kQ8_0, kOut, kIn, q8_file);
  const Matrix y0(kRows, kOut);
  const Matrix y1(kRows, kOut);
  const LinearPart parts[] = {{.weight = f32.matrix, .out = y0.rows(), .name = "f32"},
                              {.weight = q8.matrix, .out = y1.rows(), .name = "q8"}};
  rig.backend.linear(input.packed.rows, parts, Epilogue::kStore, kLayer);
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t i = 0; i < kOut; ++i) {
      float expected = 0.0F;
      for (int64_t k = 0; k < kIn; ++k) {
        expected += static_cast<float>(w[static_cast<size_t>(i * kIn + k)]) * x.rows().row(m)[k];
      }
      ASSERT_EQ(y0.rows().row(m)[i], expected) << m << ' ' << i;
      ASSERT_EQ(y1.rows().row(m)[i], expected) << m << ' ' << i;
    }
  }
  EXPECT_TRUE(y0.gaps_intact());
  EXPECT_TRUE(y1.gaps_intact());
}

// Three matrices of different types and odd sizes over one input.
struct Trio {
  Weight a = random_weight(DType::kQ8_0, 20, 96, 1);
  Weight b = random_weight(DType::kQ4_1, 150, 96, 2);
  Weight c = random_weight(DType::kBF16, 48, 96, 3);
  Matrix bias = Matrix::random(1, 150, 4);

  [[nodiscard]] std::vector<Matrix> outputs(int64_t n_rows, uint32_t seed) const {
    return {Matrix::random(n_rows, 20, seed), Matrix::random(n_rows, 150, seed + 1),
            Matrix::random(n_rows, 48, seed + 2)};
  }

  [[nodiscard]] std::vector<LinearPart> parts(const std::vector<Matrix>& out, int64_t first,
                                              int64_t n, float scale = 1.0F) const {
    std::vector<LinearPart> result = {
        {.weight = a.matrix, .out = out[0].part(first, n), .name = "a"},
        {.weight = b.matrix, .bias = bias.rows().data, .out = out[1].part(first, n), .name = "b"},
        {.weight = c.matrix, .out = out[2].part(first, n), .name = "c"}};
    for (LinearPart& part : result) {
      part.scale = scale;
    }
    return result;
  }
};

void expect_same(const std::vector<Matrix>& a, const std::vector<Matrix>& b, int64_t n_rows) {
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(same_bits(a[i].part(0, n_rows), b[i].part(0, n_rows)))
        << "part " << i << ", " << n_rows << " rows";
    ASSERT_TRUE(a[i].gaps_intact());
  }
}

// x = rn(x + rn(scale * y)), two roundings.
void add_by_hand(const Rows& x, const Rows& y, float scale) {
  for (int64_t i = 0; i < x.n_rows; ++i) {
    for (int64_t k = 0; k < x.n_cols; ++k) {
      const float scaled = scale * y.row(i)[k];
      x.row(i)[k] += scaled;
    }
  }
}

TEST(Linear, AnyCompanyAnyThreadsTheSameBits) {
  const Trio trio;
  const Matrix x = Matrix::random(65, 96, 8);
  for (const Epilogue epilogue : {Epilogue::kStore, Epilogue::kAddTo}) {
    Rig lone(1);
    const std::vector<Matrix> alone = trio.outputs(65, 20);
    for (int64_t i = 0; i < 65; ++i) {
      const Input input(lone, x.part(i, 1));
      lone.backend.linear(input.packed.rows, trio.parts(alone, i, 1), epilogue, kLayer);
    }
    for (int n_threads = 1; n_threads <= 3; ++n_threads) {
      Rig rig(n_threads);
      for (int64_t n = 1; n <= 65; n += n_threads == 2 ? 1 : 4) {
        const std::vector<Matrix> batch = trio.outputs(65, 20);
        const Input input(rig, x.part(0, n));
        rig.backend.linear(input.packed.rows, trio.parts(batch, 0, n), epilogue, kLayer);
        expect_same(batch, alone, n);
      }
    }
  }
}

// Rows of both arithmetics in one step: each has the bits that it has alone.
TEST(Linear, FastRowsInAnyCompany) {
  const Weight weights[] = {random_weight(DType::kQ8_0, 40, 608, 1),
                            random_weight(DType::kQ4_1, 70, 608, 2),
                            random_weight(DType::kBF16, 16, 608, 3)};
  for (const kernels::KernelTable& table :
       {kernels::scalar_table(),
        kernels::make_dispatch(detect_cpu(), kAutomaticIsa, false, false).table}) {
    Rig rig(2, kRigLimits, table);
    const int64_t n = 41;
    const Matrix x = Matrix::random(n, 608, 7);
    bool fast[41];
    for (int64_t i = 0; i < n; ++i) {
      fast[i] = i < 17 || i % 3 == 0;
    }
    Packed all(n, 608, coarse_forms());
    all.rows.set_coarse_tokens(fast);
    rig.backend.pack(x.rows(), all.rows, {.layer = kLayer, .name = "x"});
    for (const Weight& weight : weights) {
      const int64_t n_out = weight.matrix.n_rows;
      const Matrix together(n, n_out);
      const LinearPart part{.weight = weight.matrix, .out = together.rows(), .name = "y"};
      rig.backend.linear(all.rows, {&part, 1}, Epilogue::kStore, kLayer);
      int n_differ = 0;
      for (int64_t i = 0; i < n; ++i) {
        std::vector<float> results[2];
        for (const bool is_fast : {false, true}) {
          Packed one(1, 608, coarse_forms());
          one.rows.set_coarse_tokens({&is_fast, 1});
          rig.backend.pack(x.part(i, 1), one.rows, {.layer = kLayer, .name = "x"});
          const Matrix y(1, n_out);
          const LinearPart own{.weight = weight.matrix, .out = y.rows(), .name = "y"};
          rig.backend.linear(one.rows, {&own, 1}, Epilogue::kStore, kLayer);
          results[is_fast ? 1 : 0].assign(y.rows().row(0), y.rows().row(0) + n_out);
        }
        const std::vector<float> found(together.rows().row(i), together.rows().row(i) + n_out);
        ASSERT_EQ(found, results[fast[i] ? 1 : 0]) << i;
        n_differ += results[0] != results[1] ? 1 : 0;
      }
      EXPECT_EQ(n_differ, weight.matrix.type == DType::kBF16 ? 0 : n);
      EXPECT_TRUE(together.gaps_intact());
    }
  }
}

TEST(Linear, ManyRowsInBlocks) {
  const Trio trio;
  const Matrix x = Matrix::random(530, 96, 8);
  Rig lone(1);
  Rig rig(2);
  for (const int64_t n : {256, 257, 530}) {
    const std::vector<Matrix> batch = trio.outputs(n, 20);
    const std::vector<Matrix> alone = trio.outputs(n, 20);
    const Input all(rig, x.part(0, n));
    rig.backend.linear(all.packed.rows, trio.parts(batch, 0, n), Epilogue::kStore, kLayer);
    for (int64_t i = 0; i < n; i += 3) {
      const int64_t few = std::min<int64_t>(3, n - i);
      const Input input(lone, x.part(i, few));
      lone.backend.linear(input.packed.rows, trio.parts(alone, i, few), Epilogue::kStore, kLayer);
    }
    expect_same(batch, alone, n);
  }
}

// rn(out + rn(scale * rn(y + bias))): the fused sum equals store, then scale, then add; a watched
// step gives the same bits and shows y itself, then the sum.
TEST(Linear, AddToEqualsStoreThenAdd) {
  const Trio trio;
  for (const float scale : {1.0F, 0.22F}) {
    for (const int64_t n : {1, 4, 5, 33}) {
      Rig rig(2);
      const Matrix x = Matrix::random(n, 96, 3);
      const Input input(rig, x.rows());
      const std::vector<Matrix> fused = trio.outputs(n, 50);
      const std::vector<Matrix> watched = trio.outputs(n, 50);
      const std::vector<Matrix> steps = trio.outputs(n, 50);
      const std::vector<Matrix> y = trio.outputs(n, 90);
      rig.backend.linear(input.packed.rows, trio.parts(fused, 0, n, scale), Epilogue::kAddTo,
                         kLayer);
      rig.backend.linear(input.packed.rows, trio.parts(y, 0, n), Epilogue::kStore, kLayer);
      for (size_t i = 0; i < y.size(); ++i) {
        add_by_hand(steps[i].rows(), y[i].rows(), scale);
      }
      expect_same(fused, steps, n);
      Recorder recorder;
      rig.exec.set_observer(&recorder);
      rig.backend.linear(input.packed.rows, trio.parts(watched, 0, n, scale), Epilogue::kAddTo,
                         kLayer);
      expect_same(watched, steps, n);
      ASSERT_EQ(recorder.entries.size(), 6U);
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_TRUE(same_values(recorder.entries[2 * i], y[i].rows()));
        EXPECT_TRUE(same_values(recorder.entries[2 * i + 1], steps[i].rows()));
      }
    }
  }
}

TEST(Linear, ObserverGetsEachPartByName) {
  const Trio trio;
  Rig rig(2);
  Recorder recorder;
  const Matrix x = Matrix::random(7, 96, 3);
  const Input input(rig, x.rows());
  rig.exec.set_observer(&recorder);
  const std::vector<Matrix> out = trio.outputs(7, 1);
  rig.backend.linear(input.packed.rows, trio.parts(out, 0, 7), Epilogue::kStore, kLayer);
  ASSERT_EQ(recorder.entries.size(), 3U);
  EXPECT_EQ(recorder.entries[1].name, "b");
  EXPECT_EQ(recorder.entries[1].layer, kLayer);
  EXPECT_EQ(recorder.entries[1].shape, (std::vector<int64_t>{7, 150}));
  EXPECT_EQ(recorder.entries[1].type, DType::kF32);
  EXPECT_TRUE(same_values(recorder.entries[1], out[1].rows()));
}

TEST(Linear, BothWorkersClaimUnits) {
  const Weight weight = random_weight(DType::kQ4_1, 2048, 512, 1);
  Rig rig(2);
  const Matrix x = Matrix::random(16, 512, 1);
  const Input input(rig, x.rows());
  const Matrix out(16, 2048);
  const LinearPart part{.weight = weight.matrix, .out = out.rows(), .name = "y"};
  const auto both_claimed = [&] {
    const auto counts = rig.threads.claim_counts();
    return counts[0] > 0 && counts[1] > 0;
  };
  for (int round = 0; round < 50 && !both_claimed(); ++round) {
    rig.backend.linear(input.packed.rows, {&part, 1}, Epilogue::kStore, kLayer);
  }
  EXPECT_TRUE(both_claimed());
}

TEST(LinearDeathTest, ShapesAndForms) {
  const Weight weight = random_weight(DType::kQ8_0, 32, 64, 1);
  Rig rig(1);
  const Matrix x = Matrix::random(2, 64, 1);
  const Input input(rig, x.rows());
  const Matrix narrow(2, 31);
  const LinearPart bad{.weight = weight.matrix, .out = narrow.rows(), .name = "y"};
  EXPECT_DEATH(rig.backend.linear(input.packed.rows, {&bad, 1}, Epilogue::kStore, 0), "n_cols");
  RowForms f32;
  f32.add(RowForm::kF32);
  Packed wrong_form(2, 64, f32);
  rig.backend.pack(x.rows(), wrong_form.rows, {.layer = 0, .name = "x"});
  const Matrix out(2, 32);
  const LinearPart good{.weight = weight.matrix, .out = out.rows(), .name = "y"};
  EXPECT_DEATH(rig.backend.linear(wrong_form.rows, {&good, 1}, Epilogue::kStore, 0), "forms");
}

}  // namespace
}  // namespace fathom::ops
