// Attention of the definition against softmax in double, merging of spans.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/half.h"
#include "kernels/dispatch.h"

namespace fathom::kernels {
namespace {

constexpr int kHeadDim = 40;

// Pages of one head with random keys and values, and those as doubles.
struct Cache {
  Cache(PageType page_type, int tokens, int k_dim = kHeadDim, int v_dim = kHeadDim)
      : type(static_cast<int>(page_type)), n_tokens(tokens), head_dim(k_dim), value_dim(v_dim) {
    const auto page_bytes = static_cast<size_t>(page_half_bytes(page_type, k_dim));
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
        std::vector<float> k(static_cast<size_t>(k_dim));
        std::vector<float> v(static_cast<size_t>(v_dim));
        std::generate(k.begin(), k.end(), [&] { return normal(random); });
        std::generate(v.begin(), v.end(), [&] { return normal(random); });
        add_stored(page_type, k, keys);
        add_stored(page_type, v, values);
        table.write_k[type](k.data(), k_dim, slot, start);
        table.write_v[type](v.data(), v_dim, slot, start + page_bytes);
      }
    }
    for (int d = 0; d < k_dim; ++d) {
      query.push_back(round_to_bf16_operand(normal(random)));
    }
  }

  // The values of `x` as pages of this type hold them.
  static void add_stored(PageType page_type, const std::vector<float>& x, std::vector<float>& out) {
    float largest = 0.0F;
    for (const float value : x) {
      largest = std::max(largest, std::fabs(value));
    }
    for (const float value : x) {
      const float code = std::round(value / largest * 127.0F);
      out.push_back(page_type == PageType::kInt8   ? code * (largest / 127.0F)
                    : page_type == PageType::kBF16 ? round_to_bf16_operand(value)
                                                   : value);
    }
  }

  // Softmax attention over [first, last] in double, `slope` a position.
  [[nodiscard]] std::vector<double> reference(int64_t first, int64_t last, double scale, double cap,
                                              double slope = 0) const {
    std::vector<double> out(static_cast<size_t>(value_dim), 0.0);
    double sum = 0;
    for (int64_t t = first; t <= last; ++t) {
      double score = 0;
      for (int d = 0; d < head_dim; ++d) {
        score += static_cast<double>(query[static_cast<size_t>(d)]) *
                 keys[static_cast<size_t>(t * head_dim + d)];
      }
      score *= scale;
      score = cap == 0 ? score : cap * std::tanh(score / cap);
      score += slope * static_cast<double>(t - last);
      sum += std::exp(score);
      for (size_t d = 0; d < out.size(); ++d) {
        out[d] += std::exp(score) * values[static_cast<size_t>(t * value_dim) + d];
      }
    }
    for (double& x : out) {
      x /= sum;
    }
    return out;
  }

  int type;
  int n_tokens;
  int head_dim;
  int value_dim;
  std::vector<std::byte> bytes;
  std::vector<const std::byte*> k_pages, v_pages;
  std::vector<float> query, keys, values;
};

struct State {
  float m = 0.0F;
  float l = 0.0F;
  std::vector<float> o;
};

// One query row over pages [first_page, first_page + n_pages).
State attend(const Cache& cache, int first_page, int n_pages, int64_t first, int64_t last,
             float cap, const float* slope = nullptr) {
  State state;
  state.o.resize(static_cast<size_t>(cache.value_dim));
  AttendArgs args;
  args.q = cache.query.data();
  args.q_stride = cache.head_dim;
  args.n_rows = 1;
  args.head_dim = cache.head_dim;
  args.value_dim = cache.value_dim;
  args.k = cache.k_pages.data() + first_page;
  args.v = cache.v_pages.data() + first_page;
  args.n_pages = n_pages;
  args.first_position = static_cast<int64_t>(first_page) * kPageTokens;
  args.first_visible = &first;
  args.last_visible = &last;
  args.scale = 0.3F;
  args.soft_cap = cap;
  args.slopes = slope;
  args.m = &state.m;
  args.l = &state.l;
  args.o = state.o.data();
  scalar_table().attend_span[cache.type](args);
  return state;
}

