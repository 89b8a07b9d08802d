// The weights of a model as the blocks use them: packed matrices and float vectors, named by part.
// Filled by model/load, read by model/model, model/layer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/config.h"
#include "ops/backend.h"
#include "ops/packed_rows.h"
#include "quant/packed.h"

namespace fathom::model {

// A norm's learned numbers; both null where the model has none.
struct NormWeights {
  const float* weight = nullptr;
  const float* bias = nullptr;
};

// A matrix with its bias [n_rows] or null.
struct LinearWeights {
  quant::PackedMatrix matrix;
  const float* bias = nullptr;
};

// A low-rank update beside a matrix: y += scale * (b (a x)). Source: arXiv 2106.09685.
struct LoraUpdate {
  quant::PackedMatrix a;  // [rank, n_in]
  quant::PackedMatrix b;  // [n_out, rank]
  float scale = 1.0F;
};

// The matrices that adapters may be beside.
enum class LoraTarget : uint8_t { kQ, kK, kV, kOutput, kGate, kUp, kDown };

inline constexpr int kNumLoraTargets = 7;

// A mixture's matrices, [n_experts] each; the biases inside `experts`.
struct ExpertWeights {
  LinearWeights router;               // f32
  const float* correction = nullptr;  // [n_experts]
  std::vector<ops::GatedLinear> experts;
  std::vector<quant::PackedMatrix> down;
  std::vector<const float*> down_bias;  // empty without biases
  quant::PackedMatrix shared_gate, shared_up, shared_down;
  quant::PackedMatrix shared_router;  // [1, hidden], f32
};

// Latent attention.
struct LatentWeights {
  LinearWeights q_a, q_b, kv_a;
  NormWeights q_norm, kv_norm;
  std::vector<quant::PackedMatrix> k_b;  // [n_heads] of [kv_rank, nope_dim]
  std::vector<quant::PackedMatrix> v_b;  // [n_heads] of [value_dim, kv_rank]
};

struct LayerWeights {
  NormWeights attn_norm, attn_post_norm, ffn_norm, ffn_post_norm;
  NormWeights q_norm, k_norm;
  LinearWeights q, k, v, output;  // q, k, v lie one after the other
  const float* sinks = nullptr;   // [n_heads]
  LatentWeights latent;
  LinearWeights gate, up, down;  // gate and up have alternating groups when of one type
  ExpertWeights mixture;
  std::array<std::vector<LoraUpdate>, kNumLoraTargets> lora;

  [[nodiscard]] const std::vector<LoraUpdate>& lora_of(LoraTarget target) const {
    return lora.at(static_cast<size_t>(target));
  }
};

// Which forms of activations the weights of each place need (union over layers); known before
// loading.
struct ModelWeightTypes {
  ops::RowForms hidden_in;  // q, k, v, gate, up
  ops::RowForms output_in;  // attention output
  ops::RowForms down_in;    // down
  ops::RowForms head_in;
  ops::RowForms embed_in;       // project_in
  ops::RowForms last_in;        // project_out
  ops::RowForms q_latent_in;    // q_b
  ops::RowForms nope_in;        // k_b
  ops::RowForms latent_out_in;  // v_b
  ops::RowForms router_in;      // router, gate of the shared expert
  ops::RowForms expert_in;      // experts' gate and up
  ops::RowForms expert_down_in;
  ops::RowForms low_rank_in;  // adapters' b
  int64_t lora_rank = 0;      // the largest; 0: no adapters
  bool lora_on_ffn = false;   // gate or up have adapters: they are not fused
};

struct ModelWeights {
  ModelConfig config;
  quant::PackedMatrix embedding;  // [n_vocab, embed_width]
  LinearWeights head;             // the same matrix when tied
  quant::PackedMatrix positions;  // [n_positions + offset, hidden]
  quant::PackedMatrix project_in, project_out;
  NormWeights embed_norm, last_norm;
  std::vector<LayerWeights> layers;
  std::vector<std::vector<float>> rope_divisors;  // per kind of rope; empty: none
  ModelWeightTypes types;
};

}  // namespace fathom::model
