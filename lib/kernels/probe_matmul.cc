// Probes of the matrix products: random packed tiles times random rows, odd sizes included.
// Called by kernels/probe.cc. Read next: quant/packed.h, kernels/scalar/matmul.cc.
#include <cstring>

#include "base/half.h"
#include "kernels/probe_data.h"

namespace fathom::kernels {

namespace {

using quant::kBlockK;
using quant::kGroupRows;

struct Shape {
  int n_groups;
  int64_t n_rows;
  int64_t n_cols;
};

// A random finite f16: magnitudes from 2^-12 to 2^-3, now and then zero or subnormal.
uint16_t random_f16(ProbeRandom* random) {
  const uint64_t bits = random->next();
  const auto sign_fraction = static_cast<uint16_t>(bits & 0x83FFU);
  const uint64_t kind = bits >> 32 & 31;
  const auto exponent = static_cast<uint16_t>(kind == 0 ? 0 : 3 + (bits >> 16) % 10);
  return kind == 1 ? uint16_t{0} : static_cast<uint16_t>(sign_fraction | exponent << 10);
}

void fill_halves(ProbeRandom* random, int n, std::byte* to) {
  for (int i = 0; i < n; ++i) {
    const uint16_t half = random_f16(random);
    std::memcpy(to + static_cast<ptrdiff_t>(i) * 2, &half, sizeof half);
  }
}

void fill_bytes(ProbeRandom* random, int n, std::byte* to) {
  for (int i = 0; i < n; i += 8) {
    const uint64_t bits = random->next();
    std::memcpy(to + i, &bits, sizeof bits);
  }
}

// Scales of formats that do not hold them as f16. Exponents: 2^-27 to 2^4, now and then an end of
// their range. f32: 24 bits, both signs.
void fill_block_scales(DType type, int n, ProbeRandom* random, std::byte* to) {
  static constexpr uint8_t kEnds[4] = {0, 1, 2, 254};
  for (int i = 0; i < n; ++i) {
    if (type == DType::kMXFP4) {
      const int64_t e = random->below(128) == 0 ? kEnds[random->below(4)] : 100 + random->below(32);
      to[i] = static_cast<std::byte>(e);
    } else {
      const float scale = random->value(0x1p-6F);
      std::memcpy(to + static_cast<ptrdiff_t>(i) * 4, &scale, sizeof scale);
    }
  }
}

bool has_half_scales(DType type) {
  return type != DType::kMXFP4 && type != DType::kI4Group && type != DType::kI8Group;
}

// All codes, sub-scales and signs occur; sections are multiples of 64 bytes.
void fill_tile(DType type, int n_blocks, ProbeRandom* random, std::byte* tile) {
  const quant::TileLayout at = quant::tile_layout(type, n_blocks);
  const int n_codes = n_blocks * kBlockK * kGroupRows;
  if (type == DType::kF32 || type == DType::kBF16) {
    for (int i = 0; i < n_codes; ++i) {
      const float x = random->value(0.25F);
      const uint16_t half = f32_to_bf16_operand(x);
      if (type == DType::kF32) {
        std::memcpy(tile + static_cast<ptrdiff_t>(i) * 4, &x, sizeof x);
      } else {
        std::memcpy(tile + static_cast<ptrdiff_t>(i) * 2, &half, sizeof half);
      }
    }
    return;
  }
  fill_bytes(random, at.bytes, tile);
  if (!has_half_scales(type)) {
    fill_block_scales(type, kGroupRows * n_blocks, random, tile + at.scales);
    return;
  }
  const bool has_super = at.sub >= 0;
  fill_halves(random, has_super ? kGroupRows : kGroupRows * n_blocks, tile + at.scales);
  if (at.mins >= 0) {
    fill_halves(random, has_super ? kGroupRows : kGroupRows * n_blocks, tile + at.mins);
  }
  if (type == DType::kIQ4_XS) {  // bytes of six bits
    for (int i = 0; i < kGroupRows * 8; ++i) {
      tile[at.sub + i] &= std::byte{63};
    }
  }
}

void fill_group(DType type, int64_t n_cols, ProbeRandom* random, std::byte* to) {
  constexpr int kTileBlocks = quant::kTileK / kBlockK;
  int64_t left = (n_cols + kBlockK - 1) / kBlockK;
  while (left > 0) {
    const int n_blocks = left < kTileBlocks ? static_cast<int>(left) : kTileBlocks;
    fill_tile(type, n_blocks, random, to);
    to += quant::tile_layout(type, n_blocks).bytes;
    left -= n_blocks;
  }
}

// Activations in the form that `type` multiplies, made by the reference's own integer rules.
struct Rows {
  std::vector<int8_t> q;
  std::vector<float> d, ds, floats;
  std::vector<uint16_t> halves;
  std::vector<int32_t> sums, half_sums;
  std::vector<int8_t> coarse_q;
  std::vector<float> coarse_d;
  std::vector<int32_t> coarse_sums;

  RowsView view;

  Rows(DType type, int64_t n_rows, int64_t n_cols, ProbeRandom* random) {
    view.n_rows = n_rows;
    view.n_blocks = (n_cols + kBlockK - 1) / kBlockK;
    const auto n_slots = static_cast<size_t>(n_rows * view.n_blocks);
    if (type == DType::kF32 || type == DType::kBF16) {
      fill_floats(type, n_slots, n_cols, random);
    } else {
      fill_codes(n_slots, random);
      fill_coarse(n_cols, random);
    }
  }

