// One job per matrix and vector, in the order of the pool.
#include "model/jobs.h"

#include "base/arena.h"
#include "quant/formats.h"

namespace fathom::model {

namespace {

using quant::PackedMatrix;
using Types = ModelWeightTypes;
using Place = ops::RowForms Types::*;

class JobBuilder {
 public:
  JobBuilder(const Bindings& bindings, bool as_f32, ModelWeights& weights)
      : bindings_(&bindings), as_f32_(as_f32), weights_(&weights) {}

  JobList build() {
    const ModelConfig& config = weights_->config;
    norm(model_part(Part::kLastNorm), weights_->last_norm);
    norm(model_part(Part::kEmbedNorm), weights_->embed_norm);
    matrix(model_part(Part::kEmbedding), weights_->embedding,
           config.tied_head ? &Types::head_in : nullptr);
    if (!config.tied_head) {
      linear(model_part(Part::kHead), weights_->head, &Types::head_in);
    }
    matrix(model_part(Part::kPositions), weights_->positions, nullptr);
    matrix(model_part(Part::kProjectIn), weights_->project_in, &Types::embed_in);
    matrix(model_part(Part::kProjectOut), weights_->project_out, &Types::last_in);
    for (size_t i = 0; i < bindings_->layers.size(); ++i) {
      layer_ = i;
      layer(weights_->layers[i]);
    }
    return std::move(jobs_);
  }

 private:
  [[nodiscard]] const BoundPart& model_part(Part which) const { return bindings_->of_model(which); }

  [[nodiscard]] const BoundPart& part(Part which) const {
    return bindings_->of_layer(layer_, which);
  }

  void layer(LayerWeights& w) {
    norm(part(Part::kAttnNorm), w.attn_norm);
    norm(part(Part::kAttnPostNorm), w.attn_post_norm);
    norm(part(Part::kFfnNorm), w.ffn_norm);
    norm(part(Part::kFfnPostNorm), w.ffn_post_norm);
    norm(part(Part::kQNorm), w.q_norm);
    norm(part(Part::kKNorm), w.k_norm);
    vector(part(Part::kSinks).weights, 0, w.sinks);
    if (part(Part::kKvA).is_bound()) {
      latent(w.latent);
    }
    linear(part(Part::kQ), w.q, &Types::hidden_in);
    linear(part(Part::kK), w.k, &Types::hidden_in);
    linear(part(Part::kV), w.v, &Types::hidden_in);
    linear(part(Part::kOutput), w.output, &Types::output_in);
    if (part(Part::kRouter).is_bound()) {
      mixture(w.mixture);
      return;
    }
    bias(part(Part::kGate), w.gate.bias);
    bias(part(Part::kUp), w.up.bias);
    joined(part(Part::kGate), part(Part::kUp), w.gate.matrix, w.up.matrix);
    linear(part(Part::kDown), w.down, &Types::down_in);
  }

  void latent(LatentWeights& w) {
    norm(part(Part::kQANorm), w.q_norm);
    norm(part(Part::kKvANorm), w.kv_norm);
    linear(part(Part::kQA), w.q_a, &Types::hidden_in);
    linear(part(Part::kQB), w.q_b, &Types::q_latent_in);
    linear(part(Part::kKvA), w.kv_a, &Types::hidden_in);
    stack(part(Part::kKB), w.k_b, &Types::nope_in);
    stack(part(Part::kVB), w.v_b, &Types::latent_out_in);
  }

  void mixture(ExpertWeights& w) {
    const LayerOptions& options = weights_->config.layers[layer_];
    const ExpertOptions& e = *options.experts;
    share_ = static_cast<double>(e.router.n_used) / e.n_experts;
    const BoundPart& gate = part(Part::kExpertGate);
    const BoundPart& up = part(Part::kExpertUp);
    const BoundPart& down = part(Part::kExpertDown);
    w.experts.resize(static_cast<size_t>(e.n_experts));
    w.down.resize(w.experts.size());
    w.down_bias.resize(e.bias ? w.experts.size() : 0);
    for (size_t i = 0; i < w.experts.size(); ++i) {
      ops::GatedLinear& expert = w.experts[i];
      expert.hidden = options.hidden;
      if (e.bias) {
        vector({gate.biases[i]}, 0, expert.gate_bias);
        vector({up.biases[i]}, 0, expert.up_bias);
        vector({down.biases[i]}, 0, w.down_bias[i]);
      }
      pair(gate.weights[i], up.weights[i], expert.gate, expert.up, &Types::expert_in);
      matrix(down.weights[i], w.down[i], &Types::expert_down_in);
    }
    share_ = 1.0;
    router(part(Part::kRouter), w.router.matrix);
    bias(part(Part::kRouter), w.router.bias);
    vector(part(Part::kCorrection).weights, 0, w.correction);
    if (e.shared_ffn_size > 0) {
      joined(part(Part::kSharedGate), part(Part::kSharedUp), w.shared_gate, w.shared_up);
      matrix(part(Part::kSharedDown), w.shared_down, &Types::down_in);
    }
    router(part(Part::kSharedRouter), w.shared_router);
  }

