// Attention over the pages of one span in 16 lanes: lanes are tokens for scores, dims for values.
// Called by lanes/pages.h. Read next: kernels/scalar/attend.cc (the definition),
// lanes/float_matmul.h (both products are its register blocks).
//
// Per page: the list of rows that see some of it; scores of blocks of rows x 64 tokens into p; the
// softmax step row by row; o = o * c + p V by blocks of rows. bf16 K and V are widened once per
// block of rows: for the query heads of one KV head in decode, for kFloatRows rows in prefill; int8
// ones once for all rows, into a panel of f32 (lanes/attend_int8.h). Where there are tiles, sixteen
// rows and more of bf16 pages go through them.
#pragma once

#include "kernels/lanes/attend_int8.h"
#include "kernels/lanes/float_matmul.h"
#include "kernels/lanes/math.h"
#include "kernels/lanes/tile_attend.h"
#include "kernels/table.h"

namespace fathom::kernels {
namespace {

inline constexpr int kTokenVectors = kPageTokens / 16;
inline constexpr int kFewAttendRows = 8;  // decode: memory-bound, ask for the next page

template <class L, PageType kPage, class Tiles>
class AttendSpan {
  using F = typename L::F;
  static constexpr bool kIsBf16 = kPage == PageType::kBF16;
  static constexpr bool kIsInt8 = kPage == PageType::kInt8;
  using Matrix = TileAttend<L, Tiles>;
  static constexpr int kStepDims = kIsBf16 ? 2 : 1;  // dims (K) or tokens (V) in a weight vector
  static constexpr int kRows = L::kFloatRows;

  // A row that sees slots first .. last of the page.
  struct ActiveRow {
    int row;
    int first;
    int last;
  };

  // In args.scratch.
  struct Scratch {
    // scores, then probabilities, of active rows
    alignas(64) float p[kAttendMaxRows + Matrix::kPaddingRows][kPageTokens];
    alignas(64) float o[kAttendMaxRows * kAttendMaxDim];
    alignas(64) float q[kAttendMaxRows * (kAttendMaxDim + 2)];  // odd head_dim: rows padded to even
    typename Matrix::Scratch matrix;
    alignas(64) std::byte v_tail[kPageTokens / kStepDims * 64];          // last dims when not 16
    alignas(64) float panel[kIsInt8 ? kAttendMaxDim * kPageTokens : 1];  // widened K or V
    float correction[kAttendMaxRows];  // m - m' of active rows, then its exp
    float sum[kAttendMaxRows];         // of the page's probabilities
    ActiveRow active[kAttendMaxRows];
  };

  static_assert(sizeof(Scratch) <= kAttendScratchBytes);

 public:
  explicit AttendSpan(const AttendArgs& a)
      : a_(a),
        s_(*reinterpret_cast<Scratch*>(a.scratch)),
        dims_(padded_dims(kPage, a.head_dim)),
        value_dims_(padded_dims(kPage, a.value_dim)),
        dim_vectors_((a.value_dim + 15) / 16),
        q_(a.q),
        q_stride_(a.q_stride),
        matrix_(a, s_.matrix) {}

  [[gnu::flatten]] void run() noexcept {
    pad_queries();
    for (int r = 0; r < a_.n_rows; ++r) {
      a_.m[r] = kAttendMaxStart;
      a_.l[r] = 0.0F;
      for (int n = 0; n < dim_vectors_; ++n) {
        L::store(o_of(r) + 16 * n, L::zero());
      }
    }
    for (int page = 0; page < a_.n_pages; ++page) {
      find_active(page);
      if (n_active_ > 0) {
        attend_page(page);
      }
    }
    for (int r = 0; r < a_.n_rows; ++r) {
      float* const out = a_.o + static_cast<int64_t>(r) * a_.value_dim;
      for (int d = 0; d < a_.value_dim; d += 16) {
        const int n = a_.value_dim - d < 16 ? a_.value_dim - d : 16;
        L::store_n(out + d, L::load(o_of(r) + d), n);
      }
    }
  }