 private:
  void fill_floats(DType type, size_t n_slots, int64_t n_cols, ProbeRandom* random) {
    floats.resize(n_slots * kBlockK);
    const auto n_rows = static_cast<size_t>(view.n_rows);
    for (size_t i = 0; i < floats.size(); ++i) {
      const auto k = static_cast<int64_t>(i / kBlockK / n_rows * kBlockK + i % kBlockK);
      const float x = k < n_cols ? random->value(1.0F) : 0.0F;
      floats[i] = type == DType::kBF16 ? round_to_bf16_operand(x) : x;
    }
    for (const float x : floats) {
      halves.push_back(f32_to_bf16(x));
    }
    view.bf16 = type == DType::kBF16 ? floats.data() : nullptr;
    view.halves = type == DType::kBF16 ? halves.data() : nullptr;
    view.f32 = type == DType::kF32 ? floats.data() : nullptr;
  }

  void fill_codes(size_t n_slots, ProbeRandom* random) {
    for (size_t slot = 0; slot < n_slots; ++slot) {
      int32_t half[2] = {0, 0};
      for (int k = 0; k < kBlockK; ++k) {
        // Blocks of extremes now and then: all codes at +-127.
        const int64_t extreme = slot % 7 == 3 ? 127 : random->below(255) - 127;
        const auto code = static_cast<int8_t>(slot % 14 == 10 ? -extreme : extreme);
        q.push_back(code);
        half[k / 16] += code;
      }
      const float scale = slot % 11 == 5 ? 0.0F : (1.5F + random->value(1.0F) / 1024.0F) * 0x1p-6F;
      d.push_back(scale);
      sums.push_back(half[0] + half[1]);
      ds.push_back(scale * static_cast<float>(sums.back()));
      half_sums.push_back(half[0]);
      half_sums.push_back(half[1]);
    }
    view.q = q.data();
    view.d = d.data();
    view.ds = ds.data();
    view.sums = sums.data();
    view.half_sums = half_sums.data();
  }

  // Codes of blocks of 256: all at +-127 in some of them, scales 0 in others.
  void fill_coarse(int64_t n_cols, ProbeRandom* random) {
    const int64_t n_steps = (n_cols + 63) / 64;
    const int64_t n_coarse = (n_cols + 255) / 256;
    coarse_q.resize(static_cast<size_t>(n_steps * view.n_rows * 64));
    for (int64_t slot = 0; slot < n_coarse * view.n_rows; ++slot) {
      const int64_t block = slot / view.n_rows;
      const int64_t row = slot % view.n_rows;
      int32_t sum = 0;
      for (int64_t k = block * 256; k < block * 256 + 256 && k < n_cols; ++k) {
        const int64_t extreme = slot % 7 == 3 ? 127 : random->below(255) - 127;
        const auto code = static_cast<int8_t>(slot % 14 == 10 ? -extreme : extreme);
        coarse_q[static_cast<size_t>((k / 64 * view.n_rows + row) * 64 + k % 64)] = code;
        sum += code;
      }
      coarse_sums.push_back(sum);
      coarse_d.push_back(slot % 11 == 5 ? 0.0F : (1.5F + random->value(1.0F) / 1024.0F) * 0x1p-6F);
    }
    view.coarse_q = coarse_q.data();
    view.coarse_d = coarse_d.data();
    view.coarse_sums = coarse_sums.data();
  }
};

void run_shape(const Entry& entry, const KernelTable& table, const Shape& shape, ProbeOutput* out) {
  const auto type = static_cast<DType>(entry.index);
  ProbeRandom random(static_cast<uint64_t>(1000 + entry.index * 64 + shape.n_rows));
  const int64_t stride = quant::group_bytes(type, shape.n_cols);
  AlignedBytes weights(stride * shape.n_groups);
  for (int g = 0; g < shape.n_groups; ++g) {
    fill_group(type, shape.n_cols, &random, weights.data() + g * stride);
  }
  const Rows rows(type, shape.n_rows + 2, shape.n_cols, &random);
  AlignedBytes scratch(kMatmulScratchBytes);
  const int64_t out_stride = shape.n_groups * kGroupRows + 3;
  std::vector<float> result(static_cast<size_t>(out_stride * shape.n_rows), -1.0F);
  MatmulArgs args;
  args.weights = weights.data();
  args.group_stride_bytes = stride;
  args.n_groups = shape.n_groups;
  args.n_cols = shape.n_cols;
  args.rows = rows.view;
  args.first_row = 1;
  args.n_rows = shape.n_rows;
  args.out = result.data();
  args.out_stride = out_stride;
  args.scratch = scratch.data();
  const auto& family = entry.family == Family::kMatmulFew    ? table.matmul_few
                       : entry.family == Family::kMatmulMany ? table.matmul_many
                                                             : table.matmul_coarse;
  family[entry.index](args);
  out->add(result);
}

}  // namespace

void probe_matmul(const Entry& entry, const KernelTable& table, ProbeOutput* out) {
  const auto type = static_cast<DType>(entry.index);
  const bool has_super = quant::tile_layout(type, 8).sub >= 0;
  const bool is_float = type == DType::kF32 || type == DType::kBF16;
  // Three tiles cross a segment border; simple formats end in a short tile, floats inside a
  // 32-block. Where the batch is what matters, K is short: the self-test runs at every start.
  const int64_t n_cols = has_super ? 768 : is_float ? 600 : 672;
  const int64_t n_short = has_super ? 256 : is_float ? 70 : 96;
  if (entry.family == Family::kMatmulFew) {
    run_shape(entry, table, {1, 1, n_cols}, out);
    run_shape(entry, table, {2, 2, n_short}, out);
    run_shape(entry, table, {3, 3, n_short}, out);
    run_shape(entry, table, {4, 4, n_short}, out);
  } else {
    run_shape(entry, table, {1, 5, n_cols}, out);
    run_shape(entry, table, {2, 17, n_short}, out);
  }
}

}  // namespace fathom::kernels
