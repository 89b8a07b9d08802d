// The feed-forward's first half: fused or in steps, watched or not, for any rows and threads the
// same bits; its formulas by hand; overflow.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "lib/ops/gated.h"
#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

constexpr int kLayer = 5;

// The ways in which hidden values come about.
struct HiddenCase {
  HiddenActivation hidden;
  bool gated = true;
  bool joined = false;
  bool biased = false;
};

using kernels::Activation;

constexpr HiddenCase kCases[] = {
    {.hidden = {}},
    {.hidden = {}, .joined = true},
    {.hidden = {.activation = Activation::kGeluTanh}, .joined = true, .biased = true},
    {.hidden = {.clamp = 1.5F}, .joined = true, .biased = true},
    {.hidden = {.clamp = 0.5F}},
    {.hidden = {.activation = Activation::kRelu2}, .gated = false},
    {.hidden = {.activation = Activation::kGeluErf}, .gated = false, .biased = true},
};

// Hidden values of fast rows are quantized per 256: the same as from whole rows.
TEST(GatedLinear, FastRowsEqualLinearsActivationAndPack) {
  for (const HiddenCase& test : kCases) {
    for (const int64_t size : {40, 256, 336, 600}) {
      GatedWeights weights(DType::kQ4_1, size, test.joined);
      const Matrix bias = Matrix::random(2, size, 6);
      weights.linear.hidden = test.hidden;
      weights.linear.gate.data = test.gated ? weights.linear.gate.data : nullptr;
      weights.linear.gate_bias = test.gated && test.biased ? bias.rows().row(0) : nullptr;
      weights.linear.up_bias = test.biased ? bias.rows().row(1) : nullptr;
      Rig rig(2);
      for (const int64_t n : {1, 5, 270}) {
        const auto fast = std::make_unique<bool[]>(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) {
          fast[static_cast<size_t>(i)] = i % 7 != 3;
        }
        const std::span<const bool> tokens(fast.get(), static_cast<size_t>(n));
        const Matrix x = Matrix::random(n, 96, static_cast<uint32_t>(n));
        Packed in(n, 96, coarse_forms());
        Packed fused(n, size, coarse_forms());
        Packed steps(n, size, coarse_forms());
        in.rows.set_coarse_tokens(tokens);
        steps.rows.set_coarse_tokens(tokens);
        rig.backend.pack(x.rows(), in.rows, {.layer = kLayer, .name = "x"});
        rig.backend.gated_linear(in.rows, weights.linear, fused.rows, kLayer);
        const Matrix hidden = hidden_in_steps(rig, in.rows, weights.linear);
        rig.backend.pack(hidden.rows(), steps.rows, {.layer = kLayer, .name = "h"});
        ASSERT_TRUE(same_coarse(fused.rows, steps.rows))
            << &test - kCases << ' ' << size << ' ' << n;
        ASSERT_TRUE(same_packed(fused.rows, steps.rows))
            << &test - kCases << ' ' << size << ' ' << n;
      }
    }
  }
}

TEST(GatedLinear, EqualsLinearsActivationAndPack) {
  for (const HiddenCase& test : kCases) {
    for (const int64_t size : {16, 40, 64, 100, 160}) {
      GatedWeights weights(DType::kQ4_1, size, test.joined);
      const Matrix bias = Matrix::random(2, size, 6);
      weights.linear.hidden = test.hidden;
      weights.linear.gate.data = test.gated ? weights.linear.gate.data : nullptr;
      weights.linear.gate_bias = test.gated && test.biased ? bias.rows().row(0) : nullptr;
      weights.linear.up_bias = test.biased ? bias.rows().row(1) : nullptr;
      for (int n_threads = 1; n_threads <= 3; ++n_threads) {
        Rig rig(n_threads);
        for (const int64_t n : {1, 2, 4, 5, 16, 65, 270}) {
          const Matrix x = Matrix::random(n, 96, static_cast<uint32_t>(n));
          const Input input(rig, x.rows());
          Packed fused(n, size, all_forms());
          Packed steps(n, size, all_forms());
          rig.backend.gated_linear(input.packed.rows, weights.linear, fused.rows, kLayer);
          const Matrix hidden = hidden_in_steps(rig, input.packed.rows, weights.linear);
          rig.backend.pack(hidden.rows(), steps.rows, {.layer = kLayer, .name = "h"});
          ASSERT_TRUE(same_packed(fused.rows, steps.rows))
              << &test - kCases << ' ' << size << ' ' << n;
        }
      }
    }
  }
}

