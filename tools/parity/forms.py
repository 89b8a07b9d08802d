"""Quantized forms of a model folder: compressed-tensors INT8 per channel, GPTQ, AWQ, MXFP4 for gpt_oss.

Called by make_parity_models.py. All change the folder in place and give the values that the file
now stands for. Sources: compressed-tensors' "int-quantized" layout, the OCP Microscaling
specification 1.0 (section 5.3) for MXFP4.
"""

import json
import os
import re

import torch
from safetensors.torch import load_file, save_file

from parity import words

# Linear layers that stay as they are, and tensors that are no linear layers.
KEPT = re.compile(
    r"(lm_head|embed_out|embed|wte|wpe|embd|norm|ln_|\.ln|router|shared_expert_gate"
    r"|mlp\.gate\.|block_sparse_moe\.gate\.)"
)
E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])


def int8_config(ignored: list[str]) -> dict:
    def side(**more):
        base = {"num_bits": 8, "type": "int", "symmetric": True, "group_size": None}
        return base | {"actorder": None, "block_structure": None} | more

    group = {
        "targets": ["Linear"],
        "weights": side(strategy="channel", dynamic=False, observer="minmax"),
        "input_activations": side(strategy="token", dynamic=True, observer=None),
        "output_activations": None,
    }
    return {
        "quant_method": "compressed-tensors",
        "format": "int-quantized",
        "quantization_status": "compressed",
        "config_groups": {"group_0": group},
        "ignore": ignored,
        "kv_cache_scheme": None,
        "global_compression_ratio": None,
    }


def quantize_rows(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """int8 values and one bfloat16 scale for each row, [rows, 1]."""
    scale = (weight.float().abs().amax(1, keepdim=True) / 127).to(torch.bfloat16)
    return (weight.float() / scale.float()).round().clamp(-127, 127).to(torch.int8), scale


def is_linear(name: str, tensor) -> bool:
    return tensor.dim() == 2 and name.endswith(".weight") and not KEPT.search(name)


def quantize_int8(tensors: dict) -> tuple[dict, dict, list[str]]:
    stored, values, ignored = {}, {}, []
    for name, tensor in tensors.items():
        if not is_linear(name, tensor):
            stored[name] = values[name] = tensor
            if tensor.dim() == 2 and re.search(r"head|embed_out|gate\.weight|router", name):
                ignored.append(name.removesuffix(".weight"))
            continue
        integers, scale = quantize_rows(tensor)
        stored[name], stored[name + "_scale"] = integers, scale
        values[name] = integers.float() * scale.float()
    return stored, values, ignored


def quantize_mxfp4(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """[..., n] to blocks [..., n / 32, 16] (low nibble first), scales [..., n / 32], values [..., n]."""
    groups = rows.float().unflatten(-1, (-1, 32))
    exponent = torch.floor(torch.log2(groups.abs().amax(-1).clamp_min(1e-20))) - 2
    scaled = groups / torch.exp2(exponent)[..., None]
    nearest = (scaled.abs()[..., None] - E2M1).abs().argmin(-1)
    codes = nearest + 8 * (scaled < 0)
    blocks = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)
    values = E2M1[nearest] * torch.where(scaled < 0, -1.0, 1.0) * torch.exp2(exponent)[..., None]
    return blocks, (exponent + 127).to(torch.uint8), values.flatten(-2)


def quantize_experts(tensors: dict) -> tuple[dict, dict]:
    """gpt_oss's experts: (E, in, out) in memory, blocks (E, out, in / 32, 16) in the file."""
    stored, values = {}, {}
    for name, tensor in tensors.items():
        if name.endswith(("gate_up_proj", "down_proj")):
            blocks, scales, rows = quantize_mxfp4(tensor.float().transpose(1, 2))
            stored[name + "_blocks"], stored[name + "_scales"] = blocks, scales
            values[name] = rows.transpose(1, 2)
        else:
            stored[name] = values[name] = tensor
    return stored, values


def quantize_words(tensors: dict, form: str) -> tuple[dict, dict]:
    stored, values = {}, {}
    for name, tensor in tensors.items():
        if not is_linear(name, tensor):
            stored[name] = values[name] = tensor
            continue
        module = name.removesuffix("weight")
        parts, values[name] = getattr(words, form.partition("-")[0])(module, tensor)
        stored |= {module + part: content for part, content in parts.items()}
    return stored, values


def quantize(entry, folder: str) -> dict:
    """Rewrites a folder in entry.quantized's form; the values that it stands for, by name."""
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path)
    config = dict(entry.config)
    if entry.quantized == "mxfp4":
        stored, values = quantize_experts(tensors)
        kept = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens"]
        config["quantization_config"] = {
            "quant_method": "mxfp4",
            "modules_to_not_convert": [*kept, "lm_head"],
        }
    elif entry.quantized in words.CONFIGS:
        stored, values = quantize_words(tensors, entry.quantized)
        settings, own_file = words.CONFIGS[entry.quantized], words.OWN_FILE.get(entry.quantized)
        if own_file:
            with open(os.path.join(folder, own_file), "w") as file:
                json.dump(settings, file, indent=1)
                file.write("\n")
        else:
            config["quantization_config"] = settings
    else:
        stored, values, ignored = quantize_int8(tensors)
        config["quantization_config"] = int8_config(ignored)
    save_file(
        {name: tensor.contiguous() for name, tensor in stored.items()}, path, {"format": "pt"}
    )
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1)
        file.write("\n")
    return values


def write_plain(folder: str, values: dict, plain: str) -> None:
    """A float32 folder with these values, for transformers to load."""
    os.makedirs(plain)
    tensors = {name: tensor.float().contiguous() for name, tensor in values.items()}
    save_file(tensors, os.path.join(plain, "model.safetensors"), {"format": "pt"})
