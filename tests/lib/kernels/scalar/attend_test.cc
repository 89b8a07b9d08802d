// Attention of the definition against softmax in double, page layouts by hand, merging of spans.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "kernels/dispatch.h"

namespace fathom::kernels {
namespace {

constexpr int kHeadDim = 40;

// Pages of one head with random keys and values, and those as doubles.
struct Cache {
  Cache(PageType page_type, int tokens) : type(static_cast<int>(page_type)), n_tokens(tokens) {
    const bool is_bf16 = page_type == PageType::kBF16;
    const size_t page_bytes = size_t{kPageTokens} * kHeadDim * (is_bf16 ? 2 : 4);
    const int n_pages = (tokens + kPageTokens - 1) / kPageTokens;
    bytes.resize(2 * page_bytes * static_cast<size_t>(n_pages));
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    const KernelTable table = scalar_table();
    for (int page = 0; page < n_pages; ++page) {
      std::byte* start = bytes.data() + 2 * page_bytes * static_cast<size_t>(page);
      k_pages.push_back(start);
      v_pages.push_back(start + page_bytes);
      for (int slot = 0; slot < kPageTokens && page * kPageTokens + slot < tokens; ++slot) {
        std::vector<float> k(kHeadDim);
        std::vector<float> v(kHeadDim);
        for (int d = 0; d < kHeadDim; ++d) {
          k[static_cast<size_t>(d)] = normal(random);
          v[static_cast<size_t>(d)] = normal(random);
        }
        table.write_k[type](k.data(), kHeadDim, slot, start);
        table.write_v[type](v.data(), kHeadDim, slot, start + page_bytes);
        for (size_t d = 0; d < kHeadDim; ++d) {
          keys.push_back(is_bf16 ? round_to_bf16_operand(k[d]) : k[d]);
          values.push_back(is_bf16 ? round_to_bf16_operand(v[d]) : v[d]);
        }
      }
    }
    for (int d = 0; d < kHeadDim; ++d) {
      query.push_back(round_to_bf16_operand(normal(random)));
    }
  }

  // Softmax attention over [first, last] in double.
  [[nodiscard]] std::vector<double> reference(int64_t first, int64_t last, double scale,
                                              double cap) const {
    std::vector<double> out(kHeadDim, 0.0);
    double sum = 0;
    for (int64_t t = first; t <= last; ++t) {
      double score = 0;
      for (int d = 0; d < kHeadDim; ++d) {
        score += static_cast<double>(query[static_cast<size_t>(d)]) *
                 keys[static_cast<size_t>(t * kHeadDim + d)];
      }
      score *= scale;
      score = cap == 0 ? score : cap * std::tanh(score / cap);
      sum += std::exp(score);
      for (size_t d = 0; d < kHeadDim; ++d) {
        out[d] += std::exp(score) * values[static_cast<size_t>(t * kHeadDim) + d];
      }
    }
    for (double& x : out) {
      x /= sum;
    }
    return out;
  }