  void vector(std::vector<MatrixView> views, float add, const float*& target) {
    if (views.empty()) {
      return;
    }
    VectorJob job;
    for (const MatrixView& view : views) {
      job.n_values += view.n_elements();
    }
    job.views = std::move(views);
    job.add = add;
    job.offset = take(static_cast<size_t>(job.n_values) * sizeof(float));
    job.target = &target;
    jobs_.vectors.push_back(std::move(job));
  }

  void norm(const BoundPart& bound, NormWeights& target) {
    vector(bound.weights, weights_->config.norm_adds_one ? 1.0F : 0.0F, target.weight);
    vector(bound.biases, 0, target.bias);
  }

  void bias(const BoundPart& bound, const float*& target) { vector(bound.biases, 0, target); }

  void add_matrix(const MatrixView& view, DType packed, PackedMatrix& target, Place place) {
    const auto bytes = static_cast<size_t>(quant::packed_bytes(packed, view.n_rows, view.n_cols));
    jobs_.matrices.push_back({view,
                              packed,
                              take(bytes),
                              quant::group_bytes(packed, view.n_cols),
                              &target,
                              place,
                              share_,
                              {}});
  }

  void matrix(const MatrixView& view, PackedMatrix& target, Place place) {
    add_matrix(view, view.packed_type(as_f32_), target, place);
  }

  void matrix(const BoundPart& bound, PackedMatrix& target, Place place) {
    if (bound.is_bound()) {
      matrix(bound.weights.front(), target, place);
    }
  }

  // Choices are made in f32.
  void router(const BoundPart& bound, PackedMatrix& target) {
    if (bound.is_bound()) {
      add_matrix(bound.weights.front(), DType::kF32, target, &Types::router_in);
    }
  }

  void linear(const BoundPart& bound, LinearWeights& target, Place place) {
    bias(bound, target.bias);
    matrix(bound, target.matrix, place);
  }

  void stack(const BoundPart& bound, std::vector<PackedMatrix>& targets, Place place) {
    targets.resize(bound.weights.size());
    for (size_t i = 0; i < targets.size(); ++i) {
      matrix(bound.weights[i], targets[i], place);
    }
  }

  void joined(const BoundPart& gate, const BoundPart& up, PackedMatrix& gate_target,
              PackedMatrix& up_target) {
    if (!gate.is_bound()) {
      matrix(up, up_target, &Types::hidden_in);
      return;
    }
    pair(gate.weights.front(), up.weights.front(), gate_target, up_target, &Types::hidden_in);
  }

  // Two matrices of one shape; of one type: with alternating groups.
  void pair(const MatrixView& first, const MatrixView& second, PackedMatrix& first_target,
            PackedMatrix& second_target, Place place) {
    matrix(first, first_target, place);
    matrix(second, second_target, place);
    MatrixJob& a = jobs_.matrices[jobs_.matrices.size() - 2];
    MatrixJob& b = jobs_.matrices.back();
    if (a.packed != b.packed) {
      return;
    }
    b.offset = a.offset + static_cast<size_t>(a.group_stride_bytes);
    a.group_stride_bytes *= 2;
    b.group_stride_bytes *= 2;
  }

  size_t take(size_t bytes) {
    const size_t offset = jobs_.bytes;
    jobs_.bytes += MemoryPool::padded_bytes(bytes);
    return offset;
  }

  const Bindings* bindings_;
  bool as_f32_;
  ModelWeights* weights_;
  size_t layer_ = 0;
  double share_ = 1.0;
  JobList jobs_;
};

}  // namespace

JobList make_jobs(const Bindings& bindings, bool as_f32, ModelWeights& weights) {
  return JobBuilder(bindings, as_f32, weights).build();
}

}  // namespace fathom::model
