// Packs a group of 16 rows tile by tile, and reads one row of a packed matrix back.
// Called by model/load, ops (embedding lookup). Read next: quant/pack_legacy.cc,
// quant/packed_block.cc.
#include "quant/pack.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/half.h"
#include "quant/formats.h"
#include "quant/pack_tile.h"
#include "quant/packed_block.h"

namespace fathom::quant {

namespace {

constexpr int kTileBlocks = kTileK / kBlockK;

// The packer that moves file blocks of `type` as they are; F16 becomes BF16.
PackTileFn packer_of(DType type) {
  switch (type) {
    case DType::kF32:
      return pack_tile_f32;
    case DType::kF16:
      return pack_tile_f16_as_bf16;
    case DType::kBF16:
      return pack_tile_bf16;
    case DType::kQ4_0:
    case DType::kIQ4_NL:
      return pack_tile_q4_0;
    case DType::kQ4_1:
      return pack_tile_q4_1;
    case DType::kQ5_0:
      return pack_tile_q5_0;
    case DType::kQ5_1:
      return pack_tile_q5_1;
    case DType::kQ8_0:
      return pack_tile_q8_0;
    case DType::kQ2_K:
      return pack_tile_q2_k;
    case DType::kQ3_K:
      return pack_tile_q3_k;
    case DType::kQ4_K:
      return pack_tile_q4_k;
    case DType::kQ5_K:
      return pack_tile_q5_k;
    case DType::kQ6_K:
      return pack_tile_q6_k;
    case DType::kIQ4_XS:
      return pack_tile_iq4_xs;
    default:
      return nullptr;
  }
}

// One tile's worth of file rows as floats, for types that are not packed as they are (--compute
// f32) and for a last tile that K does not fill.
struct FloatTile {
  alignas(64) float values[kGroupRows][kTileK];
  const std::byte* rows[kGroupRows];

  // Converts columns [first, first + n) of every row; columns from n on are +0.
  void fill(const PackGroup& job, int64_t first, int n) {
    const int64_t offset = row_bytes(job.file_type, first);
    for (int r = 0; r < kGroupRows; ++r) {
      rows[r] = nullptr;
      const std::byte* row = job.rows[static_cast<size_t>(r)];
      if (row != nullptr) {
        dequantize_row(job.file_type, row + offset, n, values[r]);
        std::fill(values[r] + n, values[r] + kTileK, 0.0F);
        rows[r] = reinterpret_cast<const std::byte*>(values[r]);
      }
    }
  }
};

// The same for a short last tile of 16-bit floats.
struct HalfTile {
  uint16_t values[kGroupRows][kTileK];
  const std::byte* rows[kGroupRows];

