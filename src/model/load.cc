// Plan and load: both build the same list of jobs.
#include "model/load.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/error.h"
#include "model/arch/registry.h"
#include "model/bind.h"
#include "model/jobs.h"
#include "quant/packed.h"

namespace fathom::model {

namespace {

// Config, bindings and jobs of a file; `weights` gets the config and empty layers.
struct Prepared {
  Bindings bindings;
  BoundAdapters adapters;
  JobList jobs;
};

// Rows in front of every matrix but the head's, and what leads to it.
void allow_coarse(ModelWeightTypes& types) {
  for (ops::RowForms* forms :
       {&types.hidden_in, &types.output_in, &types.down_in, &types.embed_in, &types.q_latent_in,
        &types.nope_in, &types.latent_out_in, &types.router_in, &types.expert_in,
        &types.expert_down_in, &types.low_rank_in}) {
    forms->add_coarse();
  }
}

Prepared prepare(const weights::ModelFile& file, const LoadOptions& options,
                 ModelWeights& weights) {
  const ArchSpec& arch = find_arch(file.metadata);
  weights.config = arch.read_config(ConfigReader(file));
  check(weights.config, file.metadata.path());
  Prepared prepared;
  prepared.bindings = bind_tensors(file, arch.tensor_rules, weights.config);
  weights.layers.resize(static_cast<size_t>(weights.config.n_layers));
  prepared.jobs = make_jobs(prepared.bindings, options.as_f32, weights);
  prepared.adapters = bind_adapters(
      {&file, arch.tensor_rules, &weights.config, options.merge_adapters}, options.adapters);
  if (options.merge_adapters) {
    merge_adapters(prepared.adapters, file, weights, prepared.jobs);
  } else {
    add_adapter_jobs(prepared.adapters, weights, prepared.jobs);
  }
  for (const MatrixJob& job : prepared.jobs.matrices) {
    if (job.place != nullptr) {
      (weights.types.*job.place).add_for(job.packed);
    }
  }
  if (options.fast_prompts) {
    allow_coarse(weights.types);
  }
  return prepared;
}

// GGUF keeps llama3's divisors and longrope's two lists as tensors.
void read_rope_tensors(const Bindings& bindings, ModelWeights& weights) {
  const auto values = [&](Part part) {
    const BoundPart& bound = bindings.of_model(part);
    return bound.is_bound() ? read_floats(bound.weights.front()) : std::vector<float>{};
  };
  for (RopeOptions& rope : weights.config.ropes) {
    weights.rope_divisors.push_back(values(Part::kRopeDivisors));
    if (rope.file_long_factors) {
      const std::vector<float> longer = values(Part::kRopeLong);
      const std::vector<float> shorter = values(Part::kRopeShort);
      rope.long_factors.assign(longer.begin(), longer.end());
      rope.short_factors.assign(shorter.begin(), shorter.end());
    }
  }
}

// Appends a view's values plus `add` to `out`; gives the end. Error: kCorruptFile naming the tensor
// with a NaN or infinity.
float* copy_values(const weights::ModelFile& file, const MatrixView& view, float add, float* out) {
  for (const float value : read_floats(view)) {
    if (!std::isfinite(value)) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: tensor '{}' holds a NaN or infinite value; the file is damaged or was "
                       "made from a broken model",
                       file.metadata.path(), view.tensor->name));
    }
    *out++ = value + add;
  }
  return out;
}

// Where the parts of the model will lie.
void set_targets(const JobList& jobs, std::byte* region) {
  for (const VectorJob& job : jobs.vectors) {
    *job.target = reinterpret_cast<const float*>(region + job.offset);
  }
  for (const MatrixJob& job : jobs.matrices) {
    *job.target = {job.packed, job.view.n_rows, job.view.n_cols, region + job.offset,
                   job.group_stride_bytes};
  }
}

// Norms, biases and sinks.
void fill_vectors(const weights::ModelFile& file, const JobList& jobs, std::byte* region) {
  for (const VectorJob& job : jobs.vectors) {
    auto* values = reinterpret_cast<float*>(region + job.offset);
    for (const MatrixView& view : job.views) {
      values = copy_values(file, view, job.add, values);
    }
  }
}

}  // namespace

LoadPlan plan_load(const weights::ModelFile& file, const LoadOptions& options) {
  ModelWeights weights;
  const Prepared prepared = prepare(file, options, weights);
  LoadPlan plan;
  plan.types = weights.types;
  plan.weight_bytes = static_cast<int64_t>(prepared.jobs.bytes);
  for (const MatrixJob& job : prepared.jobs.matrices) {
    if (job.place != nullptr) {
      const auto bytes =
          static_cast<double>(quant::packed_bytes(job.packed, job.view.n_rows, job.view.n_cols));
      plan.matrix_values +=
          static_cast<int64_t>(job.share * static_cast<double>(job.view.n_elements()));
      plan.token_bytes += static_cast<int64_t>(job.share * bytes);
    }
    const DType file_type = job.file_view().tensor->type;
    plan.rounds_f16 |= file_type == DType::kF16 && job.packed == DType::kBF16;
  }
  plan.config = std::move(weights.config);
  return plan;
}

std::unique_ptr<ModelWeights> load_weights(const weights::ModelFile& file, const LoadPlan& plan,
                                           const LoadOptions& options, MemoryPool& pool,
                                           ThreadPool& threads, const LoadProgress& progress) {
  auto weights = std::make_unique<ModelWeights>();
  const Prepared prepared = prepare(file, options, *weights);
  const JobList& jobs = prepared.jobs;
  check_adapter_values(options.adapters);
  FATHOM_CHECK(static_cast<int64_t>(jobs.bytes) == plan.weight_bytes);
  const std::span<std::byte> region = pool.allocate(jobs.bytes);
  set_targets(jobs, region.data());
  std::optional<PackedCache> cache;
  if (!options.cache.folder.empty()) {
    cache.emplace(options.cache, jobs);
  }
  if (!cache || !cache->read(region, threads, progress)) {
    fill_vectors(file, jobs, region.data());
    file.tensors.release_all();  // small vectors all over the file have brought their folios
    pack_matrices(file, jobs, region.data(), threads, progress);
    if (cache) {
      cache->write(region, threads);
    }
  }
  if (weights->config.tied_head) {
    weights->head.matrix = weights->embedding;
  }
  read_rope_tensors(prepared.bindings, *weights);
  return weights;
}

}  // namespace fathom::model
