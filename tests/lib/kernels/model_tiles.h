// The tile instructions of AMX in plain C++, after their description: shapes from the
// configuration, what a tile does not cover is zero, sums of products of bytes, chains of
// bf16. Called by model_tile_table.h as the Tiles of lanes/tile_gemm.h, and by tile_trap.h. Its
// twin is lib/kernels/amx/tiles.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/half.h"
#include "kernels/lanes/tile_gemm.h"

namespace fathom::kernels::isa_test {

namespace {

class ModelTiles {
 public:
  // False for what the instruction refuses.
  bool configure(const TileConfig& config) {
    config_ = config;
    std::memset(tiles_, 0, sizeof tiles_);
    bool is_right = config.palette == 1 && config.start_row == 0;
    for (int i = 0; i < 16; ++i) {
      const bool exists = i < 8;
      is_right = is_right && config.rows[i] <= (exists ? 16 : 0);
      is_right = is_right && config.row_bytes[i] <= (exists ? 64 : 0);
    }
    is_configured_ = is_right;
    return is_right;
  }

  void release() { is_configured_ = false; }

  [[nodiscard]] const TileConfig& config() const { return config_; }

  [[nodiscard]] bool is_configured() const { return is_configured_; }

  void zero(int tile) {
    check(is_configured_);
    std::memset(tiles_[tile], 0, sizeof tiles_[tile]);
  }

  void load(int tile, const void* p, int64_t stride) {
    zero(tile);
    for (int row = 0; row < config_.rows[tile]; ++row) {
      std::memcpy(tiles_[tile][row], static_cast<const std::byte*>(p) + row * stride,
                  config_.row_bytes[tile]);
    }
  }

  void store(int tile, void* p, int64_t stride) const {
    check(is_configured_);
    for (int row = 0; row < config_.rows[tile]; ++row) {
      std::memcpy(static_cast<std::byte*>(p) + row * stride, tiles_[tile][row],
                  config_.row_bytes[tile]);
    }
  }

  // sum[m][n] += rows[m][4k + i] * codes[k][4n + i]
  template <class Code>
  void add_int8(int sum, int rows, int codes) {
    check_shapes(sum, rows, codes);
    for (int m = 0; m < config_.rows[sum]; ++m) {
      for (int n = 0; n < config_.row_bytes[sum] / 4; ++n) {
        auto total = word<uint32_t>(sum, m, n);
        for (int k = 0; k < config_.row_bytes[rows] / 4; ++k) {
          for (int i = 0; i < 4; ++i) {
            const auto x = static_cast<int8_t>(tiles_[rows][m][4 * k + i]);
            const auto code = static_cast<Code>(tiles_[codes][k][4 * n + i]);
            total += static_cast<uint32_t>(x * code);
          }
        }
        put(sum, m, n, total);
      }
    }
  }

  // sum[m][n] += even + odd over pairs of bf16; subnormals, also in between, count as zero.
  void add_bf16(int sum, int rows, int weights) {
    check_shapes(sum, rows, weights);
    for (int m = 0; m < config_.rows[sum]; ++m) {
      for (int n = 0; n < config_.row_bytes[sum] / 4; ++n) {
        float chains[2] = {0.0F, 0.0F};
        for (int k = 0; k < config_.row_bytes[rows] / 4; ++k) {
          for (int i = 0; i < 2; ++i) {
            chains[i] =
                flushed(std::fma(half(rows, m, 2 * k + i), half(weights, k, 2 * n + i), chains[i]));
          }
        }
        const float both = flushed(chains[0] + chains[1]);
        put(sum, m, n, flushed(flushed(word<float>(sum, m, n)) + both));
      }
    }
  }

  template <int kTile>
  void zero() {
    zero(kTile);
  }

  template <int kTile>
  void load(const void* p, int64_t stride) {
    load(kTile, p, stride);
  }

  template <int kTile>
  void store(void* p, int64_t stride) const {
    store(kTile, p, stride);
  }

  template <int kSum, int kRows, int kCodes>
  void add_int8() {
    add_int8<int8_t>(kSum, kRows, kCodes);
  }

  template <int kSum, int kRows, int kCodes>
  void add_int8_u8() {
    add_int8<uint8_t>(kSum, kRows, kCodes);
  }

  template <int kSum, int kRows, int kWeights>
  void add_bf16() {
    add_bf16(kSum, kRows, kWeights);
  }

 private:
  // Where the CPU would raise an exception.
  static void check(bool is_right) {
    if (!is_right) {
      std::abort();
    }
  }

  // m x k by k x n, in words of four bytes; three different tiles.
  void check_shapes(int sum, int rows, int codes) const {
    check(is_configured_ && sum != rows && sum != codes && rows != codes);
    check(config_.row_bytes[sum] % 4 == 0 && config_.row_bytes[rows] % 4 == 0);
    check(config_.rows[sum] == config_.rows[rows]);
    check(config_.row_bytes[sum] == config_.row_bytes[codes]);
    check(config_.row_bytes[rows] == 4 * config_.rows[codes]);
  }

  static float flushed(float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }

  [[nodiscard]] float half(int tile, int row, int column) const {
    uint16_t bits;
    std::memcpy(&bits, tiles_[tile][row] + 2 * column, sizeof bits);
    return flushed(bf16_to_f32(bits));
  }

  template <class Word>
  [[nodiscard]] Word word(int tile, int row, int column) const {
    Word value;
    std::memcpy(&value, tiles_[tile][row] + 4 * column, sizeof value);
    return value;
  }

  template <class Word>
  void put(int tile, int row, int column, Word value) {
    std::memcpy(tiles_[tile][row] + 4 * column, &value, sizeof value);
  }

  TileConfig config_;
  bool is_configured_ = false;
  uint8_t tiles_[8][16][64] = {};
};

}  // namespace

}  // namespace fathom::kernels::isa_test
