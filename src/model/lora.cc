// From modules' names to parts, then to jobs.
// Called by model/load. Read next: model/adapter_rows.h.
#include "model/lora.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/arena.h"
#include "base/error.h"
#include "model/adapter_rows.h"
#include "quant/packed.h"

namespace fathom::model {

namespace {

using Place = ops::RowForms ModelWeightTypes::*;

constexpr size_t kMaxComplaints = 20;

// A part that adapters may change: where it stands beside the weights, and whose rows it reads.
// Without a target it can only be merged.
struct AdaptedPart {
  Part part;
  std::optional<LoraTarget> target;
  Place place = nullptr;
};

constexpr AdaptedPart kAdaptedParts[] = {
    {Part::kQ, LoraTarget::kQ, &ModelWeightTypes::hidden_in},
    {Part::kK, LoraTarget::kK, &ModelWeightTypes::hidden_in},
    {Part::kV, LoraTarget::kV, &ModelWeightTypes::hidden_in},
    {Part::kOutput, LoraTarget::kOutput, &ModelWeightTypes::output_in},
    {Part::kGate, LoraTarget::kGate, &ModelWeightTypes::hidden_in},
    {Part::kUp, LoraTarget::kUp, &ModelWeightTypes::hidden_in},
    {Part::kDown, LoraTarget::kDown, &ModelWeightTypes::down_in},
    {Part::kQA, std::nullopt},
    {Part::kQB, std::nullopt},
    {Part::kKvA, std::nullopt},
    {Part::kSharedGate, std::nullopt},
    {Part::kSharedUp, std::nullopt},
    {Part::kSharedDown, std::nullopt},
};

const AdaptedPart& adapted_part(Part part) {
  return *std::ranges::find(kAdaptedParts, part, &AdaptedPart::part);
}

// The matrix that loading packs for a part.
quant::PackedMatrix& matrix_of(LayerWeights& w, Part part) {
  switch (part) {
    case Part::kQ:
      return w.q.matrix;
    case Part::kK:
      return w.k.matrix;
    case Part::kV:
      return w.v.matrix;
    case Part::kOutput:
      return w.output.matrix;
    case Part::kGate:
      return w.gate.matrix;
    case Part::kUp:
      return w.up.matrix;
    case Part::kDown:
      return w.down.matrix;
    case Part::kQA:
      return w.latent.q_a.matrix;
    case Part::kQB:
      return w.latent.q_b.matrix;
    case Part::kKvA:
      return w.latent.kv_a.matrix;
    case Part::kSharedGate:
      return w.mixture.shared_gate;
    case Part::kSharedUp:
      return w.mixture.shared_up;
    default:
      return w.mixture.shared_down;
  }
}

// One part of a module: all of it, or its share of a fused one.
struct Slot {
  size_t layer = 0;
  Part part = Part::kQ;
  PartWant want;
  RowPlace rows;
  bool merge_only = false;
  int64_t paired_rows = 0;  // see PaddedRows
};

using Modules = std::map<std::string, std::vector<Slot>, std::less<>>;

// Every name "a|b" may have in a checkpoint, without ".weight": also without its first word, as in
// adapters of the bare trunk.
std::vector<std::string> module_names(std::string_view patterns, int64_t layer) {
  std::vector<std::string> names;
  while (!patterns.empty()) {
    const size_t bar = patterns.find('|');
    std::string name = name_of(patterns.substr(0, bar), layer, 0);
    patterns = bar == std::string_view::npos ? "" : patterns.substr(bar + 1);
    constexpr std::string_view kWeight = ".weight";
    if (!name.ends_with(kWeight)) {
      continue;
    }
    name.resize(name.size() - kWeight.size());
    names.push_back(name);
    names.push_back(name.substr(name.find('.') + 1));
  }
  return names;
}

Modules find_modules(const AdapterScope& scope) {
  const ModelConfig& config = *scope.config;
  Modules modules;
  for (const AdaptedPart& adapted : kAdaptedParts) {
    const Part part = adapted.part;
    const FilePlace place = place_of(weights::Source::kHuggingFace, scope.rules, part);
    for (size_t i = 0; i < config.layers.size(); ++i) {
      const LayerOptions& layer = config.layers[i];
      Slot slot;
      slot.layer = i;
      slot.part = part;
      slot.want = want_of_layer(part, config, layer);
      if (!slot.want.needed) {
        continue;
      }
      slot.rows = place_rows(part, place.layout, slot.want, &layer);
      slot.merge_only = !adapted.target || (layer.latent && part == Part::kQ);
      if (config.pairs_from_halves && (part == Part::kQ || part == Part::kK)) {
        slot.paired_rows = layer.head_dim;
      }
      for (const std::string& name : module_names(place.name, static_cast<int64_t>(i))) {
        modules[name].push_back(slot);
      }
    }
  }
  return modules;
}

std::string found_shape(const FileTensor* tensor) {
  return tensor == nullptr ? std::string("none") : format_shape(tensor->shape);
}

// Binds one adapter after the other; tensors are made when the largest rank is known.
class AdapterBinder {
 public:
  explicit AdapterBinder(const AdapterScope& scope)
      : scope_(&scope), modules_(find_modules(scope)) {
    bound_.layers.resize(scope.config->layers.size());
  }

