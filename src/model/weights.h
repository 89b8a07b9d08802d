// The weights of a model as the blocks use them: packed matrices and float vectors, named by part.
// Filled by model/load, read by model/model, model/layer.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"
#include "ops/packed_rows.h"
#include "quant/packed.h"

namespace fathom::model {

struct LayerWeights {
  const float* attn_norm = nullptr;       // [hidden]
  const float* attn_post_norm = nullptr;  // [hidden], sandwich only
  const float* ffn_norm = nullptr;
  const float* ffn_post_norm = nullptr;
  const float* q_norm = nullptr;  // [head_dim]
  const float* k_norm = nullptr;
  quant::PackedMatrix q, k, v, output;  // q, k, v lie one after the other
  const float* q_bias = nullptr;
  const float* k_bias = nullptr;
  const float* v_bias = nullptr;
  const float* output_bias = nullptr;
  quant::PackedMatrix gate, up, down;  // gate and up have alternating groups when of one type
  const float* gate_bias = nullptr;
  const float* up_bias = nullptr;
  const float* down_bias = nullptr;
};

struct ModelWeights {
  ModelConfig config;
  quant::PackedMatrix embedding;  // [n_vocab, hidden]
  quant::PackedMatrix head;       // the same matrix when tied
  const float* last_norm = nullptr;
  std::vector<LayerWeights> layers;
  std::vector<std::vector<float>> inv_freq;  // per kind of rope: [rotary_dim / 2]
};

// Which forms of activations the weights of each place need (union over layers); known before
// loading.
struct ModelWeightTypes {
  ops::RowForms hidden_in;  // q, k, v, gate, up
  ops::RowForms output_in;  // attention output
  ops::RowForms down_in;    // down
  ops::RowForms head_in;
};

}  // namespace fathom::model
