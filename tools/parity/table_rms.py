"""OLMo, Granite, GLM, mixtures of experts and latent attention. Read by make_parity_models.py."""

from parity.table import add, sizes


def add_olmo():
    base = sizes(hidden_act="silu", rope_theta=9000.0, rope_scaling=None, attention_bias=False)
    add(
        "olmo",
        "OlmoForCausalLM",
        "olmo",
        base | {"clip_qkv": 1.2, "tie_word_embeddings": False, "pad_token_id": 0},
        gguf=True,
        quantized="int8",
        wrong=[{"clip_qkv": None}],
    )
    add(
        "olmo-noclip-tied",
        "OlmoForCausalLM",
        "olmo",
        base
        | {"clip_qkv": None, "tie_word_embeddings": True, "pad_token_id": 0}
        | {"num_hidden_layers": 1},
    )
    olmo2 = base | {"rms_norm_eps": 0.003, "pad_token_id": 0}
    add(
        "olmo2",
        "Olmo2ForCausalLM",
        "olmo2",
        olmo2 | {"tie_word_embeddings": False},
        gguf=True,
        quantized="int8",
    )
    yarn = {"rope_type": "yarn", "rope_theta": 9000.0, "factor": 8.0}
    yarn["attention_factor"] = 1.2079441541679836  # what GGUF readers assume
    yarn |= {"original_max_position_embeddings": 16, "beta_fast": 6.0, "beta_slow": 0.7}
    plain = {"rope_type": "default", "rope_theta": 9000.0}
    olmo3 = {key: value for key, value in olmo2.items() if not key.startswith("rope")}
    olmo3 |= {"num_hidden_layers": 4, "intermediate_size": 32, "sliding_window": 7}
    add(
        "olmo3",
        "Olmo3ForCausalLM",
        "olmo3",
        olmo3
        | {"layer_types": ["sliding_attention"] * 3 + ["full_attention"]}
        | {"rope_parameters": {"full_attention": yarn, "sliding_attention": plain}}
        | {"tie_word_embeddings": False},
        v5=True,
        gguf=True,
        quantized="int8",
        wrong=[
            {"sliding_window": 8},
            {"rope_parameters": {"full_attention": plain, "sliding_attention": plain}},
        ],
    )
    olmoe = base | {"rms_norm_eps": 1e-5, "intermediate_size": 32, "clip_qkv": None}
    olmoe |= {"num_experts": 4, "num_experts_per_tok": 2, "pad_token_id": 0}
    add(
        "olmoe",
        "OlmoeForCausalLM",
        "olmoe",
        olmoe | {"norm_topk_prob": False, "tie_word_embeddings": False},
        gguf=True,
        quantized="int8",
        wrong=[{"norm_topk_prob": True}],
    )
    add(
        "olmoe-clip-norm",
        "OlmoeForCausalLM",
        "olmoe",
        olmoe
        | {"norm_topk_prob": True, "tie_word_embeddings": True, "clip_qkv": 1.1}
        | {"num_hidden_layers": 1},
        wrong=[{"clip_qkv": None}],
    )


