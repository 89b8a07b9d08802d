// Routers against what transformers gives for the same logits (router_cases.txt), ties and groups
// by hand, the sorted order, and the weighted sum of the experts' rows.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "lib/ops/rig.h"
#include "support/test_data.h"

namespace fathom::ops {
namespace {

constexpr int kLayer = 6;

// The buffers of a routing.
struct Choices {
  Choices(int64_t n_tokens, int64_t n_experts, int64_t n_used)
      : experts(static_cast<size_t>(n_tokens * n_used)),
        weights(experts.size()),
        token_of(experts.size()),
        row_of(experts.size()),
        first_rows(static_cast<size_t>(n_experts) + 1) {}

  [[nodiscard]] Routing routing() {
    return {.experts = experts,
            .weights = weights,
            .token_of = token_of,
            .row_of = row_of,
            .first_rows = first_rows};
  }

  std::vector<int32_t> experts;
  std::vector<float> weights;
  std::vector<int32_t> token_of;
  std::vector<int32_t> row_of;
  std::vector<int64_t> first_rows;
};

// One token through a router.
Choices route_one(const Router& router, const std::vector<float>& logits) {
  Rig rig(1);
  const auto n_experts = static_cast<int64_t>(logits.size());
  const Matrix x(1, n_experts);
  std::copy(logits.begin(), logits.end(), x.rows().row(0));
  Choices choices(1, n_experts, router.n_used);
  rig.backend.route(x.rows(), router, choices.routing(), kLayer);
  return choices;
}

struct RouterCase {
  Router router;
  std::vector<float> logits;
  std::vector<float> bias;
  std::vector<std::pair<int, float>> expected;  // by expert
};

RouterKind kind_of(const std::string& name) {
  if (name == "softmax") {
    return RouterKind::kSoftmax;
  }
  if (name == "top_k_softmax") {
    return RouterKind::kTopKSoftmax;
  }
  return name == "sigmoid" ? RouterKind::kSigmoid : RouterKind::kSparseMixer;
}

RouterCase parse_case(const std::string& line) {
  RouterCase result;
  std::istringstream parts(line);
  std::string part;
  std::getline(parts, part, '|');
  std::istringstream head(part);
  std::string kind;
  Router& router = result.router;
  head >> kind >> router.n_used >> router.renormalize >> router.scale >> router.n_groups >>
      router.groups_used >> router.group_top >> router.jitter;
  router.kind = kind_of(kind);
  for (std::vector<float>* values : {&result.logits, &result.bias}) {
    std::getline(parts, part, '|');
    std::istringstream numbers(part);
    for (float value = 0.0F; numbers >> value;) {
      values->push_back(value);
    }
  }
  std::getline(parts, part, '|');
  std::istringstream pairs(part);
  char colon = ' ';
  std::pair<int, float> pair;
  while (pairs >> pair.first >> colon >> pair.second) {
    result.expected.push_back(pair);
  }
  return result;
}

TEST(Route, AgreesWithTransformers) {
  std::ifstream file(fathom::test::test_data("lib/ops/router_cases.txt"));
  int n_cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) {
      continue;
    }
    RouterCase test = parse_case(line);
    test.router.bias = test.bias.empty() ? nullptr : test.bias.data();
    const Choices choices = route_one(test.router, test.logits);
    std::vector<std::pair<int, float>> found;
    for (size_t i = 0; i < choices.experts.size(); ++i) {
      found.emplace_back(choices.experts[i], choices.weights[i]);
    }
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found.size(), test.expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].first, test.expected[i].first) << line.substr(0, 80);
      EXPECT_NEAR(found[i].second, test.expected[i].second, 2e-6F * test.expected[i].second)
          << line.substr(0, 80);
    }
    ++n_cases;
  }
  EXPECT_EQ(n_cases, 42);
}

