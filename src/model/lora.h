// Adapters of a load: each low-rank pair bound to the part whose module it names, to stand beside
// the weights (--lora) or to be added to them while packing (--merge-lora).
//
//   fused modules (q|k|v, gate|up): one A for all, B's rows cut as the module's own rows are
//   different ranks: all are padded with zeros to the largest, so that one buffer fits all
//
// Called by model/load. Read next: weights/adapter.h, model/jobs.h, model/layer.cc (add_updates).
// Source: arXiv 2106.09685, section 4.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/bind.h"
#include "model/jobs.h"
#include "model/weights.h"
#include "weights/adapter.h"
#include "weights/model_file.h"

namespace fathom::model {

// Beyond this a scale makes nothing but infinities.
inline constexpr double kMaxAdapterScale = 1e4;

// An adapter and what its product is multiplied with besides its own scale.
struct AdapterUse {
  const weights::Adapter* adapter = nullptr;
  double scale = 1.0;
};

// y += scale * (b (a x)) for one part.
struct LoraTerm {
  MatrixView a;  // [rank, n_in], F32
  MatrixView b;  // [n_out, rank], F32, rows in the order of the part's own
  float scale = 1.0F;
};

struct BoundAdapters {
  std::vector<std::map<Part, std::vector<LoraTerm>>> layers;  // [n_layers], or none at all
  int64_t rank = 0;                                           // the largest; of every term
  std::vector<std::unique_ptr<FileTensor>> tensors;           // what the views are of
};

// What adapters are bound to.
struct AdapterScope {
  const weights::ModelFile* file = nullptr;
  std::span<const TensorRule> rules;
  const ModelConfig* config = nullptr;
  bool merged = false;  // modules that may only be merged are allowed too
};

// Modules are found by the names of Hugging Face checkpoints, for GGUF files too. The adapters and
// `scope.file` must outlive the result. Error: kCorruptFile listing all tensors of an adapter that
// fit nothing (at most 20): name, found and expected shape; kInvalidArgument for a scale beyond
// kMaxAdapterScale.
BoundAdapters bind_adapters(const AdapterScope& scope, std::span<const AdapterUse> uses);

// Looks at every value of adapters that were bound. Error: kCorruptFile naming the adapter's
// config, the tensor and the row of a NaN or infinity.
void check_adapter_values(std::span<const AdapterUse> uses);

// Appends the jobs of all terms, beside the weights: layers[i].lora, types.lora_rank, lora_on_ffn.
void add_adapter_jobs(const BoundAdapters& bound, ModelWeights& weights, JobList& jobs);

// Makes the jobs of changed matrices pack W + sum of scale * b a in place of W. `bound` must
// outlive them. Error: kUnsupported naming the tensor where W is not of floats.
void merge_adapters(BoundAdapters& bound, const weights::ModelFile& file, ModelWeights& weights,
                    JobList& jobs);

}  // namespace fathom::model
