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

using PackTileFn = uint32_t (*)(const PackTile&);

// Stands in for rows past the end of the matrix: a tile's worth of the widest type.
constexpr std::byte kZeroRow[kTileK * sizeof(float)] = {};

// The packer that moves file blocks of `type` as they are; F16 becomes BF16.
PackTileFn packer_of(DType type) {
  switch (type) {
    case DType::kF32:
      return pack_tile_f32;
    case DType::kMXFP4:
      return pack_tile_mxfp4;
    case DType::kI4Group:
      return pack_tile_i4_group;
    case DType::kI8Group:
      return pack_tile_i8_group;
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

// True where a packer takes the file's rows as they are; the others become floats first.
bool is_moved(const PackGroup& job) {
  return packer_of(job.file_type) != nullptr &&
         job.packed_type == packed_type_of(job.file_type, false);
}

// File rows of one tile, from column `first` on.
struct TileRows {
  const std::byte* start[kGroupRows];

  TileRows(const PackGroup& job, int64_t first) {
    const int64_t offset = row_bytes(job.file_type, first);
    for (size_t r = 0; r < kGroupRows; ++r) {
      start[r] = job.rows[r] == nullptr ? kZeroRow : job.rows[r] + offset;
    }
  }
};

// A tile's rows converted to floats, for types that are not packed as they are (--compute f32), or
// copied with zeros behind when the columns end inside a 32-block.
struct StagedRows {
  alignas(64) std::byte values[kGroupRows][kTileK * sizeof(float)];
  const std::byte* start[kGroupRows];

  StagedRows(const PackGroup& job, int64_t first, int n, bool as_floats) {
    const TileRows rows(job, first);
    for (size_t r = 0; r < kGroupRows; ++r) {
      std::memset(values[r], 0, sizeof values[r]);
      start[r] = values[r];
      if (as_floats && job.rows[r] != nullptr) {
        float floats[kTileK];
        dequantize_row(job.file_type, rows.start[r], n, floats);
        std::memcpy(values[r], floats, static_cast<size_t>(n) * sizeof(float));
      } else {
        std::memcpy(values[r], rows.start[r], static_cast<size_t>(row_bytes(job.file_type, n)));
      }
    }
  }
};

uint32_t pack_one_tile(const PackGroup& job, int64_t first, PackTile tile) {
  const auto n = static_cast<int>(std::min<int64_t>(kTileK, job.n_cols - first));
  const bool as_floats = !is_moved(job);
  const PackTileFn pack = as_floats && job.packed_type == DType::kBF16 ? pack_tile_f32_as_bf16
                          : as_floats                                  ? pack_tile_f32
                                                                       : packer_of(job.file_type);
  if (as_floats || n % kBlockK != 0) {
    const StagedRows staged(job, first, n, as_floats);
    tile.rows = staged.start;
    return pack(tile);
  }
  const TileRows rows(job, first);
  tile.rows = rows.start;
  return pack(tile);
}

// The 32 values of block b of a row.
void unpack_block(const TileRow& row, int b, float* out) {
  if (row.type == DType::kF32) {
    for (int k = 0; k < kBlockK; ++k) {
      out[k] = std::bit_cast<float>(
          load32(row.tile + ptrdiff_t{(b * kBlockK + k) * kGroupRows + row.r} * 4));
    }
    return;
  }
  if (row.type == DType::kBF16) {
    for (int pair = 0; pair < kBlockK / 2; ++pair) {
      const ptrdiff_t at = ptrdiff_t{b * kBlockK / 2 + pair} * kGroupRows + row.r;
      const uint32_t bits = load32(row.tile + at * 4);
      out[ptrdiff_t{2} * pair] = bf16_to_f32(static_cast<uint16_t>(bits & 0xFFFFU));
      out[ptrdiff_t{2} * pair + 1] = bf16_to_f32(static_cast<uint16_t>(bits >> 16));
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
  FATHOM_CHECK(is_moved(job) || job.packed_type == DType::kF32 || job.packed_type == DType::kBF16);
  uint32_t bad_rows = 0;
  PackTile tile;
  tile.out = job.out;
  for (int64_t first = 0; first < job.n_cols; first += kTileK) {
    const int64_t n = std::min<int64_t>(kTileK, job.n_cols - first);
    tile.n_blocks = static_cast<int>((n + kBlockK - 1) / kBlockK);
    tile.layout = tile_layout(job.packed_type, tile.n_blocks);
    std::memset(tile.out, 0, static_cast<size_t>(tile.layout.codes));  // gaps between scales
    bad_rows |= pack_one_tile(job, first, tile);
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