  void add(const AdapterUse& use) {
    if (!(std::abs(use.scale) <= kMaxAdapterScale)) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("{}: found the scale {} for this adapter, expected {:g} to {:g}",
                       use.adapter->config.path, use.scale, -kMaxAdapterScale, kMaxAdapterScale));
    }
    complaints_.clear();
    n_complaints_ = 0;
    for (const FileTensor* other : use.adapter->others) {
      complain(fmt::format("{}: found {}, expected lora_A or lora_B of a module", other->name,
                           format_shape(other->shape)));
    }
    for (const weights::AdapterMatrices& matrices : use.adapter->modules) {
      check(matrices);
      bound_.rank = std::max(bound_.rank, matrices.rank);
    }
    report(*use.adapter);
    uses_.push_back(use);
  }

  BoundAdapters finish() {
    for (const AdapterUse& use : uses_) {
      for (const weights::AdapterMatrices& matrices : use.adapter->modules) {
        const MatrixView a = view_of(*matrices.a, bound_.rank, matrices.a->n_cols(), 0);
        for (const Slot& slot : modules_.find(matrices.module)->second) {
          MatrixView b = view_of(*matrices.b, matrices.b->n_rows(), bound_.rank, slot.paired_rows);
          b.n_rows = slot.want.n_rows;
          b.first = slot.rows.first;
          b.run = slot.rows.run;
          b.step = slot.rows.step;
          const auto scale = static_cast<float>(matrices.scale * use.scale);
          bound_.layers[slot.layer][slot.part].push_back({a, b, scale});
        }
      }
    }
    return std::move(bound_);
  }

 private:
  void check(const weights::AdapterMatrices& m) {
    const FileTensor& tensor = m.a != nullptr ? *m.a : *m.b;
    const auto it = modules_.find(m.module);
    if (it == modules_.end()) {
      const bool is_expert = m.module.find(".experts.") != std::string::npos;
      complain(fmt::format(
          "{}: found {}, expected {}", tensor.name, format_shape(tensor.shape),
          is_expert ? "no adapters on experts, which are not supported yet"
                    : "a q, k, v, output, gate, up or down projection of this architecture"));
      return;
    }
    if (!m.is_target) {
      complain(
          fmt::format("{}: found {}, expected nothing: adapter_config.json does not name this "
                      "module (target_modules, exclude_modules, layers_to_transform)",
                      tensor.name, format_shape(tensor.shape)));
      return;
    }
    const Slot& slot = it->second.front();
    if (slot.merge_only && !scope_->merged) {
      complain(
          fmt::format("{}: found {}, expected a module that can have an adapter beside it; "
                      "this one can only be merged (--merge-lora)",
                      tensor.name, format_shape(tensor.shape)));
      return;
    }
    check_shape(m, 'A', m.a, {m.rank, slot.want.n_cols});
    check_shape(m, 'B', m.b, {slot.rows.tensor_rows, m.rank});
  }

  void check_shape(const weights::AdapterMatrices& m, char which, const FileTensor* tensor,
                   const std::vector<int64_t>& expected) {
    const std::string name = fmt::format("{}.lora_{}.weight", m.module, which);
    if (tensor == nullptr || tensor->shape != expected) {
      complain(fmt::format("{}: found {}, expected {}", name, found_shape(tensor),
                           format_shape(expected)));
    } else if (tensor->type != DType::kF32 && tensor->type != DType::kF16 &&
               tensor->type != DType::kBF16) {
      complain(fmt::format("{}: found type {}, expected F32, F16 or BF16", name,
                           fathom::name_of(tensor->type)));
    }
  }

  MatrixView view_of(const FileTensor& from, int64_t n_rows, int64_t n_cols, int64_t paired_rows) {
    auto tensor = std::make_unique<FileTensor>();
    tensor->name = from.name;
    tensor->type = DType::kF32;
    tensor->shape = {n_rows, n_cols};
    tensor->reader = std::make_shared<PaddedRows>(from, n_cols, paired_rows);
    bound_.tensors.push_back(std::move(tensor));
    return {bound_.tensors.back().get(), n_rows, n_cols};
  }

  void complain(std::string text) {
    ++n_complaints_;
    if (complaints_.size() < kMaxComplaints) {
      complaints_.push_back(std::move(text));
    }
  }

