"""The models of tests/parity: one entry for each, its config.json as published checkpoints have it.

Read by make_parity_models.py. Sizes are small, numbers odd (epsilons, bases, multipliers), so that a
setting that is ignored or mistaken for another shows in the logits. `wrong` lists such mistakes as
changes of the config; each must move the logits by five times the tolerance, or the seed is not taken.
"""

from dataclasses import dataclass, field

VOCAB = 64


@dataclass
class Entry:
    name: str
    config: dict
    store: str = "bfloat16"  # type of the tensors in the file
    gguf: bool = False  # also written as GGUF
    # The architecture's quantized forms, spaces between: "int8", "q8_0" (as GGUF), "mxfp4", "awq",
    # "gptq", "gptq-file" (told by quantize_config.json).
    quantized: str = ""
    attention: str = "eager"  # transformers' implementation that the expectation comes from
    by_length: bool = False  # rope depends on the sequence's planned length
    lengths: tuple = (24, 6)  # ids of the long case, and of the short one that by_length adds
    wrong: list = field(default_factory=list)

    @property
    def arch(self) -> str:
        return self.config["model_type"]


ENTRIES: list[Entry] = []


def add(name, cls, arch, config, **kind):
    """Adds an entry. `v5` in kind: dtype as transformers 5 writes it."""
    v5 = kind.pop("v5", False)
    store = kind.get("store", "bfloat16")
    head = {"architectures": [cls], "model_type": arch}
    tail = {"vocab_size": VOCAB, "bos_token_id": 1, "eos_token_id": 2}
    tail["dtype" if v5 else "torch_dtype"] = store
    tail["transformers_version"] = "5.0.0" if v5 else "4.46.0"
    ENTRIES.append(Entry(name, {**head, **config, **tail}, **kind))


def sizes(layers=2, heads=4, kv=2, ffn=64, **more):
    """The keys that most configs share."""
    return {
        "hidden_size": 32,
        "intermediate_size": ffn,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "max_position_embeddings": 256,
        **more,
    }


def gpt_sizes(**more):
    return {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, **more}


def llama(name, **config):
    kind = {
        key: config.pop(key)
        for key in ("store", "gguf", "quantized", "by_length", "lengths", "wrong", "v5")
        if key in config
    }
    base = sizes(hidden_act="silu", rms_norm_eps=0.003, rope_theta=7000.0, rope_scaling=None)
    base |= {"attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True}
    if kind.get("v5"):
        for key in ("rope_theta", "rope_scaling"):
            base.pop(key)
    add(name, "LlamaForCausalLM", "llama", base | config, **kind)


def add_llama():
    llama(
        "llama",
        tie_word_embeddings=False,
        store="float32",
        gguf=True,
        quantized="int8 gptq awq",
        wrong=[{"rms_norm_eps": 1e-5}, {"rope_theta": 10000.0}],
    )
    llama("llama-mha-f16", num_key_value_heads=4, num_hidden_layers=1, store="float16")
    llama(
        "llama-mqa-bias",
        num_hidden_layers=1,
        num_key_value_heads=1,
        attention_bias=True,
        mlp_bias=True,
    )
    llama("llama-headdim-gelu", head_dim=12, hidden_act="gelu", wrong=[{"hidden_act": "silu"}])
    llama(
        "llama-linear",
        num_hidden_layers=1,
        rope_scaling={"type": "linear", "factor": 3.0},
        gguf=True,
        wrong=[{"rope_scaling": None}],
    )
    llama(
        "llama-dynamic",
        head_dim=12,
        max_position_embeddings=16,
        rope_scaling={"type": "dynamic", "factor": 3.0},
        by_length=True,
        wrong=[{"rope_scaling": None}],
    )
    llama(
        "llama-llama3",
        num_hidden_layers=1,
        head_dim=16,
        gguf=True,
        max_position_embeddings=512,
        rope_scaling={
            "rope_type": "llama3",
            "factor": 6.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 3.0,
            "original_max_position_embeddings": 48,
        },
        wrong=[{"rope_scaling": None}],
    )
    llama(
        "llama-yarn",
        head_dim=16,
        gguf=True,
        max_position_embeddings=64,
        rope_scaling={
            "type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 16,
            "beta_fast": 6.0,
            "beta_slow": 0.7,
        },
        wrong=[{"rope_scaling": None}],
    )
    llama(
        "llama-yarn-attn",
        num_hidden_layers=1,
        v5=True,
        head_dim=16,
        max_position_embeddings=256,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 900.0,
            "factor": 8.0,
            "original_max_position_embeddings": 32,
            "attention_factor": 1.4,
            "truncate": False,
        },
    )
    llama(
        "llama-longrope",
        v5=True,
        by_length=True,
        max_position_embeddings=64,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 7000.0,
            "factor": 4.0,
            "original_max_position_embeddings": 16,
            "short_factor": [1.0, 1.1, 1.25, 1.4],
            "long_factor": [1.2, 1.9, 2.7, 4.1],
        },
    )
    llama(
        "llama-longrope-64",
        num_hidden_layers=1,
        v5=True,
        by_length=True,
        lengths=(100, 10),
        max_position_embeddings=256,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "factor": 4.0,
            "original_max_position_embeddings": 64,
            "short_factor": [1.0, 1.0, 1.0, 1.0],
            "long_factor": [4.0, 4.0, 4.0, 4.0],
        },
    )
    llama(
        "llama-proportional",
        num_hidden_layers=1,
        v5=True,
        head_dim=16,
        rope_parameters={
            "rope_type": "proportional",
            "rope_theta": 7000.0,
            "partial_rotary_factor": 0.5,
            "factor": 2.0,
        },
    )


