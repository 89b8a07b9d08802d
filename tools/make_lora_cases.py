#!/usr/bin/env python3
"""Makes the LoRA adapters of tests/parity/lora and what peft computes with them.

  make_lora_cases.py [--out tests/parity] [--only GLOB]

Needs torch, transformers and peft; tests need none of them. The bases are the tiny models that
make_parity_models.py made. Writes lora/NAME/ as tools/check_oracle.py reads it: adapter_config.json
and weights as peft saves them, and expected.json with logits.npy [positions, vocabulary] of the base
with the adapter. A case of several adapters names the folders and their factors instead.
Values are random; both matrices are far from zero, so that the logits move by more than one. The
script checks that peft's own merged weights give the same logits.
"""

import argparse
import fnmatch
import json
import os
import random
import shutil
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy
import torch
from parity import reference
from peft import LoraConfig, PeftModel, get_peft_model

N_IDS = 16
VOCAB = 64
LLAMA_MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
TOLERANCE = {"logits_abs": 2e-4, "kl": 1e-6}

# name: base, extra keys of expected.json, LoraConfig, whether the weights are a pickle
CASES = {
    "llama-all": (
        "llama",
        {"gguf": "gguf/llama.gguf"},
        {"r": 4, "lora_alpha": 8, "target_modules": LLAMA_MODULES},
        False,
    ),
    "llama-rslora": (
        "llama",
        {"gguf": "gguf/llama.gguf"},
        {
            "r": 3,
            "lora_alpha": 5,
            "use_rslora": True,
            "target_modules": LLAMA_MODULES,
            # The first that matches counts, wherever a later one would match as well.
            "rank_pattern": {
                "layers.1.mlp.down_proj": 6,
                r"layers\.[01]\.self_attn\.(q|k)_proj": 2,
                "q_proj": 5,
            },
            "alpha_pattern": {"v_proj": 7, ".*self_attn.*": 3, "proj": 100},
        },
        False,
    ),
    "llama-layer": (
        "llama",
        {"gguf": "gguf/llama.gguf"},
        {
            "r": 2,
            "lora_alpha": 4,
            "target_modules": ["q_proj", "down_proj"],
            "layers_to_transform": [1],
        },
        False,
    ),
    "phi3-fused": (
        "phi3",
        {"gguf": "gguf/phi3.gguf"},
        {
            "r": 3,
            "lora_alpha": 6,
            "target_modules": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"],
        },
        False,
    ),
    "gpt2-conv": (
        "gpt2",
        {"gguf": "gguf/gpt2.gguf"},
        {
            "r": 3,
            "lora_alpha": 6,
            "target_modules": ["c_attn", "c_proj", "c_fc"],
            "fan_in_fan_out": True,
        },
        True,
    ),
    "gpt_neox-heads": (
        "gpt_neox",
        {"gguf": "gguf/gpt_neox.gguf"},
        {"r": 2, "lora_alpha": 4, "target_modules": ["query_key_value", "dense", "dense_4h_to_h"]},
        False,
    ),
    "falcon-groups": (
        "falcon-new",
        {"gguf": "gguf/falcon-new.gguf"},
        {"r": 2, "lora_alpha": 4, "target_modules": ["query_key_value", "dense_h_to_4h"]},
        False,
    ),
    "granite-scaled": (
        "granite",
        {"gguf": "gguf/granite.gguf"},
        {"r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "o_proj", "down_proj"]},
        False,
    ),
    "deepseek_v3-latent": (
        "deepseek_v3",
        {"merge_only": True},
        {
            "r": 2,
            "lora_alpha": 4,
            "target_modules": ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "o_proj"],
        },
        False,
    ),
    # gpt2-q8_0.gguf has this one layer only.
    "gpt2-first": (
        "gpt2",
        {"gguf": "gguf/gpt2.gguf"},
        {
            "r": 2,
            "lora_alpha": 6,
            "target_modules": ["c_attn", "c_fc"],
            "layers_to_transform": [0],
            "fan_in_fan_out": True,
        },
        False,
    ),
    "olmo-pairs": (
        "olmo",
        {"gguf": "gguf/olmo.gguf"},
        {"r": 2, "lora_alpha": 6, "target_modules": ["q_proj", "k_proj"]},
        False,
    ),
    "smollm3-pairs": (
        "smollm3",
        {"gguf": "gguf/smollm3.gguf"},
        {"r": 2, "lora_alpha": 6, "target_modules": ["q_proj", "k_proj"]},
        False,
    ),
}

