// Attention over the pages of one span: online softmax in steps of 64 keys; the definition.
// Called through KernelTable. Read next: base/paged_view.h (page layout), docs/numbers.md
// ("Attention").
//
// Per page with a visible key, for each query row:
//   s_j = rn(dot(q, k_j) * scale)            [soft cap] [slope * distance]
//   m'  = max(m, visible s_j)   c = exp(m - m')
//   p_j = exp(s_j - m') for visible keys, +0 for others (rounded to bf16 for bf16 pages)
//   l = l * c + sum p_j         o = o * c + sum p_j v_j
#include <cmath>

#include "base/half.h"
#include "kernels/scalar/fill.h"
#include "kernels/scalar/math.h"
#include "kernels/scalar/pages.h"

namespace fathom::kernels::scalar {

namespace {

constexpr int kBlockK = 32;  // bf16 products: even and odd chains of so many terms

// q . k_slot as a product with BF16 weights: per 32 d, even and odd chains.
float dot_bf16(const float* q, const std::byte* k, int head_dim, int slot) {
  float sum = 0.0F;
  for (int start = 0; start < head_dim; start += kBlockK) {
    float chain[2] = {0.0F, 0.0F};
    for (int d = start; d < start + kBlockK && d < head_dim; ++d) {
      chain[d % 2] = std::fma(load_bf16(k, k_index_bf16(head_dim, slot, d)), q[d], chain[d % 2]);
    }
    sum = sum + (chain[0] + chain[1]);
  }
  return sum;
}

// q . k_slot: one chain over d of the codes, then the key's scale.
float dot_int8(const float* q, const std::byte* k, int head_dim, int slot) {
  float sum = 0.0F;
  for (int d = 0; d < head_dim; ++d) {
    sum = std::fma(load_code(k, k_index_int8(head_dim, slot, d)), q[d], sum);
  }
  return sum * load_f32(k + int8_scales_offset(head_dim), slot);
}

// q . k_slot: one chain over d.
float dot_f32(const float* q, const std::byte* k, int head_dim, int slot) {
  float sum = 0.0F;
  for (int d = 0; d < head_dim; ++d) {
    sum = std::fma(load_f32(k, k_index_f32(head_dim, slot, d)), q[d], sum);
  }
  return sum;
}

// o[d] += sum over 64 tokens: per 32 tokens, even and odd chains.
void add_values_bf16(const float* p, const std::byte* v, int value_dim, float* o) {
  for (int d = 0; d < value_dim; ++d) {
    for (int start = 0; start < kPageTokens; start += kBlockK) {
      float chain[2] = {0.0F, 0.0F};
      for (int t = start; t < start + kBlockK; ++t) {
        chain[t % 2] = std::fma(p[t], load_bf16(v, v_index_bf16(value_dim, t, d)), chain[t % 2]);
      }
      o[d] = o[d] + (chain[0] + chain[1]);
    }
  }
}

// o[d] += sum over 64 tokens, one chain that continues o.
void add_values_f32(const float* p, const std::byte* v, int value_dim, float* o) {
  for (int t = 0; t < kPageTokens; ++t) {
    for (int d = 0; d < value_dim; ++d) {
      o[d] = std::fma(p[t], load_f32(v, v_index_f32(value_dim, t, d)), o[d]);
    }
  }
}

// o[d] += sum over 64 tokens, one chain that continues o; a token's scale goes to its probability.
void add_values_int8(const float* p, const std::byte* v, int value_dim, float* o) {
  for (int t = 0; t < kPageTokens; ++t) {
    const float weight = p[t] * load_f32(v + int8_scales_offset(value_dim), t);
    for (int d = 0; d < value_dim; ++d) {
      o[d] = std::fma(weight, load_code(v, v_index_int8(value_dim, t, d)), o[d]);
    }
  }
}

// Four tokens a lane (i, 16 + i, 32 + i, 48 + i), then the tree of 16.
float sum_of_page(const float* p) {
  float lane[16];
  for (int i = 0; i < 16; ++i) {
    lane[i] = ((p[i] + p[16 + i]) + p[32 + i]) + p[48 + i];
  }
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) {
      lane[i] = lane[i] + lane[i + width];
    }
  }
  return lane[0];
}

// The keys of one page that a row sees: slots [first, last].
struct Visible {
  int first = 0;
  int last = -1;
};

