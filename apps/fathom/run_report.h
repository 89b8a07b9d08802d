// What a run says about itself: the JSON object, the last line, the logprob table.
// Called by run.cc, chat_loop.cc. Read next: run_report.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/generator.h"
#include "api/session.h"

namespace fathom::app {

// The same answer with and without a KV cache: rows computed and time taken after the prompt.
struct CacheComparison {
  int64_t rows_with = 0;
  int64_t rows_without = 0;
  double seconds_with = 0;
  double seconds_without = 0;
};

// One finished answer and what led to it.
struct RunRecord {
  std::vector<int32_t> prompt;
  uint64_t seed = 0;
  std::string arithmetic = "exact";  // "fast", "f32"
  api::GenerateResult result;
  std::optional<CacheComparison> cache;
};

std::string cache_line(const CacheComparison& comparison);

// The object that `fathom run --json` prints.
std::string run_json(api::Session& session, const RunRecord& record);

// "7 + 23 tokens | first token 0.02 s | prefill ... tok/s | decode ... tok/s | memory ... | pages"
std::string summary_line(api::Session& session, const RunRecord& record);

// One line per token: text, log-probability, the best ones.
std::string logprob_table(const api::Session& session, const api::GenerateResult& result);

// Bytes of every pool of a plan, its total and its formulas as a JSON object. `sequences`: of the
// whole context that fit into the KV cache at once. `arithmetic`: its name.
std::string plan_json(const xray::MemoryPlan& plan, int64_t sequences,
                      const std::string& arithmetic);

// The answer ended because the context is full.
bool is_context_full(const api::Session& session, const RunRecord& record);

// "the answer ends here: the context of 64 tokens is full; ..." and what would allow more.
std::string full_context_warning(const api::Session& session);

// "12,7,300": the answer of a model without a vocabulary, as --ids takes it.
std::string ids_text(const std::vector<int32_t>& ids);

}  // namespace fathom::app
