// Differences between model families as data: what the trunk, a layer and its blocks need to know.
// Filled by model/arch/*, read by model/model, model/layer. Read next: model/arch/registry.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/table.h"

namespace fathom::model {

enum class RopeScaling : uint8_t { kNone, kLinear, kLlama3 };

// One kind of rotation; layers refer to it by index.
struct RopeOptions {
  double theta = 10000.0;
  int rotary_dim = 0;  // rotated part of a head, even
  kernels::RopeStyle style = kernels::RopeStyle::kHalves;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double low_freq_factor = 1.0;   // llama3
  double high_freq_factor = 4.0;  // llama3
  double original_context = 0.0;  // llama3
  bool file_divisors = false;     // divide by the file's rope_freqs.weight
};

enum class NormPlacement : uint8_t {
  kPre,       // x + attn(norm(x)), x + ffn(norm(x))
  kSandwich,  // x + norm(attn(norm(x))), x + norm(ffn(norm(x)))
};

// One decoder layer.
struct LayerOptions {
  int n_heads = 0;
  int n_kv_heads = 0;
  int head_dim = 0;
  int64_t ffn_size = 0;
  kernels::Activation activation = kernels::Activation::kSilu;
  NormPlacement norm_placement = NormPlacement::kPre;
  bool qk_norm = false;  // RMS norm per head on q and k before the rotation
  bool qkv_bias = false;
  bool output_bias = false;
  bool ffn_bias = false;
  int64_t window = 0;      // sliding window in tokens, itself included; 0: all
  double score_scale = 0;  // usually head_dim^-0.5
  double score_soft_cap = 0;
  int rope = 0;  // index into ModelConfig::ropes
};

struct ModelConfig {
  std::string family;  // the file's own name of the architecture
  int64_t n_layers = 0;
  int64_t hidden_size = 0;
  int64_t n_vocab = 0;
  int64_t max_context = 0;
  double norm_eps = 1e-5;
  bool norm_adds_one = false;  // the file stores w, the norm multiplies by 1 + w
  double embed_scale = 1.0;
  double logit_soft_cap = 0.0;
  bool tied_head = false;            // the embedding matrix is the output head
  std::vector<LayerOptions> layers;  // [n_layers]
  std::vector<RopeOptions> ropes;
};

// Refuses configs that no file of a sane model has: sizes not positive or absurd, n_heads not a
// multiple of n_kv_heads, rotary_dim odd or above head_dim, theta or eps not finite. Error:
// kCorruptFile naming `path`, the field, found and allowed.
void check(const ModelConfig& config, const std::string& path);

}  // namespace fathom::model
