// The common names, and the shape of every part.
#include "model/parts.h"

namespace fathom::model {

namespace {

constexpr TensorRule kCommonRules[] = {
    {Part::kEmbedding, "token_embd.weight", "model.embed_tokens.weight"},
    {Part::kEmbedNorm, "token_embd_norm.weight", ""},
    {Part::kPositions, "position_embd.weight", ""},
    {Part::kLastNorm, "output_norm.weight", "model.norm.weight"},
    {Part::kHead, "output.weight", "lm_head.weight"},
    {Part::kRopeDivisors, "rope_freqs.weight", ""},
    {Part::kRopeLong, "rope_factors_long.weight", ""},
    {Part::kRopeShort, "rope_factors_short.weight", ""},
    {Part::kAttnNorm, "blk.{i}.attn_norm.weight", "model.layers.{i}.input_layernorm.weight"},
    {Part::kAttnPostNorm, "blk.{i}.post_attention_norm.weight",
     "model.layers.{i}.post_attention_layernorm.weight"},
    {Part::kFfnNorm, "blk.{i}.ffn_norm.weight", "model.layers.{i}.post_attention_layernorm.weight"},
    {Part::kFfnPostNorm, "blk.{i}.post_ffw_norm.weight",
     "model.layers.{i}.post_feedforward_layernorm.weight"},
    {Part::kQ, "blk.{i}.attn_q.weight", "model.layers.{i}.self_attn.q_proj.weight"},
    {Part::kK, "blk.{i}.attn_k.weight", "model.layers.{i}.self_attn.k_proj.weight"},
    {Part::kV, "blk.{i}.attn_v.weight", "model.layers.{i}.self_attn.v_proj.weight"},
    {Part::kOutput, "blk.{i}.attn_output.weight", "model.layers.{i}.self_attn.o_proj.weight"},
    {Part::kQNorm, "blk.{i}.attn_q_norm.weight", "model.layers.{i}.self_attn.q_norm.weight"},
    {Part::kKNorm, "blk.{i}.attn_k_norm.weight", "model.layers.{i}.self_attn.k_norm.weight"},
    {Part::kSinks, "blk.{i}.attn_sinks.weight", "model.layers.{i}.self_attn.sinks"},
    {Part::kQA, "blk.{i}.attn_q_a.weight", "model.layers.{i}.self_attn.q_a_proj.weight"},
    {Part::kQANorm, "blk.{i}.attn_q_a_norm.weight",
     "model.layers.{i}.self_attn.q_a_layernorm.weight"},
    {Part::kQB, "blk.{i}.attn_q_b.weight", "model.layers.{i}.self_attn.q_b_proj.weight"},
    {Part::kKvA, "blk.{i}.attn_kv_a_mqa.weight",
     "model.layers.{i}.self_attn.kv_a_proj_with_mqa.weight"},
    {Part::kKvANorm, "blk.{i}.attn_kv_a_norm.weight",
     "model.layers.{i}.self_attn.kv_a_layernorm.weight"},
    {Part::kKB,
     "blk.{i}.attn_k_b.weight",
     {"model.layers.{i}.self_attn.kv_b_proj.weight", Layout::kLatentHeads}},
    {Part::kVB,
     "blk.{i}.attn_v_b.weight",
     {"model.layers.{i}.self_attn.kv_b_proj.weight", Layout::kLatentHeads}},
    {Part::kGate, "blk.{i}.ffn_gate.weight", "model.layers.{i}.mlp.gate_proj.weight"},
    {Part::kUp, "blk.{i}.ffn_up.weight", "model.layers.{i}.mlp.up_proj.weight"},
    {Part::kDown, "blk.{i}.ffn_down.weight", "model.layers.{i}.mlp.down_proj.weight"},
    {Part::kRouter, "blk.{i}.ffn_gate_inp.weight", "model.layers.{i}.mlp.gate.weight"},
    {Part::kCorrection, "blk.{i}.exp_probs_b.bias",
     "model.layers.{i}.mlp.gate.e_score_correction_bias"},
    {Part::kExpertGate, "blk.{i}.ffn_gate_exps.weight",
     "model.layers.{i}.mlp.experts.{e}.gate_proj.weight"},
    {Part::kExpertUp, "blk.{i}.ffn_up_exps.weight",
     "model.layers.{i}.mlp.experts.{e}.up_proj.weight"},
    {Part::kExpertDown, "blk.{i}.ffn_down_exps.weight",
     "model.layers.{i}.mlp.experts.{e}.down_proj.weight"},
    {Part::kSharedGate, "blk.{i}.ffn_gate_shexp.weight",
     "model.layers.{i}.mlp.shared_experts.gate_proj.weight"},
    {Part::kSharedUp, "blk.{i}.ffn_up_shexp.weight",
     "model.layers.{i}.mlp.shared_experts.up_proj.weight"},
    {Part::kSharedDown, "blk.{i}.ffn_down_shexp.weight",
     "model.layers.{i}.mlp.shared_experts.down_proj.weight"},
    {Part::kSharedRouter, "blk.{i}.ffn_gate_inp_shexp.weight",
     "model.layers.{i}.mlp.shared_expert_gate.weight"},
};

PartWant norm_want(const ModelConfig& config, bool needed) {
  return {needed && config.norm_weight, 0, 1, config.hidden_size, config.norm_bias};
}

PartWant want_of_norm(Part part, const ModelConfig& config, const LayerOptions& o) {
  const bool before =
      o.norm_placement == NormPlacement::kPre || o.norm_placement == NormPlacement::kSandwich;
  const bool behind = !before || o.norm_placement == NormPlacement::kSandwich;
  switch (part) {
    case Part::kAttnNorm:
      return norm_want(config, before);
    case Part::kFfnNorm:
      return norm_want(config, before && o.own_ffn_norm);
    default:
      return norm_want(config, behind);
  }
}

PartWant want_of_qk_norm(Part part, const LayerOptions& o) {
  const int n_heads = part == Part::kQNorm ? o.n_heads : o.n_kv_heads;
  PartWant want = {o.qk_norm != QkNorm::kNone, 0, 1, o.head_dim, o.qk_norm_bias};
  if (o.qk_norm == QkNorm::kEachHead) {
    want.n_rows = n_heads;
  } else if (o.qk_norm == QkNorm::kWide) {
    want.n_cols = int64_t{n_heads} * o.head_dim;
  }
  return want;
}

PartWant want_of_latent(Part part, const LayerOptions& o, int64_t hidden) {
  const LatentOptions& latent = *o.latent;
  const int64_t key_dim = latent.nope_dim + latent.rope_dim;
  const bool low_rank = latent.q_rank > 0;
  switch (part) {
    case Part::kQ:
      return {!low_rank, 0, o.n_heads * key_dim, hidden, o.qkv_bias};
    case Part::kQA:
      return {low_rank, 0, latent.q_rank, hidden, o.qkv_bias};
    case Part::kQANorm:
      return {low_rank, 0, 1, latent.q_rank};
    case Part::kQB:
      return {low_rank, 0, o.n_heads * key_dim, latent.q_rank};
    case Part::kKvA:
      return {true, 0, latent.kv_rank + latent.rope_dim, hidden, o.qkv_bias};
    case Part::kKvANorm:
      return {true, 0, 1, latent.kv_rank};
    case Part::kKB:
      return {true, o.n_heads, latent.kv_rank, latent.nope_dim};
    case Part::kVB:
      return {true, o.n_heads, latent.value_dim, latent.kv_rank};
    default:
      return {};
  }
}

PartWant want_of_attention(Part part, const LayerOptions& o, int64_t hidden) {
  if (part == Part::kOutput) {
    return {true, 0, hidden, int64_t{o.n_heads} * o.value_dim(), o.output_bias};
  }
  if (part == Part::kSinks) {
    return {o.sinks, 0, 1, o.n_heads};
  }
  if (o.latent) {
    return want_of_latent(part, o, hidden);
  }
  switch (part) {
    case Part::kQ:
      return {true, 0, o.q_size(), hidden, o.qkv_bias};
    case Part::kK:
    case Part::kV:
      return {true, 0, o.kv_size(), hidden, o.qkv_bias};
    case Part::kQNorm:
    case Part::kKNorm:
      return want_of_qk_norm(part, o);
    default:
      return {};
  }
}

PartWant want_of_experts(Part part, const ExpertOptions& e, int64_t hidden) {
  switch (part) {
    case Part::kRouter:
      return {true, 0, e.n_experts, hidden, e.router_bias};
    case Part::kCorrection:
      return {e.correction_bias, 0, 1, e.n_experts};
    case Part::kExpertGate:
    case Part::kExpertUp:
      return {true, e.n_experts, e.ffn_size, hidden, e.bias};
    case Part::kExpertDown:
      return {true, e.n_experts, hidden, e.ffn_size, e.bias};
    case Part::kSharedGate:
    case Part::kSharedUp:
      return {e.shared_ffn_size > 0, 0, e.shared_ffn_size, hidden};
    case Part::kSharedDown:
      return {e.shared_ffn_size > 0, 0, hidden, e.shared_ffn_size};
    case Part::kSharedRouter:
      return {e.shared_gate, 0, 1, hidden};
    default:
      return {};
  }
}

PartWant want_of_ffn(Part part, const LayerOptions& o, int64_t hidden) {
  if (o.experts) {
    return want_of_experts(part, *o.experts, hidden);
  }
  switch (part) {
    case Part::kGate:
      return {o.gated, 0, o.ffn_size, hidden, o.ffn_bias};
    case Part::kUp:
      return {true, 0, o.ffn_size, hidden, o.ffn_bias};
    case Part::kDown:
      return {true, 0, hidden, o.ffn_size, o.ffn_bias};
    default:
      return {};
  }
}

}  // namespace

std::span<const TensorRule> common_rules() {
  return kCommonRules;
}

PartWant want_of_model(Part part, const ModelConfig& config) {
  const int64_t hidden = config.hidden_size;
  const bool projected = config.embed_width() != hidden;
  switch (part) {
    case Part::kEmbedding:
      return {true, 0, config.n_vocab, config.embed_width()};
    case Part::kEmbedNorm:
      return norm_want(config, config.embed_norm);
    case Part::kPositions:
      return {config.n_positions > 0, 0, config.n_positions + config.position_offset, hidden};
    case Part::kProjectIn:
      return {projected, 0, hidden, config.embed_width()};
    case Part::kProjectOut:
      return {projected, 0, config.embed_width(), hidden};
    case Part::kLastNorm:
      return norm_want(config, config.last_norm);
    case Part::kHead:
      return {!config.tied_head, 0, config.n_vocab, config.embed_width(), config.head_bias};
    default: {
      if (config.ropes.empty()) {
        return {};
      }
      const RopeOptions& rope = config.ropes.front();
      const bool needed = part == Part::kRopeDivisors ? rope.file_divisors : rope.file_long_factors;
      return {needed, 0, 1, rope.rotary_dim / 2};
    }
  }
}

PartWant want_of_layer(Part part, const ModelConfig& config, const LayerOptions& layer) {
  if (part <= Part::kFfnPostNorm) {
    return want_of_norm(part, config, layer);
  }
  if (part <= Part::kVB) {
    return want_of_attention(part, layer, config.hidden_size);
  }
  return want_of_ffn(part, layer, config.hidden_size);
}

}  // namespace fathom::model
