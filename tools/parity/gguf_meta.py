"""GGUF metadata of a model: the keys that files in use have, for each architecture.

Called by gguf_form.py. Sources: the GGUF specification (ggml docs/gguf.md) and files as they are
passed around; some families leave out what others write (gpt2 has no head_count_kv, gptneox no rope
base), and the tests should meet that.
"""

import math

ARCHS = {
    "mistral": "llama",
    "mixtral": "llama",
    "qwen2_moe": "qwen2moe",
    "qwen3_moe": "qwen3moe",
    "gemma3_text": "gemma3",
    "phi": "phi2",
    "gpt_neox": "gptneox",
    "gpt_bigcode": "starcoder",
    "olmo3": "olmo2",
    "cohere": "command-r",
    "glm": "chatglm",
    "glm4_moe": "glm4moe",
    "deepseek_v2": "deepseek2",
    "deepseek_v3": "deepseek2",
    "gpt_oss": "gpt-oss",
    "hunyuan_v1_dense": "hunyuan-dense",
}
RMS, EPS = "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"


def first(config: dict, *names, default=None):
    return next((config[name] for name in names if config.get(name) is not None), default)


def rope_of(config: dict) -> dict:
    """Rope settings in one dict, whatever the config's layout; full attention's where there are two."""
    rope = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    rope = dict(rope.get("full_attention", rope))
    rope.setdefault("rope_type", rope.get("type", "default"))
    for key in ("rope_theta", "partial_rotary_factor", "original_max_position_embeddings"):
        if key not in rope and config.get(key) is not None:
            rope[key] = config[key]
    return rope


def shape_keys(config: dict) -> dict:
    hidden = first(config, "hidden_size", "n_embd", "d_model")
    heads = first(config, "num_attention_heads", "n_head", "n_heads")
    context = first(config, "max_position_embeddings", "n_ctx", "n_positions", "max_seq_len")
    return {
        "block_count": first(config, "num_hidden_layers", "n_layer", "n_layers"),
        "context_length": context,
        "embedding_length": hidden,
        "feed_forward_length": config.get("intermediate_size", 4 * hidden),
        "attention.head_count": heads,
        "attention.head_count_kv": config.get("num_key_value_heads", heads),
    }


def scaling_keys(rope: dict) -> dict:
    kind = rope["rope_type"]
    if kind == "linear":
        return {"rope.scaling.type": "linear", "rope.scaling.factor": float(rope["factor"])}
    if kind != "yarn":
        return {}
    keys = {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": float(rope["factor"]),
        "rope.scaling.original_context_length": rope["original_max_position_embeddings"],
    }
    for name, key in (
        ("attention_factor", "yarn_attn_factor"),
        ("beta_fast", "yarn_beta_fast"),
        ("beta_slow", "yarn_beta_slow"),
    ):
        if rope.get(name) is not None:
            keys["rope.scaling." + key] = float(rope[name])
    return keys


def expert_keys(config: dict) -> dict:
    count = first(config, "num_local_experts", "num_experts", "n_routed_experts")
    if count is None:
        return {}
    keys = {"expert_count": count, "expert_used_count": config["num_experts_per_tok"]}
    for name, key in (("n_group", "expert_group_count"), ("topk_group", "expert_group_used_count")):
        if name in config:
            keys[key] = config[name]
    if "scoring_func" in config:
        keys["expert_gating_func"] = 2 if config["scoring_func"] == "sigmoid" else 1
    return keys


def modern(config: dict) -> dict:
    """What most families write."""
    rope = rope_of(config)
    keys = shape_keys(config) | scaling_keys(rope)
    if "rope_theta" in rope:
        keys["rope.freq_base"] = float(rope["rope_theta"])
    if "rms_norm_eps" in config:
        keys[RMS] = config["rms_norm_eps"]
    eps = first(config, "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")
    if eps is not None:
        keys[EPS] = eps
    keys |= expert_keys(config)
    if config.get("head_dim") is not None:
        keys |= {"attention.key_length": config["head_dim"]}
        keys |= {"attention.value_length": config["head_dim"]}
    return keys


def head_dim(config: dict) -> int:
    shape = shape_keys(config)
    return first(
        config, "head_dim", default=shape["embedding_length"] // shape["attention.head_count"]
    )