TEST(Route, BestFirstAndTiesToTheLowerExpert) {
  const std::vector<float> logits = {1.0F, 3.0F, 3.0F, -2.0F, 5.0F, 1.0F};
  for (const RouterKind kind :
       {RouterKind::kSoftmax, RouterKind::kTopKSoftmax, RouterKind::kSigmoid}) {
    const Choices choices = route_one({.kind = kind, .n_used = 4}, logits);
    EXPECT_EQ(choices.experts, (std::vector<int32_t>{4, 1, 2, 0}));
    EXPECT_EQ(choices.weights[1], choices.weights[2]);
  }
  // Equal experts are near rivals: the first pick is one of two, the second stands alone.
  const Choices mixed =
      route_one({.kind = RouterKind::kSparseMixer, .n_used = 2, .jitter = 0.01F}, {1, 3, 3, 0});
  EXPECT_EQ(mixed.experts, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(mixed.weights, (std::vector<float>{0.5F, 1.0F}));
}

// e^0, e^-1, e^-2 of their sum, and the same without the third.
TEST(Route, SoftmaxBeforeOrAfterTheChoice) {
  const std::vector<float> logits = {-1.0F, 0.0F, -2.0F};
  const double e1 = std::exp(-1.0);
  const double e2 = std::exp(-2.0);
  const Choices all = route_one({.kind = RouterKind::kSoftmax, .n_used = 2}, logits);
  EXPECT_EQ(all.experts, (std::vector<int32_t>{1, 0}));
  EXPECT_NEAR(all.weights[0], 1.0 / (1.0 + e1 + e2), 1e-7);
  EXPECT_NEAR(all.weights[1], e1 / (1.0 + e1 + e2), 1e-7);
  const Choices renormalized = route_one({.n_used = 2, .renormalize = true, .scale = 4.0F}, logits);
  EXPECT_NEAR(renormalized.weights[0], 4.0 / (1.0 + e1), 5e-7);
  const Choices late = route_one({.kind = RouterKind::kTopKSoftmax, .n_used = 2}, logits);
  EXPECT_NEAR(late.weights[0], 1.0 / (1.0 + e1), 1e-7);
  EXPECT_NEAR(late.weights[1], e1 / (1.0 + e1), 1e-7);
}

// The bias moves the choice, the weights stay the bare sigmoids.
TEST(Route, BiasIsForChoosingOnly) {
  const std::vector<float> bias = {0.0F, 0.0F, 1.0F};
  Router router{.kind = RouterKind::kSigmoid, .n_used = 1, .bias = bias.data()};
  const Choices choices = route_one(router, {1.0F, 0.0F, -1.0F});
  EXPECT_EQ(choices.experts, (std::vector<int32_t>{2}));
  EXPECT_NEAR(choices.weights[0], 1.0 / (1.0 + std::exp(1.0)), 1e-7);
}

// Groups {4, -9}, {3, 3}: by their best the first wins, by their two best the second.
TEST(Route, GroupsByOneOrTwoBest) {
  const std::vector<float> logits = {4.0F, -9.0F, 3.0F, 3.0F};
  Router router{.kind = RouterKind::kSigmoid, .n_used = 2, .n_groups = 2, .groups_used = 1};
  router.group_top = 1;
  EXPECT_EQ(route_one(router, logits).experts, (std::vector<int32_t>{0, 1}));
  router.group_top = 2;
  EXPECT_EQ(route_one(router, logits).experts, (std::vector<int32_t>{2, 3}));
}

// DeepSeek-V2 sets masked scores to 0: where the best group has too few members left, an expert of
// weight 0 fills the place.
TEST(Route, MaskedSoftmaxScoresAreZero) {
  Router router{.kind = RouterKind::kSoftmax, .n_used = 3, .n_groups = 2, .groups_used = 1};
  const Choices choices = route_one(router, {0.0F, 1.0F, 5.0F, 4.0F});
  EXPECT_EQ(choices.experts, (std::vector<int32_t>{2, 3, 0}));
  EXPECT_EQ(choices.weights[2], 0.0F);
}

TEST(Route, EveryPlaceIsADifferentExpertEvenForNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const RouterKind kind :
       {RouterKind::kSoftmax, RouterKind::kTopKSoftmax, RouterKind::kSigmoid}) {
    for (const auto& logits : {std::vector<float>(4, nan),
                               {nan, 1.0F, nan, 0.0F},
                               {1.0F, nan, inf, -inf},
                               std::vector<float>(4, -inf)}) {
      Router router{.kind = kind, .n_used = 3};
      for (const int n_groups : {1, 2}) {
        router.n_groups = n_groups;
        std::vector<int32_t> experts = route_one(router, logits).experts;
        std::sort(experts.begin(), experts.end());
        EXPECT_EQ(std::unique(experts.begin(), experts.end()), experts.end());
        EXPECT_GE(experts.front(), 0);
        EXPECT_LT(experts.back(), 4);
      }
    }
  }
}