  void report(const weights::Adapter& adapter) const {
    if (n_complaints_ == 0) {
      return;
    }
    const size_t hidden = n_complaints_ - complaints_.size();
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: {} tensors of the adapter do not fit the model {} ('{}'): {}{}",
                     adapter.config.path, n_complaints_, scope_->file->metadata.path(),
                     scope_->config->family, fmt::join(complaints_, "; "),
                     hidden > 0 ? fmt::format("; and {} more", hidden) : ""));
  }

  const AdapterScope* scope_;
  Modules modules_;
  BoundAdapters bound_;
  std::vector<AdapterUse> uses_;
  std::vector<std::string> complaints_;
  size_t n_complaints_ = 0;
};

void add_job(JobList& jobs, const MatrixView& view, quant::PackedMatrix& target, Place place) {
  const auto bytes =
      static_cast<size_t>(quant::packed_bytes(DType::kF32, view.n_rows, view.n_cols));
  MatrixJob job;
  job.view = view;
  job.packed = DType::kF32;
  job.offset = jobs.bytes;
  job.group_stride_bytes = quant::group_bytes(DType::kF32, view.n_cols);
  job.target = &target;
  job.place = place;
  jobs.matrices.push_back(job);
  jobs.bytes += MemoryPool::padded_bytes(bytes);
}

// Quantized tensors are not of floats even where they are read as such.
bool holds_floats(const FileTensor& tensor, const weights::Metadata& metadata) {
  const bool is_computed =
      tensor.reader != nullptr && metadata.contains("quantization_config.quant_method");
  return !is_computed && tensor.column_order == nullptr &&
         (tensor.type == DType::kF32 || tensor.type == DType::kF16 || tensor.type == DType::kBF16);
}

}  // namespace

void check_adapter_values(std::span<const AdapterUse> uses) {
  for (const AdapterUse& use : uses) {
    for (const auto& [name, tensor] : use.adapter->tensors.tensors()) {
      const std::vector<float> values = read_floats({&tensor, tensor.n_rows(), tensor.n_cols()});
      const auto bad = std::ranges::find_if_not(values, [](float v) { return std::isfinite(v); });
      if (bad != values.end()) {
        fail(ErrorCode::kCorruptFile,
             fmt::format("{}: tensor '{}' row {} of the adapter holds {}, expected finite values; "
                         "the file is damaged or its training went wrong",
                         use.adapter->config.path, name,
                         (bad - values.begin()) / std::max<int64_t>(1, tensor.n_cols()), *bad));
      }
    }
  }
}

BoundAdapters bind_adapters(const AdapterScope& scope, std::span<const AdapterUse> uses) {
  if (uses.empty()) {
    return {};
  }
  AdapterBinder binder(scope);
  for (const AdapterUse& use : uses) {
    binder.add(use);
  }
  return binder.finish();
}

void add_adapter_jobs(const BoundAdapters& bound, ModelWeights& weights, JobList& jobs) {
  weights.types.lora_rank = bound.rank;
  for (size_t i = 0; i < bound.layers.size(); ++i) {
    for (const auto& [part, terms] : bound.layers[i]) {
      const AdaptedPart& adapted = adapted_part(part);
      auto& updates = weights.layers[i].lora.at(static_cast<size_t>(*adapted.target));
      updates.resize(terms.size());  // jobs point into it: it grows no more
      for (size_t k = 0; k < terms.size(); ++k) {
        updates[k].scale = terms[k].scale;
        add_job(jobs, terms[k].a, updates[k].a, adapted.place);
        add_job(jobs, terms[k].b, updates[k].b, &ModelWeightTypes::low_rank_in);
      }
      weights.types.lora_on_ffn |= part == Part::kGate || part == Part::kUp;
    }
  }
}

void merge_adapters(BoundAdapters& bound, const weights::ModelFile& file, ModelWeights& weights,
                    JobList& jobs) {
  std::map<const quant::PackedMatrix*, const std::vector<LoraTerm>*> changed;
  for (size_t i = 0; i < bound.layers.size(); ++i) {
    for (const auto& [part, terms] : bound.layers[i]) {
      changed[&matrix_of(weights.layers[i], part)] = &terms;
    }
  }
  for (MatrixJob& job : jobs.matrices) {
    const auto it = changed.find(job.target);
    if (it == changed.end()) {
      continue;
    }
    const FileTensor& base = *job.view.tensor;
    if (!holds_floats(base, file.metadata)) {
      fail(
          ErrorCode::kUnsupported,
          fmt::format("{}: tensor '{}' is quantized (read as {}): adapters can be merged into F32, "
                      "F16 and BF16 weights only; without --merge-lora, --lora keeps them beside "
                      "the weights",
                      file.metadata.path(), base.name, fathom::name_of(base.type)));
    }
    auto tensor = std::make_unique<FileTensor>();
    tensor->name = base.name;
    tensor->type = DType::kF32;
    tensor->shape = {job.view.n_rows, job.view.n_cols};
    tensor->reader = std::make_shared<MergedRows>(job.view, *it->second);
    job.source = job.view;
    job.view = {tensor.get(), job.view.n_rows, job.view.n_cols};
    bound.tensors.push_back(std::move(tensor));
  }
}

}  // namespace fathom::model