def classic(config: dict, *without: str) -> dict:
    """Older families: a layer norm, no keys for rope."""
    keys = shape_keys(config) | {EPS: first(config, "layer_norm_eps", "layer_norm_epsilon")}
    return {key: value for key, value in keys.items() if key not in without}


def vocabulary(config: dict) -> dict:
    return {"vocab_size": config["vocab_size"]}


def windows(config: dict) -> dict:
    layers = config.get("layer_types")
    if config.get("sliding_window") is None or layers is None:
        return {}
    pattern = [kind == "sliding_attention" for kind in layers]
    return {
        "attention.sliding_window": config["sliding_window"],
        "attention.sliding_window_pattern": pattern,
    }


def llama(config):
    return modern(config) | vocabulary(config) | {"rope.dimension_count": head_dim(config)}


def phi3(config):
    rope, shape = rope_of(config), shape_keys(config)
    original = rope["original_max_position_embeddings"]
    keys = shape | {
        "rope.scaling.original_context_length": original,
        RMS: config["rms_norm_eps"],
        "rope.dimension_count": int(rope.get("partial_rotary_factor", 1.0) * head_dim(config)),
        "rope.freq_base": float(rope["rope_theta"]),
        "attention.sliding_window": config.get("sliding_window") or 0,
    }
    if "long_factor" in rope:
        scale = config["max_position_embeddings"] / original
        factor = math.sqrt(1 + math.log(scale) / math.log(original))
        keys["rope.scaling.attn_factor"] = factor
    return keys


def granite(config):
    return llama(config) | {
        "attention.scale": config["attention_multiplier"],
        "embedding_scale": config["embedding_multiplier"],
        "residual_scale": config["residual_multiplier"],
        "logit_scale": float(config["logits_scaling"]),
    }


def deepseek2(config):
    rope, latent, turned = rope_of(config), config["kv_lora_rank"], config["qk_rope_head_dim"]
    keys = modern(config) | vocabulary(config) | {"attention.head_count_kv": 1}
    keys |= {
        "leading_dense_block_count": config["first_k_dense_replace"],
        "attention.kv_lora_rank": latent,
        "attention.key_length": latent + turned,
        "attention.value_length": latent,
        "attention.key_length_mla": config["qk_nope_head_dim"] + turned,
        "attention.value_length_mla": config["v_head_dim"],
        "expert_feed_forward_length": config["moe_intermediate_size"],
        "expert_shared_count": config["n_shared_experts"],
        "expert_weights_scale": config["routed_scaling_factor"],
        "rope.dimension_count": turned,
    }
    if config["q_lora_rank"] is not None:
        keys["attention.q_lora_rank"] = config["q_lora_rank"]
    if config["norm_topk_prob"]:
        keys["expert_weights_norm"] = True
    if "mscale_all_dim" in rope:
        keys["rope.scaling.yarn_log_multiplier"] = 0.1 * rope["mscale_all_dim"]
    return keys


def minicpm3(config):
    return (
        shape_keys(config)
        | vocabulary(config)
        | {
            RMS: config["rms_norm_eps"],
            "attention.q_lora_rank": config["q_lora_rank"],
            "attention.kv_lora_rank": config["kv_lora_rank"],
            "attention.key_length": config["qk_nope_head_dim"] + config["qk_rope_head_dim"],
            "rope.dimension_count": config["qk_rope_head_dim"],
        }
    )


def gemma(config):
    keys = shape_keys(config) | {RMS: config["rms_norm_eps"]}
    keys |= {"attention.key_length": head_dim(config), "attention.value_length": head_dim(config)}
    if config["model_type"] == "gemma2":
        for name in ("attn_logit_softcapping", "final_logit_softcapping"):
            keys[name] = config[name]
        keys["attention.sliding_window"] = config["sliding_window"]
    return keys


def gemma3(config):
    window = {"attention.sliding_window": config["sliding_window"]}
    return modern(config) | window | {"rope.freq_base_swa": config["rope_local_base_freq"]}


def partial(config):
    return {"rope.dimension_count": int(config["partial_rotary_factor"] * head_dim(config))}


def residual(config):
    return {"use_parallel_residual": config["use_parallel_residual"]}