def add_llama_like():
    base = sizes(hidden_act="silu", rms_norm_eps=0.003, rope_theta=9000.0, rope_scaling=None)
    mistral = base | {"head_dim": 16, "sliding_window": 7, "tie_word_embeddings": False}
    add(
        "mistral",
        "MistralForCausalLM",
        "mistral",
        mistral,
        quantized="int8",
        wrong=[{"sliding_window": 8}, {"sliding_window": None}],
    )
    add(
        "mistral-nowindow",
        "MistralForCausalLM",
        "mistral",
        base
        | {"head_dim": 12, "num_key_value_heads": 1, "sliding_window": None}
        | {"num_hidden_layers": 1, "tie_word_embeddings": True},
    )
    qwen2 = base | {"use_sliding_window": False, "sliding_window": 5, "max_window_layers": 1}
    add(
        "qwen2",
        "Qwen2ForCausalLM",
        "qwen2",
        qwen2 | {"tie_word_embeddings": False},
        gguf=True,
        quantized="int8 gptq-file",
        store="float16",
    )
    add(
        "qwen2-window",
        "Qwen2ForCausalLM",
        "qwen2",
        qwen2
        | {"use_sliding_window": True, "sliding_window": 8, "num_hidden_layers": 3}
        | {"max_window_layers": 2, "intermediate_size": 32, "tie_word_embeddings": True},
        wrong=[{"sliding_window": 9}, {"max_window_layers": 1}],
    )
    qwen3 = base | {"head_dim": 16, "attention_bias": False, "use_sliding_window": False}
    add(
        "qwen3",
        "Qwen3ForCausalLM",
        "qwen3",
        qwen3 | {"sliding_window": None, "max_window_layers": 2, "tie_word_embeddings": True},
        gguf=True,
        quantized="int8",
    )
    smollm3 = base | {"num_hidden_layers": 4, "intermediate_size": 32, "attention_bias": False}
    smollm3 |= {"mlp_bias": False, "use_sliding_window": False, "sliding_window": None}
    smollm3 |= {"tie_word_embeddings": True, "pad_token_id": 0}
    add(
        "smollm3",
        "SmolLM3ForCausalLM",
        "smollm3",
        smollm3 | {"no_rope_layers": [1, 1, 1, 0], "no_rope_layer_interval": 4},
        gguf=True,
        quantized="int8",
        wrong=[{"no_rope_layers": [1, 1, 1, 1]}],
    )
    add(
        "smollm3-odd",
        "SmolLM3ForCausalLM",
        "smollm3",
        smollm3 | {"no_rope_layers": [0, 1, 1], "num_hidden_layers": 3},
        wrong=[{"no_rope_layers": [1, 1, 0]}],
    )
    add(
        "ernie4_5",
        "Ernie4_5ForCausalLM",
        "ernie4_5",
        base | {"head_dim": 12, "use_bias": False, "tie_word_embeddings": True, "pad_token_id": 0},
        gguf=True,
        quantized="int8",
    )
    add(
        "hunyuan_v1_dense",
        "HunYuanDenseV1ForCausalLM",
        "hunyuan_v1_dense",
        base
        | {"head_dim": 16, "attention_bias": False, "tie_word_embeddings": True}
        | {"pad_token_id": 0},
        gguf=True,
        quantized="int8",
    )
    seed = {key: value for key, value in base.items() if not key.startswith("rope")}
    seed |= {"head_dim": 12, "attention_bias": True, "mlp_bias": False, "pad_token_id": 0}
    seed |= {"rope_parameters": {"rope_type": "default", "rope_theta": 9000.0}}
    add(
        "seed_oss",
        "SeedOssForCausalLM",
        "seed_oss",
        seed | {"attention_out_bias": False, "tie_word_embeddings": False},
        v5=True,
        gguf=True,
        quantized="int8",
    )
    add(
        "seed_oss-outbias",
        "SeedOssForCausalLM",
        "seed_oss",
        seed | {"attention_out_bias": True, "num_hidden_layers": 1, "tie_word_embeddings": True},
        v5=True,
    )
    exaone4 = base | {"num_hidden_layers": 4, "intermediate_size": 32, "head_dim": 8}
    window = {"sliding_window": 7, "sliding_window_pattern": 4}
    window["layer_types"] = ["sliding_attention"] * 3 + ["full_attention"]
    add(
        "exaone4",
        "Exaone4ForCausalLM",
        "exaone4",
        exaone4 | window | {"tie_word_embeddings": False, "pad_token_id": 0},
        gguf=True,
        quantized="int8",
        wrong=[{"sliding_window": 6}],
    )
    add(
        "exaone4-full",
        "Exaone4ForCausalLM",
        "exaone4",
        exaone4
        | {"num_hidden_layers": 1, "sliding_window": None, "sliding_window_pattern": None}
        | {"layer_types": ["full_attention"], "tie_word_embeddings": True, "pad_token_id": 0},
    )


