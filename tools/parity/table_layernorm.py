"""Models with layer norms: GPT's descendants, Phi, Falcon and its like. Read by make_parity_models.py."""

from parity.table import add, gpt_sizes, sizes


def add_gpt():
    gpt2 = gpt_sizes(activation_function="gelu_new", layer_norm_epsilon=0.003, pad_token_id=0)
    gpt2 |= {"tie_word_embeddings": True, "n_inner": None}
    add(
        "gpt2",
        "GPT2LMHeadModel",
        "gpt2",
        gpt2 | {"n_ctx": 64, "scale_attn_weights": True, "reorder_and_upcast_attn": False},
        store="float16",
        gguf=True,
        quantized="q8_0",
        wrong=[{"activation_function": "gelu"}],
    )
    bigcode = gpt2 | {"activation_function": "gelu_pytorch_tanh", "n_inner": 64}
    bigcode |= {"scale_attn_weights": True, "attention_softmax_in_fp32": True}
    add(
        "gpt_bigcode",
        "GPTBigCodeForCausalLM",
        "gpt_bigcode",
        bigcode | {"multi_query": True},
        gguf=True,
        quantized="int8",
    )
    add(
        "gpt_bigcode-mha",
        "GPTBigCodeForCausalLM",
        "gpt_bigcode",
        bigcode | {"multi_query": False, "n_layer": 1},
    )
    gptj = gpt_sizes(activation_function="gelu_new", layer_norm_epsilon=0.003, rotary_dim=4)
    add(
        "gptj",
        "GPTJForCausalLM",
        "gptj",
        gptj | {"n_inner": 64, "tie_word_embeddings": False},
        quantized="int8",
    )
    neo = {"hidden_size": 32, "num_layers": 3, "num_heads": 4, "intermediate_size": 64}
    neo |= {"attention_types": [[["global", "local"], 1], [["global"], 1]], "window_size": 7}
    neo |= {"attention_layers": ["global", "local", "global"], "max_position_embeddings": 64}
    neo |= {"activation_function": "gelu_new", "layer_norm_epsilon": 0.003}
    add(
        "gpt_neo",
        "GPTNeoForCausalLM",
        "gpt_neo",
        neo | {"tie_word_embeddings": True},
        quantized="int8",
        wrong=[{"window_size": 8}],
    )
    neox = sizes(hidden_act="gelu", layer_norm_eps=0.003, rope_scaling=None)
    neox.pop("num_key_value_heads")
    neox |= {"rotary_emb_base": 10000, "tie_word_embeddings": False}
    add(
        "gpt_neox",
        "GPTNeoXForCausalLM",
        "gpt_neox",
        neox | {"use_parallel_residual": True, "attention_bias": True, "rotary_pct": 0.5},
        gguf=True,
        quantized="int8",
        wrong=[{"use_parallel_residual": False}, {"hidden_act": "gelu_new"}],
    )
    add(
        "gpt_neox-serial",
        "GPTNeoXForCausalLM",
        "gpt_neox",
        neox
        | {"use_parallel_residual": False, "attention_bias": False, "rotary_pct": 0.25}
        | {"num_hidden_layers": 1},
        store="float16",
        gguf=True,
        wrong=[{"rotary_pct": 0.5}],
    )
    starcoder2 = sizes(hidden_act="gelu_pytorch_tanh", norm_epsilon=0.003, rope_theta=10000.0)
    starcoder2 |= {"tie_word_embeddings": True}
    add(
        "starcoder2",
        "Starcoder2ForCausalLM",
        "starcoder2",
        starcoder2 | {"sliding_window": None, "use_bias": True},
        gguf=True,
        quantized="int8",
    )
    add(
        "starcoder2-window",
        "Starcoder2ForCausalLM",
        "starcoder2",
        starcoder2
        | {"sliding_window": 7, "use_bias": False, "num_key_value_heads": 1}
        | {"num_hidden_layers": 1},
        wrong=[{"sliding_window": 8}],
    )


