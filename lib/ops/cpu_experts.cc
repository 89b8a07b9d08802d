// Mixtures of experts: a router's logits to choices and weights, and the weighted sum at the end.
// Scores are f32 as in the reference models; exponentials in double, rounded once, so that no
// choice depends on the machine. Ties go to the lower expert.
// Called by model through Backend. Read next: ops/cpu_grouped.cc, which multiplies the experts.
// Sources: arXiv 2401.04088 (softmax), 2405.04434 and 2412.19437 (groups of experts, sigmoid with a
// bias for choosing), 2409.12136 (sparse mixer).
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/det_math.h"
#include "ops/cpu_backend.h"
#include "ops/cpu_parts.h"

namespace fathom::ops {

namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// e^x for x <= 0, rounded to f32; NaN stays.
float exp_of(float x) {
  if (std::isnan(x)) {
    return x;
  }
  return x < -104.0F ? 0.0F : static_cast<float>(det_exp(x));
}

// The first of the largest; a NaN wins only where it stands first.
int64_t index_of_largest(std::span<const float> values) {
  size_t best = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    best = values[i] > values[best] ? i : best;
  }
  return static_cast<int64_t>(best);
}

float sum_of(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values) {
    sum += static_cast<double>(value);
  }
  return static_cast<float>(sum);
}

// values = softmax(values); -inf gives 0.
void softmax(std::span<float> values) {
  const float largest = values[static_cast<size_t>(index_of_largest(values))];
  for (float& value : values) {
    value = exp_of(value - largest);
  }
  const float sum = sum_of(values);
  for (float& value : values) {
    value /= sum;
  }
}

// One token's way through the router; the spans are a worker's scratch, [n_experts] each.
struct RouterRow {
  const Router* router = nullptr;
  std::span<const float> logits;
  std::span<float> scores;  // what a chosen expert weighs, before renormalizing
  std::span<float> choice;  // what it is chosen by; taken experts become -inf
  std::span<float> group;   // a group's members while they are ranked
  std::span<uint8_t> taken;

  void fill_scores();
  void mask_groups();
  void choose(std::span<int32_t> experts);
  [[nodiscard]] float score_of_group(std::span<const float> members) const;
  void mix_sparsely(std::span<int32_t> experts, std::span<float> weights);
};

void RouterRow::fill_scores() {
  std::copy(logits.begin(), logits.end(), scores.begin());
  if (router->kind == RouterKind::kSoftmax) {
    softmax(scores);
  } else if (router->kind == RouterKind::kSigmoid) {
    std::transform(scores.begin(), scores.end(), scores.begin(), sigmoid_of);
  }
  for (size_t e = 0; e < scores.size(); ++e) {
    choice[e] = router->bias != nullptr ? scores[e] + router->bias[e] : scores[e];
  }
}

// The sum of the `group_top` best members, the best first.
float RouterRow::score_of_group(std::span<const float> members) const {
  const std::span<float> left = group.first(members.size());
  std::copy(members.begin(), members.end(), left.begin());
  float score = 0.0F;
  for (int i = 0; i < router->group_top; ++i) {
    const auto best = static_cast<size_t>(index_of_largest(left));
    score = i == 0 ? left[best] : score + left[best];
    left[best] = kMasked;
  }
  return score;
}

// Only experts of the best groups stay. Softmax routers (DeepSeek-V2) set the others' scores to 0,
// the rest takes them out of the choice.
void RouterRow::mask_groups() {
  const size_t size = choice.size() / static_cast<size_t>(router->n_groups);
  const auto n_groups = static_cast<size_t>(router->n_groups);
  const std::span<float> group_scores = group.subspan(choice.size(), n_groups);
  for (size_t g = 0; g < n_groups; ++g) {
    group_scores[g] = score_of_group(choice.subspan(g * size, size));
  }
  std::fill_n(taken.begin(), n_groups, uint8_t{0});
  for (int used = 0; used < router->groups_used; ++used) {
    size_t best = n_groups;
    for (size_t g = 0; g < n_groups; ++g) {
      const bool better = best == n_groups || group_scores[g] > group_scores[best];
      best = taken[g] == 0 && better ? g : best;
    }
    taken[best] = 1;
  }
  for (size_t e = 0; e < choice.size(); ++e) {
    if (taken[e / size] != 0) {
      continue;
    }
    if (router->kind == RouterKind::kSoftmax) {
      scores[e] = 0.0F;
    }
    choice[e] = router->kind == RouterKind::kSoftmax ? 0.0F : kMasked;
  }
}