def add_gemma():
    gemma = sizes(head_dim=12, kv=1, rms_norm_eps=0.003, pad_token_id=0, tie_word_embeddings=True)
    add(
        "gemma",
        "GemmaForCausalLM",
        "gemma",
        gemma
        | {"hidden_act": "gelu", "hidden_activation": None, "rope_theta": 10000.0}
        | {"attention_bias": False, "rope_scaling": None},
        gguf=True,
        quantized="int8",
    )
    gemma2 = sizes(layers=3, ffn=32, head_dim=16, rms_norm_eps=0.003, pad_token_id=0)
    gemma2 |= {"hidden_activation": "gelu_pytorch_tanh", "rope_theta": 10000.0}
    gemma2 |= {"attention_bias": False, "tie_word_embeddings": True}
    gemma2 |= {"attn_logit_softcapping": 2.5, "final_logit_softcapping": 5.0, "sliding_window": 7}
    add(
        "gemma2",
        "Gemma2ForCausalLM",
        "gemma2",
        gemma2 | {"query_pre_attn_scalar": 16},
        gguf=True,
        quantized="int8",
        wrong=[
            {"attn_logit_softcapping": None},
            {"final_logit_softcapping": None},
            {"sliding_window": 8},
        ],
    )
    add(
        "gemma2-scale",
        "Gemma2ForCausalLM",
        "gemma2",
        gemma2 | {"query_pre_attn_scalar": 27, "num_hidden_layers": 1},
        wrong=[{"query_pre_attn_scalar": 16}],
    )
    gemma3 = sizes(layers=6, heads=2, kv=1, ffn=32, head_dim=16, rms_norm_eps=0.003)
    gemma3 |= {"hidden_activation": "gelu_pytorch_tanh", "attention_bias": False}
    gemma3 |= {"attn_logit_softcapping": None, "final_logit_softcapping": None}
    gemma3 |= {"tie_word_embeddings": True, "pad_token_id": 0}
    add(
        "gemma3_text",
        "Gemma3ForCausalLM",
        "gemma3_text",
        gemma3
        | {"query_pre_attn_scalar": 16, "sliding_window": 6, "sliding_window_pattern": 6}
        | {"rope_theta": 40000.0, "rope_local_base_freq": 1000.0}
        | {"rope_scaling": {"factor": 3.0, "rope_type": "linear"}},
        gguf=True,
        quantized="int8",
        wrong=[{"rope_scaling": None}, {"rope_local_base_freq": 10000.0}, {"sliding_window": 7}],
    )
    rope = {
        "full_attention": {"rope_type": "default", "rope_theta": 30000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1500.0},
    }
    add(
        "gemma3_text-v5",
        "Gemma3ForCausalLM",
        "gemma3_text",
        gemma3
        | {"num_hidden_layers": 3, "query_pre_attn_scalar": 23, "sliding_window": 9}
        | {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
        | {"rope_parameters": rope, "_sliding_window_pattern": 6, "num_attention_heads": 4},
        v5=True,
        wrong=[{"query_pre_attn_scalar": 16}],
    )
