// Differences between model families as data: what the trunk, a layer and its blocks need to know.
// Filled by model/arch/*, read by model/model, model/layer. Read next: model/arch/registry.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "ops/backend.h"

namespace fathom::model {

// What a number of a config may be, both ends included; NaN never is.
struct Range {
  double low = 0;
  double high = 0;

  [[nodiscard]] constexpr bool holds(double value) const { return value >= low && value <= high; }
};

// Factors of activations, scores and logits, and where they are cut off: beyond these, products of
// a few of them leave what an f32 holds, and no released model comes near.
inline constexpr Range kFactors = {1e-6, 1e6};

enum class RopeScaling : uint8_t {
  kNone,
  kLinear,
  kDynamic,  // the base grows with the sequence's length
  kLlama3,
  kYarn,
  kLongRope,      // two lists of divisors, chosen by the sequence's length
  kProportional,  // frequencies over the whole head, the last ones zero
};

// One kind of rotation; layers refer to it by index.
struct RopeOptions {
  double theta = 10000.0;
  int rotary_dim = 0;  // rotated part of a head, even
  kernels::RopeStyle style = kernels::RopeStyle::kHalves;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double original_context = 0.0;      // length the base frequencies were trained for
  double low_freq_factor = 1.0;       // llama3
  double high_freq_factor = 4.0;      // llama3
  double beta_fast = 32.0;            // yarn
  double beta_slow = 1.0;             // yarn
  bool truncate = true;               // yarn: the range of the ramp is rounded outwards
  double magnitude = 1.0;             // yarn, longrope: factor of cos and sin
  double partial = 1.0;               // proportional: share of the frequencies that is kept
  std::vector<double> short_factors;  // longrope: [rotary_dim / 2]
  std::vector<double> long_factors;
  bool file_divisors = false;      // GGUF: divide by the file's rope_freqs.weight
  bool file_long_factors = false;  // GGUF: longrope's lists are tensors
};

enum class NormPlacement : uint8_t {
  kPre,       // x + f(norm(x))
  kPost,      // x + norm(f(x))
  kSandwich,  // x + norm(f(norm(x)))
  kAfterSum,  // norm(x + f(x))
};

enum class QkNorm : uint8_t {
  kNone,
  kHead,      // over head_dim, one weight for all heads
  kEachHead,  // over head_dim, a weight for each head
  kWide,      // over all heads at once
};

// Multi-head latent attention (arXiv 2405.04434, section 2.1). A head of q and k is [nope | rope].
struct LatentOptions {
  int q_rank = 0;  // 0: q is projected directly
  int kv_rank = 0;
  int nope_dim = 0;
  int rope_dim = 0;
  int value_dim = 0;
  double norm_eps = 1e-6;  // of the norms of the latents
};

// A mixture of experts in place of the dense feed-forward.
struct ExpertOptions {
  int n_experts = 0;
  int64_t ffn_size = 0;
  int64_t shared_ffn_size = 0;  // 0: no shared expert
  bool shared_gate = false;     // the shared expert is weighed by a sigmoid
  bool bias = false;            // on the experts' matrices
  bool router_bias = false;
  bool correction_bias = false;  // added for choosing only
  ops::Router router;            // its bias is filled by the loader
};

// One decoder layer.
struct LayerOptions {
  int n_heads = 0;
  int n_kv_heads = 0;
  int head_dim = 0;
  int64_t ffn_size = 0;
  ops::HiddenActivation hidden;
  bool gated = true;  // a gate beside up
  NormPlacement norm_placement = NormPlacement::kPre;
  bool parallel = false;     // both branches read the same x
  bool own_ffn_norm = true;  // false: a parallel layer with one norm for both branches
  QkNorm qk_norm = QkNorm::kNone;
  ops::NormKind qk_norm_kind = ops::NormKind::kRms;
  bool qk_norm_bias = false;
  bool qk_norm_after_rope = false;
  bool qkv_bias = false;
  bool output_bias = false;
  bool ffn_bias = false;
  bool sinks = false;      // one learned logit per head joins the softmax
  int64_t window = 0;      // sliding window in tokens, itself included; 0: all
  double score_scale = 0;  // usually head_dim^-0.5
  double score_soft_cap = 0;
  int rope = 0;  // index into ModelConfig::ropes; -1: no rotation
  std::optional<LatentOptions> latent;
  std::optional<ExpertOptions> experts;

  [[nodiscard]] int64_t q_size() const { return int64_t{n_heads} * head_dim; }

  [[nodiscard]] int64_t kv_size() const { return int64_t{n_kv_heads} * head_dim; }

  // Width of a head's result before the output projection.
  [[nodiscard]] int value_dim() const { return latent ? latent->value_dim : head_dim; }

  // What a page holds of a token: latent attention caches one shared head [latent | rope].
  [[nodiscard]] int page_heads() const { return latent ? 1 : n_kv_heads; }

  [[nodiscard]] int page_key_dim() const {
    return latent ? latent->kv_rank + latent->rope_dim : head_dim;
  }

  [[nodiscard]] int page_value_dim() const { return latent ? latent->kv_rank : head_dim; }
};

struct ModelConfig {
  std::string family;  // the file's own name of the architecture
  int64_t n_layers = 0;
  int64_t n_extra_layers = 0;  // prediction layers behind them, in the file and not used
  int64_t hidden_size = 0;
  int64_t n_vocab = 0;
  int64_t max_context = 0;
  ops::NormKind norm_kind = ops::NormKind::kRms;
  double norm_eps = 1e-5;
  bool norm_weight = true;     // false: norms without learned numbers
  bool norm_bias = false;      // layer norms with a bias
  bool norm_adds_one = false;  // the file stores w, the norm multiplies by 1 + w
  bool last_norm = true;
  bool embed_norm = false;      // a norm right behind the embedding
  int64_t embed_size = 0;       // 0: hidden_size; otherwise projected in and out
  int64_t n_positions = 0;      // rows of learned positions; 0: none
  int64_t position_offset = 0;  // position p is row p + offset
  double embed_scale = 1.0;
  double residual_scale = 1.0;  // of each branch before the sum
  double hidden_scale = 1.0;    // of the last hidden state, before the head
  double logit_scale = 1.0;     // of the logits
  double logit_soft_cap = 0.0;
  double clip_qkv = 0.0;  // q, k, v are clamped to +- this; 0: not
  bool head_bias = false;
  bool pairs_from_halves = false;    // GGUF: rows of q and k stand so that halves became pairs
  bool tied_head = false;            // the embedding matrix is the output head
  std::vector<float> alibi_slopes;   // [n_heads]; empty: none
  std::vector<LayerOptions> layers;  // [n_layers]
  std::vector<RopeOptions> ropes;

  // False where the model has learned no positions beyond `context`.
  [[nodiscard]] bool allows_more_than(int64_t context) const {
    return n_positions == 0 || context < n_positions;
  }

  [[nodiscard]] int64_t embed_width() const { return embed_size > 0 ? embed_size : hidden_size; }
};

// Refuses configs that no file of a sane model has: sizes not positive or absurd, n_heads not a
// multiple of n_kv_heads, rotary_dim odd or above head_dim, theta, eps, multipliers and soft caps
// that mean nothing (NaN, negative, too large), experts used beyond those there, layers whose pages
// differ. Error: kCorruptFile naming `path`, the field,
// found and allowed; kUnsupported for combinations that no published family has.
void check(const ModelConfig& config, const std::string& path);

}  // namespace fathom::model
