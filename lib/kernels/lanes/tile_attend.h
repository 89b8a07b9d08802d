// The two products of attention over bf16 pages through two-dimensional tiles: 16 query rows x 32
// dims (32 tokens) times 32 x 16 in one instruction, in the order of docs/numbers.md. Called by
// lanes/attend.h. Read next: lanes/tile_float.h (why subnormals do not show),
// kernels/scalar/attend.cc.
//
// Scores start from +0, so all of head_dim stays in tiles. Values do not: o * correction may be
// subnormal, which tiles take for zero; so each 32 tokens give a product of their own from +0, and
// vectors add the two to o.
#pragma once

#include <type_traits>

#include "kernels/lanes/tile_float.h"

namespace fathom::kernels {
namespace {

inline constexpr int kAttendMaxRows = 64;
inline constexpr int kAttendMaxDim = 576;

// Rows 16 wide of one page; every pointer is 64-byte aligned.
template <class Lanes, class Tiles>
class TilePage {
  using L = Lanes;
  static constexpr int kVectors = kPageTokens / 16;
  static constexpr int kStepBytes = 64;  // 16 rows x 32 bf16: a row of a tile

 public:
  static constexpr int kProductBytes = 4 * kTileProducts * 4;

  TilePage(Tiles& tiles, float* products) : tiles_(&tiles), products_(products) {}

  // p[16][64] = q . k of 16 rows; q [16][head_dim] bf16, K [4][head_dim / 2][16 tokens][2].
  [[gnu::always_inline]] void scores(const std::byte* q, int head_dim, const std::byte* k,
                                     float* p) const {
    const int64_t row_bytes = int64_t{head_dim} * 2;
    const int64_t vector_bytes = int64_t{head_dim} * 32;
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
      tiles_->template zero<decltype(v)::value>();
    });
    for (int d = 0; d < head_dim; d += quant::kBlockK) {
      tiles_->template load<4>(q + int64_t{d} * 2, row_bytes);
      unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
        constexpr int kV = decltype(v)::value;
        constexpr int kKeys = 5 + kV % 3;
        tiles_->template load<kKeys>(k + kV * vector_bytes + int64_t{d} * 32, kStepBytes);
        tiles_->template add_bf16<kV, 4, kKeys>();
      });
    }
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
      constexpr int kV = decltype(v)::value;
      tiles_->template store<kV>(p + 16 * kV, kPageTokens * 4);
    });
  }

  // o[16][o_stride] = o * correction + p V of 16 rows; p [16][64] bf16, V [32][value_dim][2
  // tokens]; the first n_rows of them are real.
  [[gnu::always_inline]] void values(const std::byte* p, const std::byte* v, int value_dim,
                                     const float* corrections, int n_rows, float* o) const {
    const int64_t pair_bytes = int64_t{value_dim} * 4;
    tiles_->template load<4>(p, kPageTokens * 2);
    tiles_->template load<5>(p + kStepBytes, kPageTokens * 2);
    const int n_vectors = value_dim / 16;
    const auto multiply = [&](auto half, int n) __attribute__((always_inline)) {
      constexpr int kFirst = decltype(half)::value * 2;
      const std::byte* const at = v + int64_t{n} * 64;
      tiles_->template load<6>(at, pair_bytes);
      tiles_->template zero<kFirst>();
      tiles_->template add_bf16<kFirst, 4, 6>();
      tiles_->template load<7>(at + 16 * pair_bytes, pair_bytes);
      tiles_->template zero<kFirst + 1>();
      tiles_->template add_bf16<kFirst + 1, 5, 7>();
      tiles_->template store<kFirst>(products_ + kFirst * kTileProducts, kStepBytes);
      tiles_->template store<kFirst + 1>(products_ + (kFirst + 1) * kTileProducts, kStepBytes);
    };
    const auto add = [&](auto half, int n) __attribute__((always_inline)) {
      const float* const first = products_ + decltype(half)::value * 2 * kTileProducts;
      for (int m = 0; m < n_rows; ++m) {
        float* const at = o + m * value_dim + n * 16;
        auto sum = L::mul(L::load(at), L::set1(corrections[m]));
        sum = L::add(sum, L::load(first + m * 16));
        L::store(at, L::add(sum, L::load(first + kTileProducts + m * 16)));
      }
    };
    multiply(std::integral_constant<int, 0>{}, 0);
    for (int n = 0; n < n_vectors; n += 2) {
      if (n + 1 < n_vectors) {
        multiply(std::integral_constant<int, 1>{}, n + 1);
      }
      add(std::integral_constant<int, 0>{}, n);
      if (n + 1 < n_vectors) {
        if (n + 2 < n_vectors) {
          multiply(std::integral_constant<int, 0>{}, n + 2);
        }
        add(std::integral_constant<int, 1>{}, n + 1);
      }
    }
  }

 private:
  Tiles* tiles_;
  float* products_;
};