 private:
  float* o_of(int row) { return s_.o + row * dim_vectors_ * 16; }

  // K holds a zero beside the last of an odd number of dims; q must as well.
  void pad_queries() {
    if (kIsInt8 || dims_ == a_.head_dim) {
      return;
    }
    for (int r = 0; r < a_.n_rows; ++r) {
      float* const row = s_.q + r * dims_;
      for (int d = 0; d < a_.head_dim; ++d) {
        row[d] = a_.q[r * a_.q_stride + d];
      }
      row[a_.head_dim] = 0.0F;
    }
    q_ = s_.q;
    q_stride_ = dims_;
  }

  void find_active(int page) {
    const int64_t start = a_.first_position + static_cast<int64_t>(page) * kPageTokens;
    n_active_ = 0;
    for (int r = 0; r < a_.n_rows; ++r) {
      const int64_t first = a_.first_visible[r] - start;
      const int64_t last = a_.last_visible[r] - start;
      const int64_t from = first < 0 ? 0 : first;
      const int64_t to = last < kPageTokens - 1 ? last : kPageTokens - 1;
      if (from <= to) {
        s_.active[n_active_] = {r, static_cast<int>(from), static_cast<int>(to)};
        ++n_active_;
      }
    }
  }

  void attend_page(int page) {
    const int64_t start = a_.first_position + static_cast<int64_t>(page) * kPageTokens;
    const std::byte* const next_k = next_of(a_.k, page);
    const std::byte* const next_v = next_of(a_.v, page);
    if constexpr (kIsInt8) {
      int8_scores(a_.k[page], next_k);
    } else if (takes_tiles()) {
      matrix_.scores(s_.active[0].row, n_active_, a_.k[page], s_.p);
    } else {
      for (int i = 0; i < n_active_; i += kRows) {
        with_constant<kRows>(n_active_ - i < kRows ? n_active_ - i : kRows, [&](auto rows) {
          scores<decltype(rows)::value>(i, a_.k[page], i == 0 ? next_k : nullptr);
        });
      }
    }
    for (int i = 0; i < n_active_; ++i) {
      softmax(i, start, a_.v[page]);
    }
    for (int i = 0; i < n_active_; i += 16) {
      L::store(s_.correction + i, exp_lanes<L>(L::load(s_.correction + i)));
    }
    for (int i = 0; i < n_active_; ++i) {
      const int row = s_.active[i].row;
      a_.l[row] = a_.l[row] * s_.correction[i] + s_.sum[i];
    }
    if constexpr (kIsInt8) {
      int8_values(a_.v[page], next_v);
      return;
    }
    if (takes_tiles()) {
      matrix_.values(n_active_, s_.p, a_.v[page], s_.correction, o_of(s_.active[0].row));
      return;
    }
    copy_tail(a_.v[page]);
    for (int i = 0; i < n_active_; i += kRows) {
      with_constant<kRows>(n_active_ - i < kRows ? n_active_ - i : kRows, [&](auto rows) {
        values<decltype(rows)::value>(i, a_.v[page], i == 0 ? next_v : nullptr);
      });
    }
  }

  // The page to ask for ahead of time; null in prefill.
  const std::byte* next_of(const std::byte* const* pages, int page) const {
    return a_.n_rows <= kFewAttendRows && page + 1 < a_.n_pages ? pages[page + 1] : nullptr;
  }

  // With one or two rows, more vectors keep both FMA ports busy.
  static constexpr int vectors_for(int rows) {
    return rows == 1 ? L::kOneRowVectors : rows == 2 ? L::kTwoRowVectors : L::kVectors;
  }