# Types that the matrices are stored in, where not float32.
STORED = {"phi3-fused": "bfloat16", "gpt2-conv": "float16", "falcon-groups": "bfloat16"}

SEVERAL = {
    "llama-several": ("llama", [("llama-all", 0.5), ("llama-rslora", -0.75), ("llama-layer", 1.0)])
}


def fill(model, seed: int) -> None:
    """Random A and B."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in sorted(model.named_parameters()):
        if ".lora_A." in name or ".lora_B." in name:
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.data = noise * (0.4 / parameter.shape[1] ** 0.5)


def load(root: str, base: str):
    return reference.load(os.path.join(root, "models", base), "eager")


def greedy(model, ids: list[int], n: int) -> list[int]:
    tokens = []
    for _ in range(n):
        tokens.append(int(reference.logits(model, ids + tokens)[-1].argmax()))
    return tokens


def write_expected(folder: str, base: str, extra: dict, ids: list[int], model, plain) -> None:
    rows = reference.logits(model, ids)
    moved = (rows - reference.logits(plain, ids)).abs().max().item()
    tokens = greedy(model, ids, 8)
    merged = reference.logits(model.merge_and_unload(), ids)
    apart = (rows - merged).abs().max().item()
    if moved < 1 or apart > TOLERANCE["logits_abs"] / 2:
        raise ValueError(f"{folder}: moves the logits by {moved:.2g}, merging by {apart:.2g}")
    numpy.save(os.path.join(folder, "logits.npy"), rows.detach().numpy().astype("<f4"))
    expected = {
        "base": f"models/{base}",
        **extra,
        "input_ids": ids,
        "greedy": tokens,
        "logits_adapter": "logits.npy",
        "logits_merged": "logits.npy",
        "adapter_vs_base": float(f"{moved:.3g}"),
        "adapter_vs_merged": float(f"{apart:.3g}"),
        "tolerance": TOLERANCE,
    }
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


def make_case(root: str, name: str, index: int) -> None:
    base, extra, options, pickled = CASES[name]
    folder = os.path.join(root, "lora", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    config = LoraConfig(
        base_model_name_or_path=f"../../models/{base}", task_type="CAUSAL_LM", **options
    )
    model = get_peft_model(load(root, base), config)
    fill(model, index)
    model.peft_config["default"].base_model_name_or_path = f"../../models/{base}"
    model.to(getattr(torch, STORED.get(name, "float32")))
    model.save_pretrained(folder, safe_serialization=not pickled)
    for left in os.listdir(folder):
        if not left.startswith("adapter_"):
            os.remove(os.path.join(folder, left))
    loaded = PeftModel.from_pretrained(load(root, base), folder).eval()
    ids = [random.Random(100 * index + i).randrange(3, VOCAB) for i in range(N_IDS)]
    write_expected(folder, base, extra, ids, loaded, load(root, base))


def make_several(root: str, name: str, index: int) -> None:
    base, parts = SEVERAL[name]
    folder = os.path.join(root, "lora", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    names = [part for part, _ in parts]
    model = PeftModel.from_pretrained(
        load(root, base), os.path.join(root, "lora", names[0]), adapter_name=names[0]
    )
    for part in names[1:]:
        model.load_adapter(os.path.join(root, "lora", part), adapter_name=part)
    model.base_model.set_adapter(names)
    for module in model.modules():
        for part, factor in parts:
            scaling = getattr(module, "scaling", None)
            if isinstance(scaling, dict) and part in scaling:
                scaling[part] *= factor
    ids = [random.Random(100 * index + i).randrange(3, VOCAB) for i in range(N_IDS)]
    write_expected(
        folder,
        base,
        {"gguf": f"gguf/{base}.gguf", "adapters": parts},
        ids,
        model.eval(),
        load(root, base),
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="tests/parity")
    parser.add_argument("--only", default="*")
    options = parser.parse_args()
    for index, name in enumerate([*CASES, *SEVERAL]):
        if fnmatch.fnmatch(name, options.only):
            (make_case if name in CASES else make_several)(options.out, name, index)
            print(name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