void RouterRow::choose(std::span<int32_t> experts) {
  std::fill_n(taken.begin(), choice.size(), uint8_t{0});
  for (int32_t& expert : experts) {
    size_t best = choice.size();
    for (size_t e = 0; e < choice.size(); ++e) {
      const bool better = best == choice.size() || choice[e] > choice[best];
      best = taken[e] == 0 && better ? e : best;
    }
    taken[best] = 1;
    expert = static_cast<int32_t>(best);
  }
}

// Two picks. Each weighs its softmax among the rivals that are near: (best - s) / max(|s|, best) at
// most 2 * jitter; the second pick does not see the first.
void RouterRow::mix_sparsely(std::span<int32_t> experts, std::span<float> weights) {
  std::copy(logits.begin(), logits.end(), choice.begin());
  for (size_t pick = 0; pick < experts.size(); ++pick) {
    const int64_t expert = index_of_largest(choice);
    const float best = choice[static_cast<size_t>(expert)];
    for (size_t e = 0; e < choice.size(); ++e) {
      const float factor = std::max(std::fabs(logits[e]), best);
      const bool far = (best - logits[e]) / factor > 2.0F * router->jitter;
      scores[e] = choice[e];
      if (far) {
        scores[e] = kMasked;
      }
    }
    softmax(scores);
    experts[pick] = static_cast<int32_t>(expert);
    weights[pick] = scores[static_cast<size_t>(expert)];
    choice[static_cast<size_t>(expert)] = kMasked;
  }
}

void route_row(RouterRow& row, std::span<int32_t> experts, std::span<float> weights) {
  const Router& router = *row.router;
  if (router.kind == RouterKind::kSparseMixer) {
    row.mix_sparsely(experts, weights);
  } else {
    row.fill_scores();
    if (router.n_groups > 1) {
      row.mask_groups();
    }
    row.choose(experts);
    std::transform(experts.begin(), experts.end(), weights.begin(),
                   [&](int32_t expert) { return row.scores[static_cast<size_t>(expert)]; });
  }
  if (router.kind == RouterKind::kTopKSoftmax) {
    softmax(weights);
  }
  if (router.renormalize) {
    const float least = router.kind == RouterKind::kSigmoid ? 1e-20F : 0.0F;
    const float sum = sum_of(weights) + least;
    for (float& weight : weights) {
      weight /= sum;
    }
  }
  if (router.scale != 1.0F) {
    for (float& weight : weights) {
      weight *= router.scale;
    }
  }
}

// Sorts the (token, slot) pairs by expert, stable: tokens in order within one. While it runs,
// first_rows[e] is where the next row of expert e goes.
void sort_by_expert(const Routing& routing, int64_t n_used) {
  std::fill(routing.first_rows.begin(), routing.first_rows.end(), 0);
  for (const int32_t expert : routing.experts) {
    ++routing.first_rows[static_cast<size_t>(expert) + 1];
  }
  for (size_t e = 1; e < routing.first_rows.size(); ++e) {
    routing.first_rows[e] += routing.first_rows[e - 1];
  }
  for (size_t pair = 0; pair < routing.experts.size(); ++pair) {
    const auto expert = static_cast<size_t>(routing.experts[pair]);
    const int64_t row = routing.first_rows[expert]++;
    routing.row_of[pair] = static_cast<int32_t>(row);
    routing.token_of[static_cast<size_t>(row)] =
        static_cast<int32_t>(static_cast<int64_t>(pair) / n_used);
  }
  for (size_t e = routing.first_rows.size() - 1; e > 0; --e) {
    routing.first_rows[e] = routing.first_rows[e - 1];
  }
  routing.first_rows[0] = 0;
}

// Floats of scratch per worker: scores, choice, members and group scores, flags.
size_t scratch_floats(size_t n_experts) {
  return 5 * n_experts;
}