def chatglm(config):
    keys = shape_keys(config) | partial(config)
    return keys | {"context_length": config["hidden_size"], RMS: 1e-5, "rope.freq_base": 10000.0}


def glm4moe(config):
    return (
        modern(config)
        | partial(config)
        | {
            "expert_feed_forward_length": config["moe_intermediate_size"],
            "expert_shared_count": config["n_shared_experts"],
            "leading_dense_block_count": config["first_k_dense_replace"],
            "expert_gating_func": 2,
            "expert_weights_scale": config["routed_scaling_factor"],
            "expert_weights_norm": config["norm_topk_prob"],
            "nextn_predict_layers": config["num_nextn_predict_layers"],
        }
    )


def moe_width(config):
    keys = {"expert_feed_forward_length": config["moe_intermediate_size"]}
    if "shared_expert_intermediate_size" in config:
        keys["expert_shared_feed_forward_length"] = config["shared_expert_intermediate_size"]
    return keys


def logits(config):
    return {"logit_scale": config["logit_scale"], "rope.scaling.type": "none"}


def mpt(config):
    keys = classic(config, "attention.head_count_kv")
    keys["attention.max_alibi_bias"] = float(config["attn_config"]["alibi_bias_max"])
    if config["attn_config"]["clip_qkv"] is not None:
        keys["attention.clamp_kqv"] = config["attn_config"]["clip_qkv"]
    return keys


def falcon(config):
    heads = {"attention.head_count_kv": config.get("num_kv_heads", 1)}
    layout = {"tensor_data_layout": "jploski", "context_length": 2048}
    return classic({"max_position_embeddings": 0} | config) | heads | layout


def gpt_oss(config):
    window = {"attention.sliding_window": config["sliding_window"]}
    return modern(config) | window | {"expert_feed_forward_length": config["intermediate_size"]}


FAMILIES = {
    "llama": llama,
    "smollm3": llama,
    "granite": granite,
    "granitemoe": granite,
    "phi3": phi3,
    "phimoe": lambda c: phi3(c) | expert_keys(c),
    "phi2": lambda c: classic(c) | partial(c),
    "gpt2": lambda c: classic(c, "attention.head_count_kv"),
    "starcoder": lambda c: classic(c) | {"attention.head_count_kv": 1},
    "bloom": lambda c: classic(c) | {"context_length": c["hidden_size"]},
    "mpt": mpt,
    "falcon": falcon,
    "gptneox": lambda c: (
        classic(c, "attention.head_count_kv")
        | {"rope.dimension_count": int(c["rotary_pct"] * head_dim(c))}
        | residual(c)
    ),
    "stablelm": lambda c: classic(c) | partial(c) | residual(c),
    "nemotron": lambda c: (
        modern(c)
        | vocabulary(c)
        | partial(c)
        | {RMS: c["norm_eps"], EPS: c["norm_eps"], "rope.scaling.type": "none"}
    ),
    "command-r": lambda c: modern(c) | logits(c),
    "cohere2": lambda c: (
        modern(c)
        | logits(c)
        | vocabulary(c)
        | {"attention.sliding_window": c["sliding_window"], "rope.dimension_count": head_dim(c)}
    ),
    "olmo": lambda c: modern(c) | {EPS: 1e-5, "attention.clamp_kqv": c["clip_qkv"]},
    "olmo2": lambda c: (
        modern(c)
        | windows(c)
        | ({"rope.freq_base_swa": rope_of(c)["rope_theta"]} if "layer_types" in c else {})
    ),
    "exaone4": lambda c: modern(c) | vocabulary(c) | windows(c),
    "gemma": gemma,
    "gemma2": gemma,
    "gemma3": gemma3,
    "chatglm": chatglm,
    "glm4": lambda c: modern(c) | partial(c),
    "glm4moe": glm4moe,
    "qwen2moe": lambda c: modern(c) | moe_width(c),
    "qwen3moe": lambda c: modern(c) | moe_width(c),
    "deepseek2": deepseek2,
    "minicpm3": minicpm3,
    "gpt-oss": gpt_oss,
}


def metadata(config: dict) -> tuple[str, dict]:
    """The architecture's name in GGUF and its keys, without the prefix."""
    arch = ARCHS.get(config["model_type"], config["model_type"])
    return arch, FAMILIES.get(arch, modern)(config)