// One value by hand: weights pick single inputs, so that gate, up and h follow from a formula.
TEST(GatedLinear, ClampedAndPlainFormulas) {
  std::vector<float> file(2 * 32, 0.0F);
  file[0] = 1.0F;       // row 0 reads x[0]
  file[32 + 1] = 1.0F;  // row 1 reads x[1]
  const auto bytes = std::as_bytes(std::span(file));
  const Weight gate = pack_weight(DType::kF32, 1, 32, bytes.first(32 * 4));
  const Weight up = pack_weight(DType::kF32, 1, 32, bytes.subspan(32 * 4));
  Rig rig(1);
  const auto hidden_of = [&](const GatedLinear& linear, float g, float u) {
    Matrix x(1, 32);
    std::fill_n(x.rows().row(0), 32, 0.0F);
    x.rows().row(0)[0] = g;
    x.rows().row(0)[1] = u;
    const Input input(rig, x.rows());
    Packed out(1, 1, all_forms());
    rig.backend.gated_linear(input.packed.rows, linear, out.rows, kLayer);
    return out.rows.view().f32[0];
  };
  GatedLinear linear;
  linear.gate = gate.matrix;
  linear.up = up.matrix;
  linear.hidden.clamp = 7.0F;
  const auto swiglu = [](double g, double u) {
    return (u + 1.0) * g / (1.0 + std::exp(-1.702 * g));
  };
  EXPECT_NEAR(hidden_of(linear, 2.0F, 3.0F), swiglu(2.0, 3.0), 1e-5);
  EXPECT_NEAR(hidden_of(linear, 9.0F, -8.0F), swiglu(7.0, -7.0), 1e-4);
  EXPECT_NEAR(hidden_of(linear, -9.0F, 8.0F), swiglu(-9.0, 7.0), 1e-5);  // the gate has no floor
  linear.gate = {};
  linear.hidden = {.activation = Activation::kRelu2};
  EXPECT_EQ(hidden_of(linear, 9.0F, 3.0F), 9.0F);
  EXPECT_EQ(hidden_of(linear, 9.0F, -3.0F), 0.0F);
}

TEST(GatedLinear, WatchedGivesTheSameBitsAndThreeTensors) {
  const GatedWeights weights(DType::kQ8_0, 72, true);
  Rig rig(2);
  const Matrix x = Matrix::random(6, 96, 1);
  const Input input(rig, x.rows());
  Packed plain(6, 72, all_forms());
  Packed watched(6, 72, all_forms());
  rig.backend.gated_linear(input.packed.rows, weights.linear, plain.rows, kLayer);
  Recorder recorder;
  rig.exec.set_observer(&recorder);
  rig.backend.gated_linear(input.packed.rows, weights.linear, watched.rows, kLayer);
  rig.exec.set_observer(nullptr);
  EXPECT_TRUE(same_packed(plain.rows, watched.rows));
  ASSERT_EQ(recorder.entries.size(), 3U);
  EXPECT_EQ(recorder.entries[0].name, "ffn_gate");
  EXPECT_EQ(recorder.entries[1].name, "ffn_up");
  EXPECT_EQ(recorder.entries[2].name, "ffn_hidden");
  EXPECT_EQ(recorder.entries[2].type, DType::kI8);
  EXPECT_EQ(recorder.entries[2].shape, (std::vector<int64_t>{6, 72}));
  const Matrix gate(6, 72);
  const Matrix up(6, 72);
  const LinearPart parts[] = {{.weight = weights.linear.gate, .out = gate.rows(), .name = "g"},
                              {.weight = weights.linear.up, .out = up.rows(), .name = "u"}};
  rig.backend.linear(input.packed.rows, parts, Epilogue::kStore, kLayer);
  EXPECT_TRUE(same_values(recorder.entries[0], gate.rows()));
  EXPECT_TRUE(same_values(recorder.entries[1], up.rows()));
}

