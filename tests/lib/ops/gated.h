// Gate and up matrices of a feed-forward, and its hidden values one step after the other.
// Called by the tests of gated and grouped products.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "lib/ops/rig.h"

namespace fathom::ops {

// Gate and up, apart or with their groups in turn, as the loader joins them.
struct GatedWeights {
  GatedWeights(DType type, int64_t ffn_size, bool joined, uint32_t seed = 1)
      : gate(random_weight(type, ffn_size, 96, seed)),
        up(random_weight(type, ffn_size, 96, seed + 1)) {
    linear.gate = gate.matrix;
    linear.up = up.matrix;
    if (joined) {
      join();
    }
  }

  void join() {
    const auto n_bytes = static_cast<size_t>(gate.matrix.group_stride_bytes);
    const auto n_groups = static_cast<size_t>(gate.matrix.n_groups());
    storage.resize(2 * n_groups * n_bytes + 64);
    const auto address = reinterpret_cast<uintptr_t>(storage.data());
    std::byte* data = storage.data() + (64 - address % 64) % 64;
    for (size_t g = 0; g < n_groups; ++g) {
      const auto index = static_cast<int64_t>(g);
      std::memcpy(data + 2 * g * n_bytes, gate.matrix.group(index), n_bytes);
      std::memcpy(data + (2 * g + 1) * n_bytes, up.matrix.group(index), n_bytes);
    }
    linear.gate.data = data;
    linear.up.data = data + n_bytes;
    linear.gate.group_stride_bytes *= 2;
    linear.up.group_stride_bytes *= 2;
  }

  Weight gate;
  Weight up;
  std::vector<std::byte> storage;
  GatedLinear linear;
};

// The hidden values [n, ffn_size] by linears and the activation kernel on whole rows.
inline Matrix hidden_in_steps(Rig& rig, const PackedRows& x, const GatedLinear& linear) {
  const int64_t n = x.n_rows();
  const int64_t size = linear.up.n_rows;
  const Matrix gate(n, size);
  const Matrix up(n, size);
  const bool gated = linear.gate.data != nullptr;
  if (gated) {
    const LinearPart part{
        .weight = linear.gate, .bias = linear.gate_bias, .out = gate.rows(), .name = "g"};
    rig.backend.linear(x, {&part, 1}, Epilogue::kStore, 0);
  }
  const LinearPart part{.weight = linear.up, .bias = linear.up_bias, .out = up.rows(), .name = "u"};
  rig.backend.linear(x, {&part, 1}, Epilogue::kStore, 0);
  Matrix hidden(n, size);
  const auto activation = static_cast<size_t>(linear.hidden.activation);
  for (int64_t i = 0; i < n; ++i) {
    const float* g = gate.rows().row(i);
    const float* u = up.rows().row(i);
    float* h = hidden.rows().row(i);
    if (!gated) {
      rig.table.activate[activation](u, size, h);
    } else if (linear.hidden.clamp > 0.0F) {
      rig.table.clamped_swiglu(g, u, size, linear.hidden.clamp, h);
    } else {
      rig.table.gated[activation](g, u, size, h);
    }
  }
  return hidden;
}

}  // namespace fathom::ops
