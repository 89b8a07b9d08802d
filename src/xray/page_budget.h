// How many pages the KV cache of a server gets: from a size, or from a share of the memory limit.
// Called by api/session, apps/plan. Read next: xray/memory_plan.h.
#pragma once

#include <cstdint>
#include <optional>

#include "xray/memory_plan.h"
#include "xray/process_memory.h"

namespace fathom::xray {

// At most one of the two.
struct PageWish {
  std::optional<int64_t> bytes;       // of the KV cache alone
  std::optional<double> utilization;  // of the limit, for everything together: above 0, up to 1
};

// Pages for `input`, whose n_pages counts for nothing; 0 where nothing is wished: the whole context
// for each sequence. With `utilization` no more than twice that many: the other half is for
// beginnings that are kept. Errors: kInvalidArgument for both wishes or one out of range;
// kOutOfMemory with the arithmetic when not even one sequence of the context fits, or when `bytes`
// and all the rest are more than the limit.
int64_t pick_pages(PlanInput input, const PageWish& wish, const MemoryLimit& limit);

// Sequences of the whole context that fit into the pages of `input` at once.
int64_t whole_sequences(const PlanInput& input);

}  // namespace fathom::xray
