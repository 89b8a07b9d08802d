// The loops of every matrix product with many rows: chunks of rows, segments of K, panels of
// outputs. Called by lanes/gemm.h, lanes/float_matmul.h. Read next: lanes/gemm.h.
//
// Results of a chunk (64 outputs x kChunk rows) stay in scratch memory until K is done: rows of
// `out` are far apart, and powers of two apart in most models, so they would evict each other.
#pragma once

#include "kernels/lanes/unroll.h"
#include "kernels/table.h"

namespace fathom::kernels {
namespace {

inline constexpr int kMaxGroups = 4;

// Rows of a chunk: what fits scratch beside a panel, a multiple of every kRows (2, 3, 4, 6), and no
// less than the 256 rows of a unit of ops (a second chunk would widen the panel again).
inline constexpr int kChunkRows = 264;

// A segment's sum joins the total at `to`.
template <class L>
[[gnu::always_inline]] inline void add_segment(typename L::F f, bool is_first, float* to) {
  L::store(to, L::add(is_first ? L::zero() : L::load(to), f));
}

// The panel's segment times rows m .. m + kR - 1 of the chunk, added to their sums at c.
// Not inlined: types of one kind share it.
template <class Product, int kR>
[[gnu::noinline]] void add_rows(const Product& product, int m, bool is_first, float* c) noexcept {
  using L = typename Product::L;
  constexpr int kVectors = Product::kVectors;
  typename L::F f[kVectors][kR];
  for (int n = 0; n < kVectors; ++n) {
    for (int i = 0; i < kR; ++i) {
      f[n][i] = L::zero();
    }
  }
  product.template multiply<kR>(m, f);
  for (int n = 0; n < kVectors; ++n) {
    for (int i = 0; i < kR; ++i) {
      add_segment<L>(f[n][i], is_first, c + ((m + i) * kVectors + n) * 16);
    }
  }
}

// The panel's segment times rows m .. n_rows - 1 of the chunk.
template <class Gemm>
[[gnu::always_inline]] inline void add_rows_from(const Gemm& gemm, int m, int n_rows, bool is_first,
                                                 float* c) noexcept {
  for (; m < n_rows; m += Gemm::kRows) {
    with_constant<Gemm::kRows>(n_rows - m < Gemm::kRows ? n_rows - m : Gemm::kRows, [&](auto r) {
      add_rows<typename Gemm::Product, decltype(r)::value>(gemm, m, is_first, c);
    });
  }
}

// Gemm: kVectors, kRows, kChunk, kScratchUsed, begin_segment(), load_panel(), and a Product with
// multiply<rows>(), or add_all_rows() in its place (lanes/tile_gemm.h).
template <class Gemm>
[[gnu::flatten, gnu::noinline]] void run_many(Gemm& gemm, const MatmulArgs& a) noexcept {
  using L = typename Gemm::L;
  constexpr int kSums = (Gemm::kScratchUsed + 63) / 64 * 64;
  constexpr int kPanelSums = Gemm::kChunk * Gemm::kVectors * 16;
  constexpr int kSegment = quant::kSegmentK / quant::kBlockK;
  static_assert(kSums + kMaxGroups * 16 * Gemm::kChunk * 4 <= kMatmulScratchBytes);
  auto* const sums = reinterpret_cast<float*>(a.scratch + kSums);  // [panel][row][kVectors][16]
  const auto n_blocks = static_cast<int>((a.n_cols + quant::kBlockK - 1) / quant::kBlockK);
  for (int64_t first = 0; first < a.n_rows; first += Gemm::kChunk) {
    const auto n_rows =
        static_cast<int>(a.n_rows - first < Gemm::kChunk ? a.n_rows - first : Gemm::kChunk);
    for (int b = 0; b < n_blocks; b += kSegment) {
      gemm.begin_segment(a.first_row + first, n_rows, b,
                         n_blocks - b < kSegment ? n_blocks - b : kSegment);
      for (int g = 0; g < a.n_groups; g += Gemm::kVectors) {
        gemm.load_panel(g);
        float* const c = sums + g / Gemm::kVectors * kPanelSums;
        if constexpr (requires { gemm.add_all_rows(n_rows, true, c); }) {
          gemm.add_all_rows(n_rows, b == 0, c);
        } else {
          add_rows_from(gemm, 0, n_rows, b == 0, c);
        }
      }
    }
    for (int g = 0; g < a.n_groups; ++g) {
      const float* const c = sums + g / Gemm::kVectors * kPanelSums + g % Gemm::kVectors * 16;
      for (int m = 0; m < n_rows; ++m) {
        L::store(a.out + (first + m) * a.out_stride + 16 * g, L::load(c + m * Gemm::kVectors * 16));
      }
    }
  }
}

}  // namespace
}  // namespace fathom::kernels