def add_positions():
    opt = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 64}
    opt |= {"max_position_embeddings": 64, "activation_function": "relu", "enable_bias": True}
    opt |= {"layer_norm_elementwise_affine": True, "_remove_final_layer_norm": False}
    opt |= {"tie_word_embeddings": True, "pad_token_id": 1}
    add(
        "opt",
        "OPTForCausalLM",
        "opt",
        opt | {"do_layer_norm_before": True, "word_embed_proj_dim": 32},
        store="float16",
        quantized="int8",
    )
    add(
        "opt-350m",
        "OPTForCausalLM",
        "opt",
        opt | {"do_layer_norm_before": False, "word_embed_proj_dim": 64},
        quantized="int8",
    )
    bloom = {"hidden_size": 32, "n_layer": 2, "n_head": 4, "layer_norm_epsilon": 0.003}
    bloom |= {"apply_residual_connection_post_layernorm": False, "tie_word_embeddings": True}
    add(
        "bloom",
        "BloomForCausalLM",
        "bloom",
        bloom | {"pad_token_id": 3, "hidden_dropout": 0.0},
        gguf=True,
        quantized="int8",
    )
    add(
        "bloom-heads",
        "BloomForCausalLM",
        "bloom",
        # six heads: slopes beside the powers of two
        bloom | {"pad_token_id": 3, "hidden_size": 48, "n_head": 6, "n_layer": 1},
    )
    mpt = {"d_model": 32, "n_heads": 4, "n_layers": 2, "expansion_ratio": 4, "max_seq_len": 256}
    mpt |= {"layer_norm_epsilon": 1e-5, "no_bias": True, "norm_type": "low_precision_layernorm"}
    mpt |= {"learned_pos_emb": True, "logit_scale": None, "tie_word_embeddings": True}
    attention = {"alibi": True, "attn_impl": "torch", "attn_type": "multihead_attention"}
    attention |= {"prefix_lm": False, "qk_ln": False, "softmax_scale": None}
    add(
        "mpt",
        "MPTForCausalLM",
        "mpt",
        mpt | {"attn_config": attention | {"alibi_bias_max": 8, "clip_qkv": 1.3}},
        gguf=True,
        quantized="int8",
        wrong=[{"attn_config": attention | {"alibi_bias_max": 8, "clip_qkv": None}}],
    )
    add(
        "mpt-heads",
        "MPTForCausalLM",
        "mpt",
        mpt
        | {"attn_config": attention | {"alibi_bias_max": 8, "clip_qkv": None}}
        | {"d_model": 48, "n_heads": 6, "n_layers": 1, "expansion_ratio": 2},
    )
    falcon = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    falcon |= {"layer_norm_epsilon": 0.003, "hidden_dropout": 0.0, "attention_dropout": 0.0}
    falcon |= {"rope_theta": 10000.0, "activation": "gelu", "ffn_hidden_size": 128}
    add(
        "falcon",
        "FalconForCausalLM",
        "falcon",
        falcon
        | {"multi_query": True, "new_decoder_architecture": False, "parallel_attn": True}
        | {"alibi": False, "bias": False, "tie_word_embeddings": True},
        gguf=True,
        quantized="int8",
    )
    add(
        "falcon-new",
        "FalconForCausalLM",
        "falcon",
        falcon
        | {"multi_query": True, "new_decoder_architecture": True, "parallel_attn": True}
        | {"alibi": False, "bias": False, "num_kv_heads": 2, "tie_word_embeddings": False},
        gguf=True,
    )
    add(
        "falcon-alibi",
        "FalconForCausalLM",
        "falcon",
        falcon
        | {"multi_query": False, "new_decoder_architecture": False, "parallel_attn": False}
        | {"alibi": True, "bias": True, "tie_word_embeddings": True, "ffn_hidden_size": 64},
        attention="sdpa",
    )