void check_route(const Rows& logits, const Router& router, const Routing& routing) {
  check_rows(logits);
  FATHOM_CHECK(router.n_used > 0 && router.n_used <= logits.n_cols);
  FATHOM_CHECK(router.n_groups > 0 && logits.n_cols % router.n_groups == 0);
  FATHOM_CHECK(router.groups_used > 0 && router.groups_used <= router.n_groups);
  FATHOM_CHECK(router.group_top > 0 && router.group_top <= logits.n_cols / router.n_groups);
  if (router.kind == RouterKind::kSparseMixer) {
    FATHOM_CHECK(router.n_used == 2 && router.n_groups == 1 && router.bias == nullptr);
  }
  const auto n_pairs = static_cast<size_t>(logits.n_rows * router.n_used);
  FATHOM_CHECK(routing.experts.size() == n_pairs && routing.weights.size() == n_pairs);
  FATHOM_CHECK(routing.token_of.size() == n_pairs && routing.row_of.size() == n_pairs);
  FATHOM_CHECK(routing.first_rows.size() == static_cast<size_t>(logits.n_cols) + 1);
  FATHOM_CHECK(scratch_floats(static_cast<size_t>(logits.n_cols)) * sizeof(float) <=
               kWorkerScratchBytes);
}

}  // namespace

void CpuBackend::route(const Rows& logits, const Router& router, const Routing& routing,
                       int layer) {
  check_route(logits, router, routing);
  const auto n_experts = static_cast<size_t>(logits.n_cols);
  const auto n_used = static_cast<size_t>(router.n_used);
  run_rows(*exec_, logits.n_rows, logits.n_cols, [&](int64_t token, int worker) {
    auto* scratch = reinterpret_cast<float*>(exec_->scratch(worker));
    RouterRow row;
    row.router = &router;
    row.logits = {logits.row(token), n_experts};
    row.scores = {scratch, n_experts};
    row.choice = {scratch + n_experts, n_experts};
    row.group = {scratch + 2 * n_experts, 2 * n_experts};
    row.taken = {reinterpret_cast<uint8_t*>(scratch + 4 * n_experts), n_experts};
    const size_t first = static_cast<size_t>(token) * n_used;
    route_row(row, routing.experts.subspan(first, n_used), routing.weights.subspan(first, n_used));
  });
  sort_by_expert(routing, router.n_used);
  const Rows weights{.data = routing.weights.data(),
                     .n_rows = logits.n_rows,
                     .n_cols = router.n_used,
                     .stride = router.n_used};
  exec_->observe({.layer = layer, .name = "router_weights"}, weights);
}

namespace {

// sum [n] = the token's pieces of y, each times its weight, in the order of its slots.
void add_slots(const kernels::KernelTable& kernels, const Rows& y, const Routing& routing,
               std::pair<size_t, size_t> slots, std::pair<int64_t, int64_t> columns, float* sum) {
  const auto [first_slot, end_slot] = slots;
  const auto [first, n] = columns;
  for (size_t slot = first_slot; slot < end_slot; ++slot) {
    const float* part = y.row(routing.row_of[slot]) + first;
    if (slot == first_slot) {
      kernels.scale(part, routing.weights[slot], n, sum);
    } else {
      kernels.add_scaled(part, routing.weights[slot], n, sum);
    }
  }
}

}  // namespace

void CpuBackend::combine_experts(const Rows& y, const Routing& routing, const Rows& out,
                                 const Site& site) {
  check_rows(y);
  check_rows(out);
  const size_t n_pairs = routing.row_of.size();
  FATHOM_CHECK(y.n_cols == out.n_cols && y.n_rows == static_cast<int64_t>(n_pairs));
  FATHOM_CHECK(routing.weights.size() == n_pairs);
  const size_t n_used = out.n_rows > 0 ? n_pairs / static_cast<size_t>(out.n_rows) : 0;
  FATHOM_CHECK(n_used * static_cast<size_t>(out.n_rows) == n_pairs);
  run_pieces(*exec_, out, [&](int64_t token, int64_t first, int64_t n) {
    const size_t slot = static_cast<size_t>(token) * n_used;
    add_slots(exec_->kernels(), y, routing, {slot, slot + n_used}, {first, n},
              out.row(token) + first);
  });
  exec_->observe(site, out);
}

}  // namespace fathom::ops