  int type;
  int n_tokens;
  std::vector<std::byte> bytes;
  std::vector<const std::byte*> k_pages, v_pages;
  std::vector<float> query, keys, values;
};

struct State {
  float m = 0.0F;
  float l = 0.0F;
  std::vector<float> o = std::vector<float>(kHeadDim);
};

// One query row over pages [first_page, first_page + n_pages).
State attend(const Cache& cache, int first_page, int n_pages, int64_t first, int64_t last,
             float cap) {
  State state;
  AttendArgs args;
  args.q = cache.query.data();
  args.q_stride = kHeadDim;
  args.n_rows = 1;
  args.head_dim = kHeadDim;
  args.k = cache.k_pages.data() + first_page;
  args.v = cache.v_pages.data() + first_page;
  args.n_pages = n_pages;
  args.first_position = static_cast<int64_t>(first_page) * kPageTokens;
  args.first_visible = &first;
  args.last_visible = &last;
  args.scale = 0.3F;
  args.soft_cap = cap;
  args.m = &state.m;
  args.l = &state.l;
  args.o = state.o.data();
  scalar_table().attend_span[cache.type](args);
  return state;
}

void expect_near(State state, const std::vector<double>& want, double tolerance) {
  scalar_table().finish_attend(state.o.data(), state.l, kHeadDim);
  for (size_t d = 0; d < kHeadDim; ++d) {
    EXPECT_NEAR(state.o[d], want[d], tolerance) << d;
  }
}

TEST(Attend, EqualsSoftmax) {
  for (const PageType type : {PageType::kF32, PageType::kBF16}) {
    const Cache cache(type, 150);
    // bf16 pages round the probabilities to 8 bits.
    const double tolerance = type == PageType::kF32 ? 2e-6 : 6e-3;
    for (const float cap : {0.0F, 2.0F}) {
      expect_near(attend(cache, 0, 3, 0, 149, cap), cache.reference(0, 149, 0.3, cap), tolerance);
      expect_near(attend(cache, 0, 3, 70, 131, cap), cache.reference(70, 131, 0.3, cap), tolerance);
      expect_near(attend(cache, 0, 3, 63, 64, cap), cache.reference(63, 64, 0.3, cap), tolerance);
      expect_near(attend(cache, 0, 3, 5, 5, cap), cache.reference(5, 5, 0.3, cap), tolerance);
    }
  }
}

TEST(Attend, SpansMergeToTheWhole) {
  for (const PageType type : {PageType::kF32, PageType::kBF16}) {
    const Cache cache(type, 150);
    State whole = attend(cache, 0, 2, 10, 149, 0.0F);
    const State rest = attend(cache, 2, 1, 10, 149, 0.0F);
    scalar_table().merge_span(&whole.m, &whole.l, whole.o.data(), &rest.m, &rest.l, rest.o.data(),
                              kHeadDim);
    expect_near(whole, cache.reference(10, 149, 0.3, 0), type == PageType::kF32 ? 2e-6 : 6e-3);
  }
}

TEST(Attend, RowsThatSeeNothingKeepTheirStart) {
  const Cache cache(PageType::kBF16, 64);
  for (const int64_t first : {int64_t{64}, int64_t{1000}}) {
    const State state = attend(cache, 0, 1, first, first + 5, 0.0F);
    EXPECT_EQ(state.m, kAttendMaxStart);
    EXPECT_EQ(state.l, 0.0F);
    EXPECT_EQ(state.o[3], 0.0F);
  }
  // Merging such a span changes nothing.
  State state = attend(cache, 0, 1, 0, 63, 0.0F);
  const State before = state;
  const State empty = attend(cache, 0, 1, 64, 70, 0.0F);
  scalar_table().merge_span(&state.m, &state.l, state.o.data(), &empty.m, &empty.l, empty.o.data(),
                            kHeadDim);
  EXPECT_EQ(state.l, before.l);
  EXPECT_EQ(state.o, before.o);
}

TEST(Attend, WholePagesWithoutVisibleKeysAreSkipped) {
  const Cache cache(PageType::kBF16, 192);
  const State all_pages = attend(cache, 0, 3, 130, 140, 0.0F);
  const State one_page = attend(cache, 2, 1, 130, 140, 0.0F);
  EXPECT_EQ(all_pages.m, one_page.m);
  EXPECT_EQ(all_pages.l, one_page.l);
  EXPECT_EQ(all_pages.o, one_page.o);
}

TEST(Attend, PagesByHand) {
  std::vector<uint16_t> page(64 * 4);
  const float x[3] = {1.0F, 2.0F, 3.0F};  // an odd head_dim takes room for 4
  auto* bytes = reinterpret_cast<std::byte*>(page.data());
  scalar_table().write_k[static_cast<int>(PageType::kBF16)](x, 3, 17, bytes);
  // K: [4 tiles][2 pairs][16 tokens][2]: slot 17 is token 1 of tile 1.
  EXPECT_EQ(page[((1 * 2 + 0) * 16 + 1) * 2 + 1], f32_to_bf16(2.0F));
  EXPECT_EQ(page[((1 * 2 + 1) * 16 + 1) * 2 + 0], f32_to_bf16(3.0F));
  std::fill(page.begin(), page.end(), uint16_t{0});
  scalar_table().write_v[static_cast<int>(PageType::kBF16)](x, 3, 17, bytes);
  // V: [32 pairs of tokens][4][2]: slot 17 is the second of pair 8.
  EXPECT_EQ(page[(8 * 4 + 2) * 2 + 1], f32_to_bf16(3.0F));
  std::vector<float> wide(64 * 3);
  auto* wide_bytes = reinterpret_cast<std::byte*>(wide.data());
  scalar_table().write_k[static_cast<int>(PageType::kF32)](x, 3, 17, wide_bytes);
  EXPECT_EQ(wide[(1 * 3 + 2) * 16 + 1], 3.0F);
  scalar_table().write_v[static_cast<int>(PageType::kF32)](x, 3, 17, wide_bytes);
  EXPECT_EQ(wide[17 * 3 + 1], 2.0F);
}

}  // namespace
}  // namespace fathom::kernels