def add_granite_glm():
    base = sizes(hidden_act="silu", rms_norm_eps=0.003, rope_theta=9000.0, rope_scaling=None)
    granite = base | {"attention_bias": False, "embedding_multiplier": 2.5, "pad_token_id": 0}
    granite |= {"attention_multiplier": 0.23, "residual_multiplier": 0.7, "logits_scaling": 3.0}
    granite |= {"tie_word_embeddings": True}
    wrong = [{"attention_multiplier": 8**-0.5}, {"residual_multiplier": 1.0}, {"logits_scaling": 1}]
    add(
        "granite",
        "GraniteForCausalLM",
        "granite",
        granite | {"mlp_bias": False},
        gguf=True,
        quantized="int8",
        wrong=wrong,
    )
    add(
        "granitemoe",
        "GraniteMoeForCausalLM",
        "granitemoe",
        granite | {"intermediate_size": 32, "num_local_experts": 4, "num_experts_per_tok": 2},
        gguf=True,
        quantized="int8",
        wrong=wrong[:1],
    )
    glm = base | {"head_dim": 8, "partial_rotary_factor": 0.5, "pad_token_id": 0}
    glm |= {"tie_word_embeddings": False}
    add(
        "glm",
        "GlmForCausalLM",
        "glm",
        glm | {"attention_bias": True, "rms_norm_eps": 1e-5, "rope_theta": 10000.0},
        gguf=True,
        quantized="int8",
    )
    add(
        "glm4",
        "Glm4ForCausalLM",
        "glm4",
        glm | {"attention_bias": True, "head_dim": 16},
        gguf=True,
        quantized="int8",
    )
    moe = glm | {"first_k_dense_replace": 1, "moe_intermediate_size": 32, "n_routed_experts": 4}
    moe |= {"n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1}
    moe |= {"norm_topk_prob": True, "routed_scaling_factor": 1.7, "num_nextn_predict_layers": 0}
    add(
        "glm4_moe",
        "Glm4MoeForCausalLM",
        "glm4_moe",
        moe | {"attention_bias": True, "use_qk_norm": True, "head_dim": 12},
        gguf=True,
        quantized="int8",
        wrong=[{"routed_scaling_factor": 1.0}, {"norm_topk_prob": False}],
    )
    add(
        "glm4_moe-plain",
        "Glm4MoeForCausalLM",
        "glm4_moe",
        moe
        | {"attention_bias": False, "use_qk_norm": False, "num_attention_heads": 2}
        | {"num_key_value_heads": 1, "norm_topk_prob": False, "n_shared_experts": 2},
        wrong=[{"norm_topk_prob": True}],
    )


def add_experts():
    base = sizes(hidden_act="silu", rms_norm_eps=0.003, rope_theta=9000.0, rope_scaling=None)
    add(
        "mixtral",
        "MixtralForCausalLM",
        "mixtral",
        base
        | {"intermediate_size": 32, "num_local_experts": 4, "num_experts_per_tok": 2}
        | {"sliding_window": None, "tie_word_embeddings": False},
        gguf=True,
        quantized="int8",
    )
    add(
        "mixtral-window",
        "MixtralForCausalLM",
        "mixtral",
        base
        | {"intermediate_size": 32, "num_local_experts": 4, "num_experts_per_tok": 1}
        | {"sliding_window": 7, "tie_word_embeddings": True, "num_hidden_layers": 1},
        wrong=[{"sliding_window": 8}],
    )
    qwen2 = base | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    qwen2 |= {"shared_expert_intermediate_size": 32, "decoder_sparse_step": 1}
    qwen2 |= {"use_sliding_window": False, "sliding_window": 4, "max_window_layers": 2}
    add(
        "qwen2_moe",
        "Qwen2MoeForCausalLM",
        "qwen2_moe",
        qwen2 | {"norm_topk_prob": False, "mlp_only_layers": [], "tie_word_embeddings": False},
        gguf=True,
        quantized="int8",
        wrong=[{"norm_topk_prob": True}],
    )
    add(
        "qwen2_moe-dense",
        "Qwen2MoeForCausalLM",
        "qwen2_moe",
        qwen2
        | {"norm_topk_prob": True, "mlp_only_layers": [1], "decoder_sparse_step": 1}
        | {"tie_word_embeddings": True, "num_experts": 4},
    )
    qwen3 = base | {"num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 32}
    qwen3 |= {"head_dim": 12, "attention_bias": False, "use_sliding_window": False}
    qwen3 |= {"sliding_window": None}
    add(
        "qwen3_moe",
        "Qwen3MoeForCausalLM",
        "qwen3_moe",
        qwen3
        | {"norm_topk_prob": True, "mlp_only_layers": [], "decoder_sparse_step": 1}
        | {"tie_word_embeddings": False},
        gguf=True,
        quantized="int8",
    )
    add(
        "qwen3_moe-sparse",
        "Qwen3MoeForCausalLM",
        "qwen3_moe",
        qwen3
        | {"norm_topk_prob": False, "mlp_only_layers": [], "decoder_sparse_step": 2}
        | {"tie_word_embeddings": True, "num_experts": 4},
        wrong=[{"norm_topk_prob": True}],
    )
    add(
        "phimoe",
        "PhiMoEForCausalLM",
        "phimoe",
        base
        | {"intermediate_size": 32, "num_local_experts": 4, "num_experts_per_tok": 2}
        | {"attention_bias": True, "lm_head_bias": True, "router_jitter_noise": 0.01}
        | {"input_jitter_noise": 0.0, "sliding_window": None, "tie_word_embeddings": False}
        | {"original_max_position_embeddings": 256, "pad_token_id": 0},
        gguf=True,
        quantized="int8",
    )
    rope = {"rope_type": "yarn", "factor": 8.0, "beta_fast": 6.0, "beta_slow": 0.7}
    rope |= {"original_max_position_embeddings": 16, "truncate": False}
    layer_types = ["sliding_attention", "full_attention"]
    gpt_oss = base | {"head_dim": 16, "intermediate_size": 32, "pad_token_id": 0}
    gpt_oss |= {"num_local_experts": 4, "num_experts_per_tok": 2, "layer_types": layer_types}
    gpt_oss |= {"rope_scaling": rope, "rope_theta": 1100.0, "sliding_window": 7}
    gpt_oss |= {"attention_bias": True, "max_position_embeddings": 128}
    add(
        "gpt_oss",
        "GptOssForCausalLM",
        "gpt_oss",
        gpt_oss | {"swiglu_limit": 7.0, "tie_word_embeddings": False},
        gguf=True,
        quantized="mxfp4",
        wrong=[{"sliding_window": 8}],
    )
    add(
        "gpt_oss-limit",
        "GptOssForCausalLM",
        "gpt_oss",
        gpt_oss
        | {"swiglu_limit": 1.6, "tie_word_embeddings": False, "num_local_experts": 3}
        | {"num_hidden_layers": 1, "layer_types": layer_types[:1]},
        wrong=[{"swiglu_limit": 7.0}],
    )


def add_latent():
    base = sizes(kv=4, hidden_act="silu", rms_norm_eps=0.003, rope_theta=9000.0, pad_token_id=0)
    base |= {"attention_bias": False, "tie_word_embeddings": False}
    base |= {"kv_lora_rank": 32, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8}
    moe = {"moe_intermediate_size": 32, "n_shared_experts": 1, "first_k_dense_replace": 1}
    yarn = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
    yarn |= {"beta_fast": 6, "beta_slow": 1, "mscale": 0.707, "mscale_all_dim": 0.707}
    add(
        "deepseek_v2",
        "DeepseekV2ForCausalLM",
        "deepseek_v2",
        base
        | moe
        | {"q_lora_rank": None, "n_routed_experts": 4, "num_experts_per_tok": 2}
        | {"n_group": 1, "topk_group": 1, "topk_method": "greedy", "norm_topk_prob": False}
        | {"routed_scaling_factor": 1.0, "scoring_func": "softmax", "rope_scaling": yarn}
        | {"max_position_embeddings": 64, "n_shared_experts": 2, "v_head_dim": 12},
        gguf=True,
        quantized="int8",
        wrong=[{"rope_scaling": None}],
    )
    add(
        "deepseek_v2-group",
        "DeepseekV2ForCausalLM",
        "deepseek_v2",
        base
        | moe
        | {"q_lora_rank": 32, "n_routed_experts": 8, "num_experts_per_tok": 3}
        | {"n_group": 4, "topk_group": 2, "topk_method": "group_limited_greedy"}
        | {"norm_topk_prob": False, "routed_scaling_factor": 2.5, "scoring_func": "softmax"}
        | {"rope_scaling": yarn | {"mscale": 0.9, "mscale_all_dim": 0.6}},
        wrong=[{"topk_method": "greedy"}, {"routed_scaling_factor": 1.0}],
    )
    v3 = base | moe | {"scoring_func": "sigmoid", "topk_method": "noaux_tc"}
    add(
        "deepseek_v3",
        "DeepseekV3ForCausalLM",
        "deepseek_v3",
        v3
        | {"q_lora_rank": 32, "n_routed_experts": 8, "num_experts_per_tok": 3, "n_group": 4}
        | {"topk_group": 2, "norm_topk_prob": True, "routed_scaling_factor": 1.9}
        | {"rope_scaling": yarn | {"mscale": 1.0, "mscale_all_dim": 1.0}},
        gguf=True,
        quantized="int8",
        wrong=[{"topk_group": 4}, {"norm_topk_prob": False}, {"rope_scaling": None}],
    )
    add(
        "deepseek_v3-plain",
        "DeepseekV3ForCausalLM",
        "deepseek_v3",
        v3
        | {"q_lora_rank": None, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1}
        | {"topk_group": 1, "norm_topk_prob": False, "routed_scaling_factor": 1.3}
        | {"rope_scaling": None, "rope_interleave": False, "tie_word_embeddings": True},
        wrong=[{"rope_interleave": True}],
    )
    add(
        "minicpm3",
        "MiniCPM3ForCausalLM",
        "minicpm3",
        base
        | {"q_lora_rank": 32, "scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 256}
        | {"rope_scaling": None, "rope_theta": 10000.0},
        gguf=True,
        quantized="int8",
        wrong=[{"scale_depth": 2.0}, {"scale_emb": 1}],
    )
    add(
        "minicpm3-odd",
        "MiniCPM3ForCausalLM",
        "minicpm3",
        base
        | {"q_lora_rank": 32, "scale_emb": 3, "scale_depth": 1.1, "dim_model_base": 16}
        | {"rope_scaling": None, "tie_word_embeddings": True, "v_head_dim": 12}
        | {"num_hidden_layers": 1},
        wrong=[{"dim_model_base": 32}],
    )
