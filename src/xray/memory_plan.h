// The memory of a run, formula by formula, before anything is allocated.
// Called by api/session (checks it), apps/plan (prints it). Read next: kv/layout.h, model/load.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kv/layout.h"
#include "model/load.h"
#include "model/model.h"

namespace fathom::xray {

struct PlanLine {
  std::string pool;     // "weights", "kv", "scratch", "vocabulary", "program"
  std::string formula;  // for people: "30 layers x 3 heads x 64 x 2 x 2 B x 4096 tokens"
  int64_t bytes = 0;
};

struct PlanInput {
  const model::LoadPlan* load = nullptr;
  PageType page_type = PageType::kBF16;
  int64_t context = 0;
  int64_t max_sequences = 1;
  model::StepLimits limits;
  int n_threads = 1;
  int64_t vocabulary_bytes = 0;  // of the tokenizer, estimated from the file
  int64_t program_bytes = 0;     // resident before loading
};

struct MemoryPlan {
  std::vector<PlanLine> lines;
  int64_t context = 0;

  [[nodiscard]] int64_t total_bytes() const;

  // Bytes of one pool; 0 when it is not there.
  [[nodiscard]] int64_t bytes_of(const std::string& pool) const;
};

MemoryPlan make_plan(const PlanInput& input);

// What this process may use: the smaller of its cgroup's limit, RLIMIT_AS and MemAvailable (plus what it holds).
int64_t memory_limit_bytes();

// The largest context whose plan fits into `limit_bytes`; 0 when none does.
int64_t largest_context(PlanInput input, int64_t limit_bytes);

}  // namespace fathom::xray
