// The list of packing jobs is built once from the tensor list: the plan adds it up, the loader runs
// it. So what is planned is what is packed.
//
//   weights pool: [vectors][embedding][head unless tied][layer 0: q k v | o | gate/up | down][layer
//   1] ... q, k, v lie one after the other; gate and up of one type alternate by groups of 16 rows.
#include "model/load.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/error.h"
#include "model/arch/registry.h"
#include "model/bind.h"
#include "model/rope.h"
#include "quant/formats.h"
#include "quant/pack.h"

namespace fathom::model {

namespace {

using quant::kGroupRows;
using quant::PackedMatrix;

struct MatrixJob {
  const FileTensor* tensor = nullptr;
  DType packed = DType::kF32;
  size_t offset = 0;  // of group 0 in the region
  int64_t group_stride_bytes = 0;
  PackedMatrix* target = nullptr;
};

struct VectorJob {
  const FileTensor* tensor = nullptr;
  float add = 0;  // 1 for norms stored as w
  size_t offset = 0;
  const float** target = nullptr;
};

// Everything that loading does, with offsets into one region of `bytes`.
struct JobList {
  std::vector<MatrixJob> matrices;
  std::vector<VectorJob> vectors;
  size_t bytes = 0;
};

class JobBuilder {
 public:
  JobBuilder(const Bindings& bindings, const LoadOptions& options, ModelWeights& weights)
      : bindings_(&bindings), options_(options), weights_(&weights) {}

  JobList build() {
    const float norm_add = weights_->config.norm_adds_one ? 1.0F : 0.0F;
    vector(part(Part::kLastNorm), norm_add, weights_->last_norm);
    matrix(part(Part::kEmbedding), weights_->embedding);
    if (!weights_->config.tied_head) {
      matrix(part(Part::kHead), weights_->head);
    }
    for (size_t i = 0; i < bindings_->layers.size(); ++i) {
      layer(bindings_->layers[i], norm_add, weights_->layers[i]);
    }
    return std::move(jobs_);
  }

 private:
  [[nodiscard]] const FileTensor* part(Part which) const {
    return bindings_->model.at(static_cast<size_t>(which));
  }

  void vector(const FileTensor* tensor, float add, const float*& target) {
    if (tensor != nullptr) {
      jobs_.vectors.push_back(
          {tensor, add, take(static_cast<size_t>(tensor->n_cols()) * sizeof(float)), &target});
    }
  }

  void matrix(const FileTensor* tensor, PackedMatrix& target) {
    const DType packed = quant::packed_type_of(tensor->type, options_.as_f32);
    const auto bytes =
        static_cast<size_t>(quant::packed_bytes(packed, tensor->n_rows(), tensor->n_cols()));
    jobs_.matrices.push_back(
        {tensor, packed, take(bytes), quant::group_bytes(packed, tensor->n_cols()), &target});
  }

  // Two matrices of one shape and type with alternating groups; otherwise one after the other.
  void joined(const FileTensor* first, const FileTensor* second, PackedMatrix& first_target,
              PackedMatrix& second_target) {
    matrix(first, first_target);
    matrix(second, second_target);
    if (first->type != second->type) {
      return;
    }
    MatrixJob& a = jobs_.matrices[jobs_.matrices.size() - 2];
    MatrixJob& b = jobs_.matrices.back();
    b.offset = a.offset + static_cast<size_t>(a.group_stride_bytes);
    a.group_stride_bytes *= 2;
    b.group_stride_bytes *= 2;
  }

  void layer(const BoundParts& parts, float norm_add, LayerWeights& w) {
    const auto at = [&parts](Part which) { return parts.at(static_cast<size_t>(which)); };
    vector(at(Part::kAttnNorm), norm_add, w.attn_norm);
    vector(at(Part::kAttnPostNorm), norm_add, w.attn_post_norm);
    vector(at(Part::kFfnNorm), norm_add, w.ffn_norm);
    vector(at(Part::kFfnPostNorm), norm_add, w.ffn_post_norm);
    vector(at(Part::kQNorm), norm_add, w.q_norm);
    vector(at(Part::kKNorm), norm_add, w.k_norm);
    vector(at(Part::kQBias), 0, w.q_bias);
    vector(at(Part::kKBias), 0, w.k_bias);
    vector(at(Part::kVBias), 0, w.v_bias);
    vector(at(Part::kOutputBias), 0, w.output_bias);
    vector(at(Part::kGateBias), 0, w.gate_bias);
    vector(at(Part::kUpBias), 0, w.up_bias);
    vector(at(Part::kDownBias), 0, w.down_bias);
    matrix(at(Part::kQ), w.q);
    matrix(at(Part::kK), w.k);
    matrix(at(Part::kV), w.v);
    matrix(at(Part::kOutput), w.output);
    joined(at(Part::kGate), at(Part::kUp), w.gate, w.up);
    matrix(at(Part::kDown), w.down);
  }