// Many tokens, any threads: the bits of a token alone; rows sorted by expert, by token within one.
TEST(Route, SortsPairsByExpertThenToken) {
  constexpr int64_t kExperts = 40;
  constexpr int64_t kUsed = 6;
  const Router router{.kind = RouterKind::kSoftmax, .n_used = kUsed, .renormalize = true};
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    for (const int64_t n : {0, 1, 5, 300}) {
      const Matrix logits = Matrix::random(n, kExperts, 3);
      Choices choices(n, kExperts, kUsed);
      Recorder recorder;
      rig.exec.set_observer(&recorder);
      rig.backend.route(logits.rows(), router, choices.routing(), kLayer);
      ASSERT_EQ(recorder.entries.size(), 1U);
      EXPECT_EQ(recorder.entries[0].name, "router_weights");
      EXPECT_EQ(recorder.entries[0].layer, kLayer);
      EXPECT_EQ(recorder.entries[0].shape, (std::vector<int64_t>{n, kUsed}));
      EXPECT_EQ(recorder.entries[0].values, choices.weights);
      ASSERT_EQ(choices.first_rows.front(), 0);
      ASSERT_EQ(choices.first_rows.back(), n * kUsed);
      for (size_t e = 0; e < kExperts; ++e) {
        for (int64_t row = choices.first_rows[e] + 1; row < choices.first_rows[e + 1]; ++row) {
          const auto at = static_cast<size_t>(row);
          ASSERT_LT(choices.token_of[at - 1], choices.token_of[at]);
        }
      }
      for (int64_t token = 0; token < n; ++token) {
        const std::vector<float> alone(logits.rows().row(token),
                                       logits.rows().row(token) + kExperts);
        const Choices one = n_threads == 2 ? route_one(router, alone) : Choices(1, 1, kUsed);
        for (int64_t slot = 0; slot < kUsed; ++slot) {
          const auto pair = static_cast<size_t>(token * kUsed + slot);
          const auto row = static_cast<int64_t>(choices.row_of[pair]);
          const auto expert = static_cast<size_t>(choices.experts[pair]);
          ASSERT_EQ(choices.token_of[static_cast<size_t>(row)], token);
          ASSERT_GE(row, choices.first_rows[expert]);
          ASSERT_LT(row, choices.first_rows[expert + 1]);
          if (n_threads == 2) {
            ASSERT_EQ(choices.experts[pair], one.experts[static_cast<size_t>(slot)]);
            ASSERT_EQ(choices.weights[pair], one.weights[static_cast<size_t>(slot)]);
          }
        }
      }
    }
  }
}

TEST(RouteDeathTest, BuffersAndGroupsMustFit) {
  Rig rig(1);
  const Matrix logits = Matrix::random(2, 8, 3);
  Choices choices(2, 8, 3);
  Router router{.n_used = 3};
  rig.backend.route(logits.rows(), router, choices.routing(), 0);
  router.n_used = 2;
  EXPECT_DEATH(rig.backend.route(logits.rows(), router, choices.routing(), 0), "n_pairs");
  router.n_used = 9;
  EXPECT_DEATH(rig.backend.route(logits.rows(), router, choices.routing(), 0), "n_used");
  router.n_used = 3;
  router.n_groups = 3;
  EXPECT_DEATH(rig.backend.route(logits.rows(), router, choices.routing(), 0), "n_groups");
  router.n_groups = 4;
  router.group_top = 3;
  EXPECT_DEATH(rig.backend.route(logits.rows(), router, choices.routing(), 0), "group_top");
  router = {.kind = RouterKind::kSparseMixer, .n_used = 3};
  EXPECT_DEATH(rig.backend.route(logits.rows(), router, choices.routing(), 0), "n_used");
}

// rn(w0 * y0), then + rn(w * y) slot by slot.
TEST(CombineExperts, SumsTheSlotsInOrder) {
  constexpr int64_t kCols = 2500;
  constexpr int64_t kUsed = 3;
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    for (const int64_t n : {0, 1, 2, 33}) {
      const Matrix y = Matrix::random(n * kUsed, kCols, 1);
      const Matrix logits = Matrix::random(n, 7, 2);
      Choices choices(n, 7, kUsed);
      rig.backend.route(logits.rows(), {.n_used = kUsed}, choices.routing(), 0);
      const Matrix out(n, kCols);
      Recorder recorder;
      rig.exec.set_observer(&recorder);
      rig.backend.combine_experts(y.rows(), choices.routing(), out.rows(),
                                  {.layer = 2, .name = "experts_out"});
      rig.exec.set_observer(nullptr);
      for (int64_t t = 0; t < n; ++t) {
        for (int64_t k = 0; k < kCols; ++k) {
          float sum = 0.0F;
          for (int64_t slot = 0; slot < kUsed; ++slot) {
            const auto pair = static_cast<size_t>(t * kUsed + slot);
            const float part = choices.weights[pair] * y.rows().row(choices.row_of[pair])[k];
            sum = slot == 0 ? part : sum + part;
          }
          ASSERT_EQ(out.rows().row(t)[k], sum) << t << ' ' << k;
        }
      }
      EXPECT_TRUE(out.gaps_intact());
      ASSERT_EQ(recorder.entries.size(), 1U);
      EXPECT_EQ(recorder.entries[0].name, "experts_out");
      EXPECT_TRUE(same_values(recorder.entries[0], out.rows()));
    }
  }
}

}  // namespace
}  // namespace fathom::ops