def add_phi():
    phi = sizes(hidden_act="gelu_new", layer_norm_eps=0.003, rope_theta=10000.0, rope_scaling=None)
    phi |= {"partial_rotary_factor": 0.5, "tie_word_embeddings": False}
    add(
        "phi",
        "PhiForCausalLM",
        "phi",
        phi | {"qk_layernorm": False, "num_key_value_heads": 4, "intermediate_size": 128},
        store="float16",
        gguf=True,
        quantized="int8",
    )
    add(
        "phi-qknorm",
        "PhiForCausalLM",
        "phi",
        phi | {"qk_layernorm": True, "partial_rotary_factor": 0.25, "num_hidden_layers": 1},
    )
    phi3 = sizes(hidden_act="silu", rms_norm_eps=0.003, rope_theta=9000.0, pad_token_id=0)
    add(
        "phi3",
        "Phi3ForCausalLM",
        "phi3",
        phi3
        | {"rope_scaling": None, "sliding_window": None, "tie_word_embeddings": False}
        | {"original_max_position_embeddings": 256},
        gguf=True,
        quantized="int8",
    )
    add(
        "phi3-window",
        "Phi3ForCausalLM",
        "phi3",
        phi3
        | {"rope_scaling": None, "sliding_window": 7, "tie_word_embeddings": False}
        | {"original_max_position_embeddings": 256, "num_hidden_layers": 1},
        wrong=[{"sliding_window": 8}],
    )
    factors = {
        "long_factor": [1.1, 1.7, 2.6, 4.3],
        "short_factor": [1.0, 1.05, 1.3, 1.5],
        "type": "longrope",
    }
    add(
        "phi3-longrope",
        "Phi3ForCausalLM",
        "phi3",
        phi3
        | {"rope_scaling": factors, "sliding_window": None, "tie_word_embeddings": True}
        | {"original_max_position_embeddings": 16, "max_position_embeddings": 64},
        gguf=True,
        by_length=True,
    )
    partial = {key: values for key, values in factors.items() if key == "type"}
    partial |= {"long_factor": [1.3, 2.9, 4.1], "short_factor": [1.0, 1.2, 1.6]}
    add(
        "phi3-longrope-partial",
        "Phi3ForCausalLM",
        "phi3",
        phi3
        | {"rope_scaling": partial, "sliding_window": None, "tie_word_embeddings": True}
        | {"original_max_position_embeddings": 16, "max_position_embeddings": 64}
        | {"partial_rotary_factor": 0.75, "num_hidden_layers": 1},
        by_length=True,
    )


def add_others():
    stablelm = sizes(hidden_act="silu", layer_norm_eps=0.003, rope_theta=10000.0, rope_scaling=None)
    stablelm |= {"partial_rotary_factor": 0.25}
    add(
        "stablelm",
        "StableLmForCausalLM",
        "stablelm",
        stablelm
        | {"qk_layernorm": False, "use_parallel_residual": False, "use_qkv_bias": True}
        | {"tie_word_embeddings": False},
        gguf=True,
        quantized="int8",
    )
    add(
        "stablelm-qknorm",
        "StableLmForCausalLM",
        "stablelm",
        stablelm
        | {"qk_layernorm": True, "use_parallel_residual": True, "use_qkv_bias": False}
        | {"tie_word_embeddings": True, "partial_rotary_factor": 0.5},
        gguf=True,
    )
    cohere = sizes(hidden_act="silu", layer_norm_eps=0.003, rope_theta=9000.0, rope_scaling=None)
    cohere |= {"attention_bias": False, "tie_word_embeddings": True, "pad_token_id": 0}
    add(
        "cohere",
        "CohereForCausalLM",
        "cohere",
        cohere | {"logit_scale": 0.3, "use_qk_norm": False},
        gguf=True,
        quantized="int8",
        wrong=[{"logit_scale": 1.0}],
    )
    add(
        "cohere-qknorm",
        "CohereForCausalLM",
        "cohere",
        cohere | {"logit_scale": 0.5, "use_qk_norm": True, "num_hidden_layers": 1},
        gguf=True,
    )
    cohere2 = cohere | {"num_hidden_layers": 4, "intermediate_size": 32, "head_dim": 8}
    add(
        "cohere2",
        "Cohere2ForCausalLM",
        "cohere2",
        cohere2
        | {"logit_scale": 0.4, "sliding_window": 7, "sliding_window_pattern": 4}
        | {"rotary_pct": 1.0},
        gguf=True,
        quantized="int8",
        wrong=[{"sliding_window": 8}, {"sliding_window_pattern": 2}],
    )
    nemotron = sizes(hidden_act="relu2", norm_eps=0.003, rope_theta=10000.0, rope_scaling=None)
    nemotron |= {"attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False}
    add(
        "nemotron",
        "NemotronForCausalLM",
        "nemotron",
        nemotron | {"head_dim": 8, "partial_rotary_factor": 0.5},
        gguf=True,
        quantized="int8",
    )