  // p[i + m][64] = q . k of active rows i .. i + kR - 1.
  template <int kR>
  void scores(int i, const std::byte* k, const std::byte* next) {
    constexpr int kV = vectors_for(kR);
    constexpr int kBlockSteps = quant::kBlockK / kStepDims;
    const int n_steps = dims_ / kStepDims;
    const int64_t vector_stride = static_cast<int64_t>(n_steps) * 64;
    const float* x[kR];
    for (int v = 0; v < kTokenVectors; v += kV) {
      F f[kV][kR];
      for (int m = 0; m < kR; ++m) {
        x[m] = q_ + s_.active[i + m].row * q_stride_;
        for (int n = 0; n < kV; ++n) {
          f[n][m] = L::zero();
        }
      }
      for (int step = 0; step < n_steps; step += kBlockSteps) {
        const int64_t at = v * vector_stride + step * 64;
        const int n = n_steps - step < kBlockSteps ? n_steps - step : kBlockSteps;
        if (next != nullptr) {
          for (int j = 0; j < kV; ++j) {
            prefetch_lines(next + at + j * vector_stride, n * 64);
          }
        }
        add_block<kV, kR>({k + at, vector_stride, 64}, x, n, f);
        for (int m = 0; m < kR; ++m) {
          x[m] += quant::kBlockK;
        }
      }
      for (int m = 0; m < kR; ++m) {
        for (int n = 0; n < kV; ++n) {
          L::store(s_.p[i + m] + (v + n) * 16, f[n][m]);
        }
      }
    }
  }

  // f = f + (e + o) over at most 32 terms (bf16), or one chain.
  template <int kV, int kR>
  [[gnu::always_inline]] static void add_block(const WeightSteps& w, const float* const (&x)[kR],
                                               int n_steps, F (&f)[kV][kR]) {
    if constexpr (kIsBf16) {
      F sum[kV][kR];
      bf16_chains<L, kV, kR>(w, x, n_steps, sum);
      for (int n = 0; n < kV; ++n) {
        for (int m = 0; m < kR; ++m) {
          f[n][m] = L::add(f[n][m], sum[n][m]);
        }
      }
    } else {
      f32_chain<L, kV, kR>(w, x, n_steps, f);
    }
  }

  // p of active row i from scores to probabilities (int8: times the scales of `v`); the row's m,
  // sum and m - m'. `start`: the position of slot 0.
  void softmax(int i, int64_t start, const std::byte* v_page) {
    const ActiveRow& active = s_.active[i];
    float* const p = s_.p[i];
    const bool sees_all = active.first == 0 && active.last == kPageTokens - 1;
    F largest = L::set1(a_.m[active.row]);
    F score[kTokenVectors];
    for (int v = 0; v < kTokenVectors; ++v) {
      score[v] = L::mul(L::load(p + 16 * v), L::set1(a_.scale));
      if (a_.soft_cap != 0.0F) {
        const F cap = L::set1(a_.soft_cap);
        score[v] = L::mul(cap, tanh_lanes<L>(L::div(score[v], cap)));
      }
      if (a_.slopes != nullptr) {
        score[v] = with_slope(active.row, start + 16 * v, score[v]);
      }
      const F seen = sees_all ? score[v] : L::select(visible(active, v), score[v], largest);
      largest = L::larger(seen, largest);
    }
    const float m = L::lane_max(largest);
    F sum = L::zero();
    for (int v = 0; v < kTokenVectors; ++v) {
      F e = exp_lanes<L>(L::sub(score[v], L::set1(m)));
      e = kIsBf16 ? round_bf16_lanes<L>(e) : e;
      e = sees_all ? e : L::select(visible(active, v), e, L::zero());
      if constexpr (kIsInt8) {
        const auto* const scales = reinterpret_cast<const float*>(v_page + scales_at(value_dims_));
        L::store(p + 16 * v, L::mul(e, L::load(scales + 16 * v)));
      } else {
        L::store(p + 16 * v, e);
      }
      sum = v == 0 ? e : L::add(sum, e);
    }
    s_.correction[i] = a_.m[active.row] - m;
    s_.sum[i] = L::tree_sum(sum);
    a_.m[active.row] = m;
  }

  // score + slope * (key position - last visible), for 16 keys from position `first` on.
  F with_slope(int row, int64_t first, F score) const {
    const auto distance = L::add_int(
        L::set1_int(static_cast<int32_t>(first - a_.last_visible[row])), L::lane_numbers());
    return L::fma(L::set1(a_.slopes[row]), L::to_float(distance), score);
  }

