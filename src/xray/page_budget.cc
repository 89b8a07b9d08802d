// The arithmetic behind --kv-memory and --memory-utilization.
#include "xray/page_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "kv/layout.h"

namespace fathom::xray {

namespace {

double mib(int64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

void check_wish(const PageWish& wish) {
  if (wish.bytes && wish.utilization) {
    fail(ErrorCode::kInvalidArgument,
         "--kv-memory and --memory-utilization both say how large the KV cache is; give one");
  }
  if (wish.bytes && *wish.bytes < 1) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("--kv-memory is {} bytes; allowed: 1 and more", *wish.bytes));
  }
  const double share = wish.utilization.value_or(1.0);
  if (!std::isfinite(share) || share <= 0.0 || share > 1.0) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("--memory-utilization is {}; allowed: above 0, up to 1", share));
  }
}

// What the run takes besides its pages.
int64_t rest_bytes(PlanInput input) {
  input.n_pages = 1;
  const MemoryPlan plan = make_plan(input);
  return plan.total_bytes() - plan.bytes_of("kv");
}

int64_t page_bytes(const PlanInput& input) {
  return kv::pool_bytes(page_shape(input.load->config, input.page_type), 1);
}

int64_t budget_bytes(const PlanInput& input, const PageWish& wish, const MemoryLimit& limit) {
  if (wish.bytes) {
    return *wish.bytes;
  }
  const double share = *wish.utilization * static_cast<double>(limit.bytes);
  return std::max<int64_t>(0, static_cast<int64_t>(share) - rest_bytes(input));
}

// The largest context of which one sequence fits, in whole pages; 0 when none does.
int64_t largest_that_fits(PlanInput input, const PageWish& wish, const MemoryLimit& limit) {
  int64_t low = 0;
  int64_t high = kv::pages_for(input.context);  // does not fit
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    input.context = middle * kPageTokens;
    (budget_bytes(input, wish, limit) / page_bytes(input) >= middle ? low : high) = middle;
  }
  return low * kPageTokens;
}

std::string source_of(const PlanInput& input, const PageWish& wish, const MemoryLimit& limit) {
  if (wish.bytes) {
    return "--kv-memory";
  }
  std::string rest;
  PlanInput one = input;
  one.n_pages = 1;
  for (const PlanLine& line : make_plan(one).lines) {
    if (line.pool != "kv") {
      rest += fmt::format("{}{} {:.1f}", rest.empty() ? "" : " + ", line.pool, mib(line.bytes));
    }
  }
  return fmt::format("{} of the {} of {:.1f} MiB, less {} MiB", *wish.utilization, limit.name,
                     mib(limit.bytes), rest);
}

[[noreturn]] void refuse(const PlanInput& input, const PageWish& wish, const MemoryLimit& limit,
                         int64_t n_pages) {
  const int64_t largest = largest_that_fits(input, wish, limit);
  const std::string advice =
      largest > 0
          ? fmt::format("the largest context that fits is -c {}, one sequence at a time", largest)
          : std::string("no context fits");
  fail(ErrorCode::kOutOfMemory,
       fmt::format("the KV cache gets {:.1f} MiB ({}): {} pages of {:.2f} MiB, and one sequence of "
                   "context {} needs {}; {}; give it more, lower --max-sequences or "
                   "--max-batched-tokens, or take a smaller model",
                   mib(budget_bytes(input, wish, limit)), source_of(input, wish, limit), n_pages,
                   mib(page_bytes(input)), input.context, kv::pages_for(input.context), advice));
}

}  // namespace

int64_t whole_sequences(const PlanInput& input) {
  return n_pages_of(input) / std::max<int64_t>(1, kv::pages_for(input.context));
}

int64_t pick_pages(PlanInput input, const PageWish& wish, const MemoryLimit& limit) {
  check_wish(wish);
  if (!wish.bytes && !wish.utilization) {
    return 0;
  }
  input.n_pages = 0;
  const int64_t useful = 2 * n_pages_of(input);
  int64_t n_pages = budget_bytes(input, wish, limit) / page_bytes(input);
  n_pages = wish.bytes ? n_pages : std::min(n_pages, useful);
  if (n_pages < kv::pages_for(input.context)) {
    refuse(input, wish, limit, n_pages);
  }
  const int64_t rest = rest_bytes(input);
  if (wish.bytes && rest + n_pages * page_bytes(input) > limit.bytes) {
    fail(ErrorCode::kOutOfMemory,
         fmt::format("--kv-memory of {:.1f} MiB and {:.1f} MiB for all the rest are more than the "
                     "{} of {:.1f} MiB; the largest --kv-memory is {:.0f}M",
                     mib(*wish.bytes), mib(rest), limit.name, mib(limit.bytes),
                     std::max(0.0, std::floor(mib(limit.bytes - rest)))));
  }
  return n_pages;
}

}  // namespace fathom::xray