  void fill(const PackGroup& job, int64_t first, int n) {
    for (int r = 0; r < kGroupRows; ++r) {
      rows[r] = nullptr;
      const std::byte* row = job.rows[static_cast<size_t>(r)];
      if (row != nullptr) {
        std::fill(values[r], values[r] + kTileK, uint16_t{0});
        std::memcpy(values[r], row + first * 2, static_cast<size_t>(n) * 2);
        rows[r] = reinterpret_cast<const std::byte*>(values[r]);
      }
    }
  }
};

// Zeroes what the packer leaves alone: the rows that are not there, and the gaps between sections.
void clear_tile(const PackTile& tile, bool has_empty_rows) {
  const auto head = static_cast<size_t>(has_empty_rows ? tile.layout.bytes : tile.layout.codes);
  std::memset(tile.out, 0, head);
}

uint32_t pack_one_tile(const PackGroup& job, int64_t first, PackTile* tile) {
  const auto n = static_cast<int>(std::min<int64_t>(kTileK, job.n_cols - first));
  const bool is_whole = n % kBlockK == 0;
  if (job.packed_type == DType::kF32 && (job.file_type != DType::kF32 || !is_whole)) {
    FloatTile floats;
    floats.fill(job, first, n);
    tile->rows = floats.rows;
    return pack_tile_f32(*tile);
  }
  if (!is_whole) {  // F16, BF16
    HalfTile halves;
    halves.fill(job, first, n);
    tile->rows = halves.rows;
    return packer_of(job.file_type)(*tile);
  }
  const std::byte* rows[kGroupRows];
  const int64_t offset = row_bytes(job.file_type, first);
  for (size_t r = 0; r < kGroupRows; ++r) {
    rows[r] = job.rows[r] == nullptr ? nullptr : job.rows[r] + offset;
  }
  tile->rows = rows;
  return packer_of(job.file_type)(*tile);
}

// The 32 values of block b of a row.
void unpack_block(const TileRow& row, int b, float* out) {
  if (row.type == DType::kF32) {
    for (int k = 0; k < kBlockK; ++k) {
      out[k] =
          std::bit_cast<float>(load32(row.tile + ((b * kBlockK + k) * kGroupRows + row.r) * 4));
    }
    return;
  }
  if (row.type == DType::kBF16) {
    for (int pair = 0; pair < kBlockK / 2; ++pair) {
      const int at = (b * kBlockK / 2 + pair) * kGroupRows + row.r;
      const uint32_t bits = load32(row.tile + at * 4);
      out[2 * pair] = bf16_to_f32(static_cast<uint16_t>(bits & 0xFFFFU));
      out[2 * pair + 1] = bf16_to_f32(static_cast<uint16_t>(bits >> 16));
    }
    return;
  }
  const PackedRow block = read_packed_row(row, b);
  const int group_k = group_k_of(row.type);
  for (int k = 0; k < kBlockK; ++k) {
    const float product = block.scale[k / group_k] * static_cast<float>(block.w[k]);
    out[k] = has_min(row.type) ? product - block.min[k / group_k] : product;
  }
}

}  // namespace

int pack_group(const PackGroup& job) {
  FATHOM_CHECK(packer_of(job.file_type) != nullptr);
  FATHOM_CHECK(job.packed_type == DType::kF32 ||
               job.packed_type == packed_type_of(job.file_type, false));
  const bool has_empty_rows =
      std::any_of(job.rows.begin(), job.rows.end(), [](const auto* row) { return row == nullptr; });
  uint32_t bad_rows = 0;
  PackTile tile;
  tile.out = job.out;
  for (int64_t first = 0; first < job.n_cols; first += kTileK) {
    const int64_t n = std::min<int64_t>(kTileK, job.n_cols - first);
    tile.n_blocks = static_cast<int>((n + kBlockK - 1) / kBlockK);
    tile.layout = tile_layout(job.packed_type, tile.n_blocks);
    clear_tile(tile, has_empty_rows);
    bad_rows |= pack_one_tile(job, first, &tile);
    tile.out += tile.layout.bytes;
  }
  return bad_rows == 0 ? -1 : std::countr_zero(bad_rows);
}

void unpack_row(const PackedMatrix& matrix, int64_t row, float* out) {
  const int64_t n_blocks = (matrix.n_cols + kBlockK - 1) / kBlockK;
  TileRow at;
  at.type = matrix.type;
  at.tile = matrix.group(row / kGroupRows);
  at.r = static_cast<int>(row % kGroupRows);
  for (int64_t first = 0; first < n_blocks; first += kTileBlocks) {
    const auto n = static_cast<int>(std::min<int64_t>(kTileBlocks, n_blocks - first));
    at.layout = tile_layout(matrix.type, n);
    for (int b = 0; b < n; ++b) {
      const int64_t k = (first + b) * kBlockK;
      float values[kBlockK];
      unpack_block(at, b, values);
      std::copy_n(values, std::min<int64_t>(kBlockK, matrix.n_cols - k), out + k);
    }
    at.tile += at.layout.bytes;
  }
}

}  // namespace fathom::quant