  static typename L::M visible(const ActiveRow& active, int v) {
    return L::between(active.first - 16 * v, active.last - 16 * v);
  }

  // The last dims of V when they fill no vector, zero padded, 64 bytes a step.
  void copy_tail(const std::byte* v) {
    const int whole = a_.value_dim / 16 * 16;
    if (whole == a_.value_dim) {
      return;
    }
    for (int t = 0; t < kPageTokens / kStepDims; ++t) {
      L::store_n(reinterpret_cast<float*>(s_.v_tail + t * 64),
                 L::load_n(reinterpret_cast<const float*>(
                               v + (static_cast<int64_t>(t) * value_dims_ + whole) * 4),
                           value_dims_ - whole),
                 16);
    }
  }

  // o = o * correction + p V of active rows i .. i + kR - 1.
  template <int kR>
  void values(int i, const std::byte* v, const std::byte* next) {
    constexpr int kV = vectors_for(kR);
    const int whole = a_.value_dim / 16;
    int n = 0;
    for (; n + kV <= whole; n += kV) {
      prefetch_values<kV>(next, n);
      value_block<kV, kR>(i, n, {v + n * 64, 64, static_cast<int64_t>(value_dims_) * 4});
    }
    for (; n < whole; ++n) {
      prefetch_values<1>(next, n);
      value_block<1, kR>(i, n, {v + n * 64, 64, static_cast<int64_t>(value_dims_) * 4});
    }
    if (n < dim_vectors_) {
      value_block<1, kR>(i, n, {s_.v_tail, 64, 64});
    }
  }

  template <int kV>
  [[gnu::always_inline]] void prefetch_values(const std::byte* next, int n) const {
    if (next != nullptr) {
      for (int t = 0; t < kPageTokens / kStepDims; ++t) {
        prefetch_lines(next + (static_cast<int64_t>(t) * value_dims_ + n * 16) * 4, kV * 64);
      }
    }
  }

  template <int kV, int kR>
  [[gnu::always_inline]] void value_block(int i, int n, WeightSteps w) {
    F o[kV][kR];
    const float* x[kR];
    for (int m = 0; m < kR; ++m) {
      x[m] = s_.p[i + m];
      const F correction = L::set1(s_.correction[i + m]);
      for (int j = 0; j < kV; ++j) {
        o[j][m] = L::mul(L::load(o_of(s_.active[i + m].row) + (n + j) * 16), correction);
      }
    }
    constexpr int kBlockSteps = quant::kBlockK / kStepDims;
    for (int t = 0; t < kPageTokens; t += quant::kBlockK) {
      add_block<kV, kR>(w, x, kBlockSteps, o);
      w.data += kBlockSteps * w.step_stride;
      for (int m = 0; m < kR; ++m) {
        x[m] += quant::kBlockK;
      }
    }
    for (int m = 0; m < kR; ++m) {
      for (int j = 0; j < kV; ++j) {
        L::store(o_of(s_.active[i + m].row) + (n + j) * 16, o[j][m]);
      }
    }
  }

  // Whether tiles do this page's products.
  bool takes_tiles() const {
    return matrix_.takes(s_.active[0].row, s_.active[n_active_ - 1].row, n_active_);
  }

  static int64_t scales_at(int dims) { return static_cast<int64_t>(dims) * kPageTokens; }

  // p[row][64] = (q . k) * scale of the key, for all active rows. One row takes all four vectors of
  // tokens at once, two rows two: with fewer sums than eight registers the fma chains would wait.
  void int8_scores(const std::byte* k, const std::byte* next) {
    with_rows([&](auto vectors, auto most_rows) {
      constexpr int kV = decltype(vectors)::value;
      constexpr int kMost = decltype(most_rows)::value;
      const int64_t tile_bytes = static_cast<int64_t>(dims_) * 16;
      for (int v = 0; v < kTokenVectors; v += kV) {
        for (int n = 0; n < kV; ++n) {
          widen_quads<L>(k + (v + n) * tile_bytes, dims_ / 4, 64, s_.panel + n * 16, kV * 16);
        }
        ask_for(next, v * tile_bytes, kV * tile_bytes);
        for (int i = 0; i < n_active_; i += kMost) {
          with_constant<kMost>(n_active_ - i < kMost ? n_active_ - i : kMost, [&](auto rows) {
            int8_score_block<kV, decltype(rows)::value>(i, v, k + scales_at(dims_));
          });
        }
      }
    });
  }

