// The memory of a run, formula by formula, before anything is allocated.
// Called by api/session (checks it), apps/plan (prints it). Read next: kv/layout.h, model/load.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kv/layout.h"
#include "model/load.h"
#include "model/model.h"
#include "ops/cpu_backend.h"
#include "weights/metadata.h"

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
  int64_t n_pages = 0;  // of the KV cache; 0: the whole context for each sequence
  model::StepLimits limits;
  int n_threads = 1;
  int64_t engine_bytes = 0;      // scratch of the step loop (engine is a room that xray cannot see)
  int64_t vocabulary_bytes = 0;  // of the tokenizer, measured
  int64_t program_bytes = 0;     // of everything else: see program_bytes()
};

struct MemoryPlan {
  std::vector<PlanLine> lines;
  int64_t context = 0;

  [[nodiscard]] int64_t total_bytes() const;

  // Bytes of one pool; 0 when it is not there.
  [[nodiscard]] int64_t bytes_of(const std::string& pool) const;
};

// The sum, line by line. `input.load` must be set.
MemoryPlan make_plan(const PlanInput& input);

// Pages of the KV cache.
int64_t n_pages_of(const PlanInput& input);

// The shape of a model's pages, and what attention splits over threads, as plan and session
// use them.
kv::PageShape page_shape(const model::ModelConfig& config, PageType type);
ops::SplitLimits split_limits(const model::ModelConfig& config, int64_t context,
                              int64_t max_sequences);

// The largest context, in whole pages but at most the model's own or the one that `input` asks for,
// whose plan fits into `limit_bytes`; 0 when none does.
int64_t largest_context(PlanInput input, int64_t limit_bytes);

// The message of a plan that does not fit: the sum, its lines, the limit and what to do.
std::string describe_excess(const MemoryPlan& plan, int64_t limit_bytes,
                            std::string_view limit_name, int64_t largest);

}  // namespace fathom::xray