  size_t take(size_t bytes) {
    const size_t offset = jobs_.bytes;
    jobs_.bytes += MemoryPool::padded_bytes(bytes);
    return offset;
  }

  const Bindings* bindings_;
  LoadOptions options_;
  ModelWeights* weights_;
  JobList jobs_;
};

std::vector<float> read_floats(const FileTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.n_elements()));
  quant::dequantize_row(tensor.type, tensor.bytes.data(), tensor.n_elements(), values.data());
  return values;
}

// A piece of one matrix: some groups of 16 rows.
struct Unit {
  const MatrixJob* job = nullptr;
  int64_t first_group = 0;
  int64_t n_groups = 0;
};

constexpr int64_t kUnitFileBytes = int64_t{1} << 20;

std::vector<Unit> cut_into_units(const JobList& jobs) {
  std::vector<Unit> units;
  for (const MatrixJob& job : jobs.matrices) {
    const int64_t groups = (job.tensor->n_rows() + kGroupRows - 1) / kGroupRows;
    const int64_t bytes =
        std::max<int64_t>(1, kGroupRows * quant::row_bytes(job.tensor->type, job.tensor->n_cols()));
    const int64_t step = std::max<int64_t>(1, kUnitFileBytes / bytes);
    for (int64_t first = 0; first < groups; first += step) {
      units.push_back({&job, first, std::min(step, groups - first)});
    }
  }
  return units;
}

// Consecutive units that one thread packs: far enough apart from the next bundle that two threads
// seldom fault in the same huge page of the destination (both would zero it, one in vain).
constexpr int64_t kBundleFileBytes = int64_t{4} << 20;

std::vector<std::span<const Unit>> bundle(const std::vector<Unit>& units) {
  std::vector<std::span<const Unit>> bundles;
  size_t first = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < units.size(); ++i) {
    const FileTensor& tensor = *units[i].job->tensor;
    bytes += units[i].n_groups * kGroupRows * quant::row_bytes(tensor.type, tensor.n_cols());
    if (bytes >= kBundleFileBytes || i + 1 == units.size()) {
      bundles.push_back(std::span(units).subspan(first, i + 1 - first));
      first = i + 1;
      bytes = 0;
    }
  }
  return bundles;
}

// Packs units on all threads; remembers the first bad value by file order.
class Packer {
 public:
  Packer(const weights::ModelFile& file, std::byte* region, const LoadProgress& progress,
         int64_t total_bytes)
      : file_(&file), region_(region), progress_(&progress), total_bytes_(total_bytes) {}

  void pack(const Unit& unit, int worker) {
    const FileTensor& tensor = *unit.job->tensor;
    const int64_t row_bytes = quant::row_bytes(tensor.type, tensor.n_cols());
    const int64_t n_rows = tensor.n_rows();
    quant::PackGroup group;
    group.file_type = tensor.type;
    group.packed_type = unit.job->packed;
    group.n_cols = tensor.n_cols();
    for (int64_t g = unit.first_group; g < unit.first_group + unit.n_groups; ++g) {
      prefetch_rows(tensor, (g + 1) * kGroupRows, row_bytes);
      for (int r = 0; r < kGroupRows; ++r) {
        const int64_t row = g * kGroupRows + r;
        group.rows.at(static_cast<size_t>(r)) =
            row < n_rows ? tensor.bytes.data() + row * row_bytes : nullptr;
      }
      group.out = region_ + unit.job->offset + g * unit.job->group_stride_bytes;
      const int bad = quant::pack_group(group);
      if (bad >= 0) {
        report(tensor, g * kGroupRows + bad);
      }
    }
    const int64_t first = unit.first_group * kGroupRows * row_bytes;
    const int64_t last =
        std::min(n_rows, (unit.first_group + unit.n_groups) * kGroupRows) * row_bytes;
    file_->tensors.release(tensor, tensor.bytes.subspan(static_cast<size_t>(first),
                                                        static_cast<size_t>(last - first)));
    const int64_t done = done_.fetch_add(last - first) + last - first;
    if (worker == 0 && *progress_) {
      (*progress_)(done, total_bytes_);
    }
  }

  void throw_if_bad() const {
    if (bad_tensor_ != nullptr) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: tensor '{}' row {} holds a NaN or infinite scale or value; the file is "
                       "damaged or was quantized from a broken model",
                       file_->metadata.path(), bad_tensor_->name, bad_row_));
    }
  }

 private:
  // Asks for the rows of the next group: packing reads 16 rows side by side, which no hardware
  // prefetcher follows.
  static void prefetch_rows(const FileTensor& tensor, int64_t first_row, int64_t row_bytes) {
    const auto size = static_cast<int64_t>(tensor.bytes.size());
    const int64_t last = std::min(size, (first_row + kGroupRows) * row_bytes);
    for (int64_t at = first_row * row_bytes; at < last; at += 64) {
      __builtin_prefetch(tensor.bytes.data() + at);
    }
  }

  void report(const FileTensor& tensor, int64_t row) {
    const std::lock_guard lock(mutex_);
    const bool earlier =
        bad_tensor_ == nullptr || tensor.bytes.data() + row < bad_tensor_->bytes.data() + bad_row_;
    if (earlier) {
      bad_tensor_ = &tensor;
      bad_row_ = row;
    }
  }

  const weights::ModelFile* file_;
  std::byte* region_;
  const LoadProgress* progress_;
  int64_t total_bytes_;
  std::atomic<int64_t> done_{0};
  std::mutex mutex_;
  const FileTensor* bad_tensor_ = nullptr;
  int64_t bad_row_ = 0;
};