  template <int kV, int kR>
  [[gnu::always_inline]] void int8_score_block(int i, int v, const std::byte* scales) {
    F f[kV][kR];
    const float* x[kR];
    for (int m = 0; m < kR; ++m) {
      x[m] = q_ + s_.active[i + m].row * q_stride_;
      for (int n = 0; n < kV; ++n) {
        f[n][m] = L::zero();
      }
    }
    f32_chain<L, kV, kR>({reinterpret_cast<const std::byte*>(s_.panel), 64, int64_t{kV} * 64}, x,
                         a_.head_dim, f);
    for (int n = 0; n < kV; ++n) {
      const F scale = L::load(reinterpret_cast<const float*>(scales) + (v + n) * 16);
      for (int m = 0; m < kR; ++m) {
        L::store(s_.p[i + m] + (v + n) * 16, L::mul(f[n][m], scale));
      }
    }
  }

  // o = o * correction + p V of all active rows; the lanes behind value_dim hold anything.
  void int8_values(const std::byte* v, const std::byte* next) {
    with_rows([&](auto vectors, auto most_rows) {
      constexpr int kMost = decltype(most_rows)::value;
      int n = 0;
      for (; n + decltype(vectors)::value <= dim_vectors_; n += decltype(vectors)::value) {
        int8_value_column<decltype(vectors)::value, kMost>(n, v);
      }
      for (; n < dim_vectors_; ++n) {
        int8_value_column<1, kMost>(n, v);
      }
    });
    ask_for(next, 0, scales_at(value_dims_));
  }

  template <int kV, int kMost>
  [[gnu::always_inline]] void int8_value_column(int n, const std::byte* v) {
    for (int j = 0; j < kV; ++j) {
      widen_quads<L>(v + (n + j) * 64, kPageTokens / 4, static_cast<int64_t>(value_dims_) * 4,
                     s_.panel + j * 16, kV * 16);
    }
    for (int i = 0; i < n_active_; i += kMost) {
      with_constant<kMost>(n_active_ - i < kMost ? n_active_ - i : kMost, [&](auto rows) {
        value_block<kV, decltype(rows)::value>(
            i, n, {reinterpret_cast<const std::byte*>(s_.panel), 64, int64_t{kV} * 64});
      });
    }
  }

  // fn(vectors, rows): a register block for as many rows as are active, eight sums or more.
  template <class Fn>
  [[gnu::always_inline]] void with_rows(Fn&& fn) {
    if (n_active_ == 1) {
      fn(Index<4>{}, Index<1>{});
    } else if (n_active_ == 2) {
      fn(Index<2>{}, Index<2>{});
    } else {
      fn(Index<L::kVectors>{}, Index<4>{});
    }
  }

  static void ask_for(const std::byte* page, int64_t from, int64_t bytes) {
    if (page != nullptr) {
      prefetch_lines(page + from, static_cast<int>(bytes));
    }
  }

  const AttendArgs& a_;
  Scratch& s_;
  int dims_;         // head_dim, even for bf16
  int value_dims_;   // value_dim, even for bf16
  int dim_vectors_;  // of values, 16 dims each, the last padded
  const float* q_;
  int64_t q_stride_;
  int n_active_ = 0;
  Matrix matrix_;
};

template <class L, PageType kPage, class Tiles = NoTiles>
void attend_span(const AttendArgs& a) noexcept {
  AttendSpan<L, kPage, Tiles>(a).run();
}

}  // namespace
}  // namespace fathom::kernels
