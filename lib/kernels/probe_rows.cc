// Probes of the row-wise kernels: random rows of odd lengths, and every kind of extreme value.
// Called by kernels/probe.cc. Read next: kernels/scalar/rows.cc.
#include <cmath>
#include <limits>

#include "kernels/probe_data.h"
#include "kernels/table.h"

namespace fathom::kernels {

namespace {

using quant::kBlockK;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Zeros, subnormals, the borders of exp, tanh, erf and of bf16 operands, infinities and NaN.
std::vector<float> extremes() {
  std::vector<float> out = {
      0.0F,           0x1p-149F,       0x1.8p-127F,     0x1p-126F,  0x1p-100F,     0x1.fffffep-51F,
      0x1p-50F,       0x1.01p-50F,     0x1.81p-3F,      0x1.83p-3F, 0.5F,          0x1.3ffffep-1F,
      0.625F,         0.875F,          0.9999F,         1.0F,       3.9F,          4.0F,
      9.01F,          43.0F,           86.9F,           87.0F,      0x1.5c0002p6F, 88.7F,
      0x1.62e42ep+6F, 0x1.62e430p+6F,  104.0F,          1e4F,       1e10F,         1e19F,
      3e38F,          0x1.fffffep127F, 0x1.ff7ffep127F, kInf};
  const size_t n = out.size();
  for (size_t i = 0; i < n; ++i) {
    out.push_back(-out[i]);
  }
  out.push_back(kNan);
  return out;
}

// Extremes, then a sweep of the interval where activations live, then random values.
std::vector<float> activation_inputs(ProbeRandom* random) {
  std::vector<float> out = extremes();
  for (int i = -600; i <= 600; ++i) {
    out.push_back(static_cast<float>(i) * 0x1.0ap-6F);
  }
  for (int i = 0; i < 200; ++i) {
    out.push_back(random->value(20.0F));
  }
  return out;
}

// Seven blocks: random, ties, below the smallest amax, at it, huge, bad (optional), short.
std::vector<float> quantize_inputs(float bad, ProbeRandom* random) {
  std::vector<float> x = random->values(int64_t{6} * kBlockK + 5, 3.0F);
  for (size_t i = 0; i < kBlockK; ++i) {
    const auto step = static_cast<float>(i) - 16.0F;
    x[kBlockK + i] = i == 0 ? 127.0F : step + 0.5F;  // scale 1: every code is a tie
    x[size_t{2} * kBlockK + i] = step * 0x1p-105F;
    x[size_t{3} * kBlockK + i] = step * 0x1p-104F;
    x[size_t{4} * kBlockK + i] = step * 0x1p123F;
  }
  x[5 * kBlockK + 7] = bad;
  return x;
}

// The same over 256 values instead of 32, and a short end of 69.
std::vector<float> quantize_coarse_inputs(float bad, ProbeRandom* random) {
  constexpr size_t kBlock = 256;
  std::vector<float> x = random->values(int64_t{6} * kBlock + 69, 3.0F);
  for (size_t i = 0; i < kBlock; ++i) {
    const auto step = static_cast<float>(i % 128) - 64.0F;
    x[kBlock + i] = i == 0 ? 127.0F : step + 0.5F;
    x[2 * kBlock + i] = step * 0x1p-108F;
    x[3 * kBlock + i] = step * 0x1p-106F;
    x[4 * kBlock + i] = step * 0x1p121F;
  }
  x[5 * kBlock + 7] = bad;
  return x;
}

void probe_quantize_coarse(const KernelTable& table, float bad, ProbeOutput* out) {
  ProbeRandom random(44);
  const std::vector<float> x = quantize_coarse_inputs(bad, &random);
  const int64_t n_rows = 3;
  std::vector<int8_t> q(size_t{8} * 256 * n_rows, 99);
  std::vector<float> d(size_t{8} * n_rows, -1.0F);
  std::vector<int32_t> sums(size_t{8} * n_rows, -1);
  CoarseRowArgs args;
  args.x = x.data();
  args.n = static_cast<int64_t>(x.size());
  args.row = 1;
  args.n_rows = n_rows;
  args.first_block = 1;
  args.q = q.data();
  args.d = d.data();
  args.sums = sums.data();
  out->add_word(table.quantize_coarse_row(args) ? 1U : 0U);
  out->add(d);
  for (const int32_t sum : sums) {
    out->add_word(static_cast<uint32_t>(sum));
  }
  for (const int8_t code : q) {
    out->add_word(static_cast<uint8_t>(code));
  }
}

void probe_quantize(const KernelTable& table, float bad, ProbeOutput* out) {
  ProbeRandom random(41);
  const std::vector<float> x = quantize_inputs(bad, &random);
  const int64_t n_rows = 3;
  const size_t n_slots = size_t{8} * n_rows;
  std::vector<int8_t> q(n_slots * kBlockK, 99);
  std::vector<float> d(n_slots, -1.0F);
  std::vector<float> ds(n_slots, -1.0F);
  std::vector<int32_t> sums(n_slots, -1);
  std::vector<int32_t> half_sums(n_slots * 2, -1);
  QuantizeArgs args;
  args.x = x.data();
  args.n = static_cast<int64_t>(x.size());
  args.row = 1;
  args.n_rows = n_rows;
  args.first_block = 1;
  args.q = q.data();
  args.d = d.data();
  args.ds = ds.data();
  args.sums = sums.data();
  args.half_sums = half_sums.data();
  out->add_word(table.quantize_row(args) ? 1 : 0);
  for (const int8_t code : q) {
    out->add_word(static_cast<uint32_t>(code));
  }
  out->add(d);
  out->add(ds);
  for (const int32_t sum : sums) {
    out->add_word(static_cast<uint32_t>(sum));
  }
  for (const int32_t sum : half_sums) {
    out->add_word(static_cast<uint32_t>(sum));
  }
}

void probe_place(void (*place)(const FloatRowArgs&) noexcept, ProbeOutput* out) {
  ProbeRandom random(42);
  std::vector<float> x = extremes();
  for (const float value : random.values(50, 2.0F)) {
    x.push_back(value);
  }
  const auto n = static_cast<int64_t>(x.size());
  const int64_t n_rows = 2;
  const int64_t n_blocks = 1 + (n + kBlockK - 1) / kBlockK;
  std::vector<float> placed(static_cast<size_t>(n_blocks * n_rows * kBlockK), -1.0F);
  FloatRowArgs args;
  args.x = x.data();
  args.n = n;
  args.row = 1;
  args.n_rows = n_rows;
  args.first_block = 1;
  args.out = placed.data();
  place(args);
  out->add(placed);
}

void probe_norm(const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(43);
  for (const int64_t n : {1, 15, 16, 37, 576, 1027}) {
    const std::vector<float> x = random.values(n, 2.0F);
    const std::vector<float> w = random.values(n, 1.0F);
    std::vector<float> y = x;
    table.rms_norm(y.data(), w.data(), n, 1e-6F, y.data());  // in place
    out->add(y);
  }
  const std::vector<float> zeros(20, 0.0F);
  std::vector<float> y(20);
  table.rms_norm(zeros.data(), zeros.data(), 20, 1e-5F, y.data());
  out->add(y);
}

void probe_layer_norm(const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(48);
  for (const int64_t n : {1, 15, 16, 37, 576, 1027}) {
    for (int kind = 0; kind < 4; ++kind) {  // with and without weights and bias
      std::vector<float> y = random.values(n, 2.0F);
      const std::vector<float> w = random.values(n, 1.0F);
      const std::vector<float> b = random.values(n, 1.0F);
      table.layer_norm(y.data(), (kind & 1) != 0 ? w.data() : nullptr,
                       (kind & 2) != 0 ? b.data() : nullptr, n, 1e-5F, y.data());  // in place
      out->add(y);
    }
  }
  const std::vector<float> same(20, 3.0F);  // variance 0
  std::vector<float> y(20);
  table.layer_norm(same.data(), nullptr, nullptr, 20, 1e-5F, y.data());
  out->add(y);
}

void probe_gated(const Entry& entry, const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(44);
  const std::vector<float> gate = activation_inputs(&random);
  const auto n = static_cast<int64_t>(gate.size());
  std::vector<float> up = random.values(n, 1.0F);
  for (size_t i = 0; i < up.size(); i += 2) {
    up[i] = 1.0F;  // the activation itself
  }
  std::vector<float> y(gate.size());
  table.gated[entry.index](gate.data(), up.data(), n, y.data());
  out->add(y);
}

void probe_activate(const Entry& entry, const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(49);
  std::vector<float> x = activation_inputs(&random);
  table.activate[entry.index](x.data(), static_cast<int64_t>(x.size()), x.data());  // in place
  out->add(x);
}

void probe_clamps(const Entry& entry, const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(50);
  std::vector<float> x = activation_inputs(&random);
  const auto n = static_cast<int64_t>(x.size());
  for (const float limit : {7.0F, 1e19F}) {
    std::vector<float> y = x;
    if (entry.family == Family::kClamp) {
      table.clamp(y.data(), n, limit);
    } else {
      std::vector<float> up(x.rbegin(), x.rend());
      table.clamped_swiglu(x.data(), up.data(), n, limit, y.data());
      out->add(y);
      up.assign(up.size(), 0.0F);  // the gate alone
      table.clamped_swiglu(x.data(), up.data(), n, limit, y.data());
    }
    out->add(y);
  }
}

void probe_soft_cap(const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(45);
  std::vector<float> x = activation_inputs(&random);
  table.soft_cap(x.data(), static_cast<int64_t>(x.size()), 30.0F);
  out->add(x);
  x = activation_inputs(&random);
  table.soft_cap(x.data(), static_cast<int64_t>(x.size()), 1.0F);  // tanh itself
  out->add(x);
}

void probe_add_scale(const Entry& entry, const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(46);
  for (const int64_t n : {1, 16, 67}) {
    const std::vector<float> a = random.values(n, 2.0F);
    std::vector<float> y = random.values(n, 2.0F);
    if (entry.family == Family::kAdd) {
      table.add(a.data(), y.data(), n, y.data());
    } else if (entry.family == Family::kAddScaled) {
      table.add_scaled(a.data(), 0x1.6a09e6p-1F, n, y.data());
    } else {
      table.scale(a.data(), 0x1.6a09e6p+2F, n, y.data());
    }
    out->add(y);
  }
}

void probe_rope(const Entry& entry, const KernelTable& table, ProbeOutput* out) {
  ProbeRandom random(47);
  for (const int64_t n_pairs : {1, 7, 20, 64}) {
    std::vector<float> x = random.values(n_pairs * 2 + 3, 2.0F);  // the last three stay
    const std::vector<float> cos = random.values(n_pairs, 1.0F);
    const std::vector<float> sin = random.values(n_pairs, 1.0F);
    table.rope[entry.index](x.data(), cos.data(), sin.data(), n_pairs);
    out->add(x);
  }
}

}  // namespace

void probe_rows(const Entry& entry, const KernelTable& table, ProbeOutput* out) {
  switch (entry.family) {
    case Family::kQuantizeRow:
      for (const float bad : {1.0F, kNan, kInf, -kInf}) {
        probe_quantize(table, bad, out);
      }
      break;
    case Family::kQuantizeCoarseRow:
      for (const float bad : {1.0F, kNan, kInf, -kInf}) {
        probe_quantize_coarse(table, bad, out);
      }
      break;
    case Family::kRoundRowBf16:
      probe_place(table.round_row_bf16, out);
      break;
    case Family::kCopyRowF32:
      probe_place(table.copy_row_f32, out);
      break;
    case Family::kRmsNorm:
      probe_norm(table, out);
      break;
    case Family::kLayerNorm:
      probe_layer_norm(table, out);
      break;
    case Family::kGated:
      probe_gated(entry, table, out);
      break;
    case Family::kActivate:
      probe_activate(entry, table, out);
      break;
    case Family::kClampedSwiglu:
    case Family::kClamp:
      probe_clamps(entry, table, out);
      break;
    case Family::kSoftCap:
      probe_soft_cap(table, out);
      break;
    case Family::kRope:
      probe_rope(entry, table, out);
      break;
    default:  // kAdd, kScale, kAddScaled
      probe_add_scale(entry, table, out);
      break;
  }
}

}  // namespace fathom::kernels
