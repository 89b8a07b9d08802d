// From a checked file to packed weights: first the plan (sizes, nothing allocated), then packing in
// parallel straight into the pool.
// Called by api/session, xray/memory_plan. Read next: model/bind.h, model/jobs.h, model/weights.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/threads.h"
#include "model/config.h"
#include "model/lora.h"
#include "model/packed_cache.h"
#include "model/packer.h"
#include "model/weights.h"
#include "weights/model_file.h"

namespace fathom::model {

struct LoadOptions {
  bool as_f32 = false;                    // --compute f32: dequantize everything
  std::vector<AdapterUse> adapters = {};  // must outlive planning and loading
  bool merge_adapters = false;            // into the weights instead of beside them
  bool fast_prompts = false;              // --arithmetic fast: rows may be int8 per 256
  PackedCachePlace cache = {};            // kept on disk between runs
};

// What loading will take and give, from metadata and tensor list alone.
struct LoadPlan {
  ModelConfig config;
  ModelWeightTypes types;
  int64_t weight_bytes = 0;   // packed matrices and vectors, padding included
  int64_t matrix_values = 0;  // for the bench: weights multiplied per token
  int64_t token_bytes = 0;    // packed bytes read for one decoded token
  bool rounds_f16 = false;    // F16 weights become BF16
};

// Reads the config by the registry, binds names to parts, checks every shape. Errors: kUnsupported
// (architecture, named; with the list of known ones), kCorruptFile (missing and mis-shaped tensors,
// listed at once: name, expected and found shape), those of bind_adapters and merge_adapters.
LoadPlan plan_load(const weights::ModelFile& file, const LoadOptions& options);

// Packs all tensors into `pool` (weight_bytes must fit) with all threads, releasing file pages
// behind itself; or reads them from the packed cache, where it has them. Error: kCorruptFile for a
// NaN or infinite scale (tensor and row named), also in an adapter (named) and where an adapter was
// merged.
std::unique_ptr<ModelWeights> load_weights(const weights::ModelFile& file, const LoadPlan& plan,
                                           const LoadOptions& options, MemoryPool& pool,
                                           ThreadPool& threads, const LoadProgress& progress);

}  // namespace fathom::model