// The products of one span's pages. Called by lanes/attend.h, which has found out which rows see a
// page. Tiles take whole steps of 32 dims, whole vectors of values, and sixteen rows or more that
// are neighbours, as those of one sequence are; what they do not take is left to others.
template <class Lanes, class Tiles>
class TileAttend {
  using L = Lanes;
  static constexpr int kMostRows = kAttendMaxRows + kTileRows;  // a tile may reach behind the last

 public:
  static constexpr int kPaddingRows = kTileRows;  // behind the rows of p

  struct Scratch {
    alignas(64) std::byte q[kMostRows * kAttendMaxDim * 2];  // [row][head_dim] bf16
    alignas(64) std::byte p[kMostRows * kPageTokens * 2];    // [row][64] bf16
    alignas(64) float products[4 * kTileProducts];
  };

  TileAttend(const AttendArgs& a, Scratch& scratch) : a_(a), s_(scratch) {
    is_in_use_ = a.n_rows >= kTileRows && a.head_dim % quant::kBlockK == 0 &&
                 a.value_dim % 16 == 0 && tiles_.configure(whole_tiles());
    for (int r = 0; is_in_use_ && r < a.n_rows; ++r) {
      const float* const from = a.q + r * a.q_stride;
      std::byte* const to = s_.q + r * a.head_dim * 2;
      for (int d = 0; d < a.head_dim; d += quant::kBlockK) {
        L::store_bf16(to + d * 2, L::load(from + d), L::load(from + d + 16));
      }
    }
  }

  TileAttend(const TileAttend&) = delete;
  TileAttend& operator=(const TileAttend&) = delete;

  ~TileAttend() {
    if (is_in_use_) {
      tiles_.release();
    }
  }

  [[nodiscard]] bool takes(int first_row, int last_row, int n_rows) const {
    return is_in_use_ && n_rows >= kTileRows && last_row - first_row == n_rows - 1;
  }

  // p[i] of rows first_row + i. What lies behind the last row gives scores that nobody reads.
  void scores(int first_row, int n_rows, const std::byte* k, float (*p)[kPageTokens]) {
    const TilePage<L, Tiles> page(tiles_, s_.products);
    const std::byte* const q = s_.q + first_row * a_.head_dim * 2;
    for (int i = 0; i < n_rows; i += kTileRows) {
      page.scores(q + i * a_.head_dim * 2, a_.head_dim, k, p[i]);
    }
  }

  // o [n_rows][value_dim] = o * correction + p V
  void values(int n_rows, const float (*p)[kPageTokens], const std::byte* v,
              const float* corrections, float* o) {
    for (int i = 0; i < n_rows; ++i) {
      std::byte* const to = s_.p + i * kPageTokens * 2;
      L::store_bf16(to, L::load(p[i]), L::load(p[i] + 16));
      L::store_bf16(to + 64, L::load(p[i] + 32), L::load(p[i] + 48));
    }
    const TilePage<L, Tiles> page(tiles_, s_.products);
    for (int i = 0; i < n_rows; i += kTileRows) {
      page.values(s_.p + i * kPageTokens * 2, v, a_.value_dim, corrections + i,
                  n_rows - i < kTileRows ? n_rows - i : kTileRows, o + i * a_.value_dim);
    }
  }

 private:
  const AttendArgs& a_;
  Scratch& s_;
  Tiles tiles_;
  bool is_in_use_ = false;
};

// Where attention has no tiles.
struct NoTiles {};

template <class L>
class TileAttend<L, NoTiles> {
 public:
  static constexpr int kPaddingRows = 0;

  struct Scratch {};

  TileAttend(const AttendArgs& /*a*/, Scratch& /*scratch*/) {}

  static bool takes(int /*first_row*/, int /*last_row*/, int /*n_rows*/) { return false; }

  static void scores(int /*first_row*/, int /*n_rows*/, const std::byte* /*k*/,
                     float (* /*p*/)[kPageTokens]) {}

  static void values(int /*n_rows*/, const float (* /*p*/)[kPageTokens], const std::byte* /*v*/,
                     const float* /*corrections*/, float* /*o*/) {}
};

}  // namespace
}  // namespace fathom::kernels