void expect_near(State state, const std::vector<double>& want, double tolerance) {
  scalar_table().finish_attend(state.o.data(), state.l, static_cast<int>(state.o.size()));
  ASSERT_EQ(state.o.size(), want.size());
  for (size_t d = 0; d < want.size(); ++d) {
    EXPECT_NEAR(state.o[d], want[d], tolerance) << d;
  }
}

TEST(Attend, EqualsSoftmax) {
  for (const PageType type : {PageType::kF32, PageType::kBF16, PageType::kInt8}) {
    const Cache cache(type, 150);
    // bf16 pages round the probabilities to 8 bits.
    const double tolerance = type == PageType::kBF16 ? 6e-3 : 2e-6;
    for (const float cap : {0.0F, 2.0F}) {
      expect_near(attend(cache, 0, 3, 0, 149, cap), cache.reference(0, 149, 0.3, cap), tolerance);
      expect_near(attend(cache, 0, 3, 70, 131, cap), cache.reference(70, 131, 0.3, cap), tolerance);
      expect_near(attend(cache, 0, 3, 63, 64, cap), cache.reference(63, 64, 0.3, cap), tolerance);
      expect_near(attend(cache, 0, 3, 5, 5, cap), cache.reference(5, 5, 0.3, cap), tolerance);
    }
  }
}

TEST(Attend, ValuesMayBeNarrowerThanKeys) {
  for (const PageType type : {PageType::kF32, PageType::kBF16, PageType::kInt8}) {
    for (const int value_dim : {1, 7, 32, 39}) {
      const Cache cache(type, 100, 40, value_dim);
      expect_near(attend(cache, 0, 2, 3, 99, 0.0F), cache.reference(3, 99, 0.3, 0),
                  type == PageType::kBF16 ? 6e-3 : 2e-6);
    }
  }
  const Cache latent(PageType::kF32, 70, 576, 512);
  expect_near(attend(latent, 0, 2, 0, 69, 0.0F), latent.reference(0, 69, 0.3, 0), 2e-5);
}

TEST(Attend, SlopesLowerDistantKeys) {
  for (const PageType type : {PageType::kF32, PageType::kBF16, PageType::kInt8}) {
    const Cache cache(type, 150);
    const double tolerance = type == PageType::kBF16 ? 6e-3 : 3e-6;
    for (const float slope : {0.5F, 0.0625F, 0.00390625F}) {
      for (const float cap : {0.0F, 2.0F}) {
        expect_near(attend(cache, 0, 3, 0, 149, cap, &slope),
                    cache.reference(0, 149, 0.3, cap, slope), tolerance);
        expect_near(attend(cache, 0, 3, 70, 131, cap, &slope),
                    cache.reference(70, 131, 0.3, cap, slope), tolerance);
      }
    }
  }
}

// Keys of zeros: the scores are the slope's part alone, counted from the last visible key.
TEST(Attend, SlopesByHand) {
  Cache cache(PageType::kF32, 128);
  cache.query.assign(cache.query.size(), 0.0F);
  const float slope = 0.5F;
  const State two = attend(cache, 1, 1, 99, 100, 0.0F, &slope);
  EXPECT_EQ(two.m, 0.0F);
  EXPECT_NEAR(two.l, 1 + std::exp(-0.5), 1e-7);
  // The last visible key lies in a later span: the largest score here is that of key 127.
  const State early = attend(cache, 1, 1, 126, 131, 0.0F, &slope);
  EXPECT_EQ(early.m, -2.0F);
  EXPECT_NEAR(early.l, 1 + std::exp(-0.5), 1e-7);
}

TEST(Attend, SpansMergeToTheWhole) {
  for (const PageType type : {PageType::kF32, PageType::kBF16, PageType::kInt8}) {
    const Cache cache(type, 150);
    State whole = attend(cache, 0, 2, 10, 149, 0.0F);
    const State rest = attend(cache, 2, 1, 10, 149, 0.0F);
    scalar_table().merge_span(&whole.m, &whole.l, whole.o.data(), &rest.m, &rest.l, rest.o.data(),
                              kHeadDim);
    expect_near(whole, cache.reference(10, 149, 0.3, 0), type == PageType::kBF16 ? 6e-3 : 2e-6);
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

}  // namespace
}  // namespace fathom::kernels