Visible visible_of(const AttendArgs& args, int row, int page) {
  const int64_t start = args.first_position + static_cast<int64_t>(page) * kPageTokens;
  const int64_t first = args.first_visible[row] - start;
  const int64_t last = args.last_visible[row] - start;
  return {static_cast<int>(first < 0             ? 0
                           : first > kPageTokens ? kPageTokens
                                                 : first),
          static_cast<int>(last < -1                ? -1
                           : last > kPageTokens - 1 ? kPageTokens - 1
                                                    : last)};
}

// The score of a visible key: scaled, capped, lowered by its distance.
float score_of(const AttendArgs& args, int row, int64_t position, float dot) {
  float score = dot * args.scale;
  if (args.soft_cap != 0.0F) {
    score = args.soft_cap * tanh_f32(score / args.soft_cap);
  }
  if (args.slopes != nullptr) {
    const auto distance = static_cast<float>(position - args.last_visible[row]);
    score = std::fma(args.slopes[row], distance, score);
  }
  return score;
}

template <PageType kPage>
float dot_of(const float* q, const std::byte* k, int head_dim, int slot) {
  if constexpr (kPage == PageType::kBF16) {
    return dot_bf16(q, k, head_dim, slot);
  } else if constexpr (kPage == PageType::kF32) {
    return dot_f32(q, k, head_dim, slot);
  } else {
    return dot_int8(q, k, head_dim, slot);
  }
}

template <PageType kPage>
void add_values(const float* p, const std::byte* v, int value_dim, float* o) {
  if constexpr (kPage == PageType::kBF16) {
    add_values_bf16(p, v, value_dim, o);
  } else if constexpr (kPage == PageType::kF32) {
    add_values_f32(p, v, value_dim, o);
  } else {
    add_values_int8(p, v, value_dim, o);
  }
}

template <PageType kPage>
void attend_page(const AttendArgs& args, int row, int page, Visible visible) {
  const float* q = args.q + row * args.q_stride;
  float* o = args.o + static_cast<int64_t>(row) * args.value_dim;
  const int64_t start = args.first_position + static_cast<int64_t>(page) * kPageTokens;
  float p[kPageTokens] = {};  // scores first, probabilities in the end
  float m = args.m[row];
  for (int j = visible.first; j <= visible.last; ++j) {
    const float dot = dot_of<kPage>(q, args.k[page], args.head_dim, j);
    const float score = score_of(args, row, start + j, dot);
    p[j] = score;
    m = score > m ? score : m;
  }
  for (int j = visible.first; j <= visible.last; ++j) {
    const float e = exp_f32(p[j] - m);
    p[j] = kPage == PageType::kBF16 ? round_to_bf16_operand(e) : e;
  }
  const float correction = exp_f32(args.m[row] - m);
  args.m[row] = m;
  args.l[row] = args.l[row] * correction + sum_of_page(p);
  for (int d = 0; d < args.value_dim; ++d) {
    o[d] = o[d] * correction;
  }
  add_values<kPage>(p, args.v[page], args.value_dim, o);
}

template <PageType kPage>
void attend_span(const AttendArgs& args) noexcept {
  for (int row = 0; row < args.n_rows; ++row) {
    args.m[row] = kAttendMaxStart;
    args.l[row] = 0.0F;
    for (int d = 0; d < args.value_dim; ++d) {
      args.o[static_cast<int64_t>(row) * args.value_dim + d] = 0.0F;
    }
    for (int page = 0; page < args.n_pages; ++page) {
      const Visible visible = visible_of(args, row, page);
      if (visible.first <= visible.last) {
        attend_page<kPage>(args, row, page, visible);
      }
    }
  }
}

void merge_span(float* m, float* l, float* o, const float* m2, const float* l2, const float* o2,
                int head_dim) noexcept {
  const float largest = *m2 > *m ? *m2 : *m;
  const float a = exp_f32(*m - largest);
  const float b = exp_f32(*m2 - largest);
  *m = largest;
  *l = *l * a + *l2 * b;
  for (int d = 0; d < head_dim; ++d) {
    o[d] = o[d] * a + o2[d] * b;
  }
}

void finish_attend(float* o, float l, int head_dim) noexcept {
  for (int d = 0; d < head_dim; ++d) {
    o[d] = o[d] / l;
  }
}

}  // namespace

void fill_attend(KernelTable* table) {
  table->attend_span[static_cast<size_t>(PageType::kBF16)] = attend_span<PageType::kBF16>;
  table->attend_span[static_cast<size_t>(PageType::kF32)] = attend_span<PageType::kF32>;
  table->attend_span[static_cast<size_t>(PageType::kInt8)] = attend_span<PageType::kInt8>;
  table->merge_span = merge_span;
  table->finish_attend = finish_attend;
}

}  // namespace fathom::kernels::scalar