ModelWeightTypes types_of(const ModelWeights& weights, const JobList& jobs) {
  ModelWeightTypes types;
  for (const MatrixJob& job : jobs.matrices) {
    if (job.target == &weights.head ||
        (weights.config.tied_head && job.target == &weights.embedding)) {
      types.head_in.add_for(job.packed);
    }
    for (const LayerWeights& layer : weights.layers) {
      if (job.target == &layer.output) {
        types.output_in.add_for(job.packed);
      } else if (job.target == &layer.down) {
        types.down_in.add_for(job.packed);
      } else if (job.target == &layer.q || job.target == &layer.k || job.target == &layer.v ||
                 job.target == &layer.gate || job.target == &layer.up) {
        types.hidden_in.add_for(job.packed);
      }
    }
  }
  return types;
}

// Config, bindings and jobs of a file; `weights` gets the config and empty layers.
struct Prepared {
  Bindings bindings;
  JobList jobs;
};

Prepared prepare(const weights::ModelFile& file, const LoadOptions& options,
                 ModelWeights& weights) {
  const ArchSpec& arch = find_arch(file.metadata);
  weights.config = arch.read_config(file.metadata);
  check(weights.config, file.metadata.path());
  Prepared prepared;
  prepared.bindings = bind_tensors(file, arch.tensor_rules, weights.config);
  weights.layers.resize(static_cast<size_t>(weights.config.n_layers));
  prepared.jobs = JobBuilder(prepared.bindings, options, weights).build();
  return prepared;
}

}  // namespace

LoadPlan plan_load(const weights::ModelFile& file, const LoadOptions& options) {
  ModelWeights weights;
  const Prepared prepared = prepare(file, options, weights);
  LoadPlan plan;
  plan.config = weights.config;
  plan.types = types_of(weights, prepared.jobs);
  plan.weight_bytes = static_cast<int64_t>(prepared.jobs.bytes);
  for (const MatrixJob& job : prepared.jobs.matrices) {
    const bool is_lookup = job.target == &weights.embedding && !weights.config.tied_head;
    if (!is_lookup) {
      plan.matrix_values += job.tensor->n_elements();
      plan.token_bytes +=
          quant::packed_bytes(job.packed, job.tensor->n_rows(), job.tensor->n_cols());
    }
    plan.rounds_f16 |= job.tensor->type == DType::kF16 && job.packed == DType::kBF16;
  }
  return plan;
}

std::unique_ptr<ModelWeights> load_weights(const weights::ModelFile& file, const LoadPlan& plan,
                                           const LoadOptions& options, MemoryPool& pool,
                                           ThreadPool& threads, const LoadProgress& progress) {
  auto weights = std::make_unique<ModelWeights>();
  const Prepared prepared = prepare(file, options, *weights);
  const JobList& jobs = prepared.jobs;
  FATHOM_CHECK(static_cast<int64_t>(jobs.bytes) == plan.weight_bytes);
  std::byte* region = pool.allocate(jobs.bytes).data();
  for (const VectorJob& job : jobs.vectors) {
    auto* values = reinterpret_cast<float*>(region + job.offset);
    const std::vector<float> read = read_floats(*job.tensor);
    for (size_t i = 0; i < read.size(); ++i) {
      values[i] = read[i] + job.add;
    }
    *job.target = values;
  }
  for (const MatrixJob& job : jobs.matrices) {
    *job.target = {job.packed, job.tensor->n_rows(), job.tensor->n_cols(), region + job.offset,
                   job.group_stride_bytes};
  }
  Packer packer(file, region, progress, static_cast<int64_t>(file.tensors.total_bytes()));
  const std::vector<Unit> units = cut_into_units(jobs);
  const std::vector<std::span<const Unit>> bundles = bundle(units);
  threads.run(static_cast<int64_t>(bundles.size()), [&](int64_t index, int worker) {
    for (const Unit& unit : bundles[static_cast<size_t>(index)]) {
      packer.pack(unit, worker);
    }
  });
  packer.throw_if_bad();
  if (weights->config.tied_head) {
    weights->head = weights->embedding;
  }
  const FileTensor* divisors = prepared.bindings.model.at(static_cast<size_t>(Part::kRopeDivisors));
  for (const RopeOptions& rope : weights->config.ropes) {
    weights->inv_freq.push_back(
        make_inv_freq(rope, divisors != nullptr ? read_floats(*divisors) : std::vector<float>{}));
  }
  return weights;
}

}  // namespace fathom::model