TEST(GatedLinear, OverflowIsAFaultOfTheLowestRow) {
  std::vector<float> file(64 * 32, 1e25F);
  const Weight huge = pack_weight(DType::kF32, 64, 32, std::as_bytes(std::span(file)));
  GatedLinear linear;
  linear.gate = huge.matrix;
  linear.up = huge.matrix;
  linear.hidden.activation = kernels::Activation::kRelu;
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    Matrix x(40, 32);
    for (int64_t i = 0; i < 40; ++i) {
      std::fill_n(x.rows().row(i), 32, i == 13 || i == 30 ? 1.0F : 0.0F);
    }
    const Input input(rig, x.rows());
    Packed out(40, 64, all_forms());
    rig.backend.gated_linear(input.packed.rows, linear, out.rows, kLayer);
    const auto fault = rig.exec.take_fault();
    ASSERT_TRUE(fault.has_value());
    EXPECT_EQ(fault->row, 13);
    EXPECT_EQ(fault->name, "ffn_hidden");
    EXPECT_EQ(fault->layer, kLayer);
  }
}

// Without a gate there are two tensors to watch.
TEST(GatedLinear, WatchedWithoutGate) {
  GatedWeights weights(DType::kQ8_0, 72, false);
  weights.linear.gate = {};
  weights.linear.hidden.activation = Activation::kGeluTanh;
  Rig rig(2);
  const Matrix x = Matrix::random(6, 96, 1);
  const Input input(rig, x.rows());
  Packed plain(6, 72, all_forms());
  Packed watched(6, 72, all_forms());
  rig.backend.gated_linear(input.packed.rows, weights.linear, plain.rows, kLayer);
  Recorder recorder;
  rig.exec.set_observer(&recorder);
  rig.backend.gated_linear(input.packed.rows, weights.linear, watched.rows, kLayer);
  rig.exec.set_observer(nullptr);
  EXPECT_TRUE(same_packed(plain.rows, watched.rows));
  ASSERT_EQ(recorder.entries.size(), 2U);
  EXPECT_EQ(recorder.entries[0].name, "ffn_up");
  EXPECT_EQ(recorder.entries[1].name, "ffn_hidden");
  const Matrix hidden = hidden_in_steps(rig, input.packed.rows, weights.linear);
  EXPECT_TRUE(same_values(recorder.entries[1], hidden.rows()));
}

// The unfused form over stored gate and up gives the bits of the fused one.
TEST(GatePack, EqualsGatedLinear) {
  for (const HiddenCase& test : kCases) {
    GatedWeights weights(DType::kQ8_0, 72, false);
    weights.linear.hidden = test.hidden;
    weights.linear.gate.data = test.gated ? weights.linear.gate.data : nullptr;
    for (int n_threads = 1; n_threads <= 3; ++n_threads) {
      Rig rig(n_threads);
      for (const int64_t n : {1, 6, 70}) {
        const Matrix x = Matrix::random(n, 96, 1);
        const Input input(rig, x.rows());
        Packed fused(n, 72, all_forms());
        Packed apart(n, 72, all_forms());
        rig.backend.gated_linear(input.packed.rows, weights.linear, fused.rows, kLayer);
        const Matrix gate(n, 72);
        const Matrix up(n, 72);
        const LinearPart parts[] = {
            {.weight = weights.gate.matrix, .out = gate.rows(), .name = "g"},
            {.weight = weights.up.matrix, .out = up.rows(), .name = "u"}};
        rig.backend.linear(input.packed.rows, parts, Epilogue::kStore, kLayer);
        Recorder recorder;
        rig.exec.set_observer(n == 6 ? &recorder : nullptr);
        rig.backend.gate_pack(test.gated ? gate.rows() : Rows{}, up.rows(), test.hidden, apart.rows,
                              kLayer);
        ASSERT_TRUE(same_packed(fused.rows, apart.rows)) << &test - kCases << ' ' << n;
        ASSERT_EQ(recorder.entries.size(), n == 6 ? 1U : 0U);
        if (n == 6) {
          EXPECT_EQ(recorder.entries[0].name, "ffn_hidden");
          EXPECT_EQ(recorder.entries[0].layer, kLayer);
          const Matrix hidden = hidden_in_steps(rig, input.packed.rows, weights.linear);
          EXPECT_TRUE(same_values(recorder.entries[0], hidden.rows()));
          rig.exec.set_observer(nullptr);
        }
      }
    }
  }
}

}  // namespace
}  // namespace fathom::ops
