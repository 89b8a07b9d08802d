"""Writes a model folder as GGUF: names, row orders and merged tensors as files in use have them.

Called by make_parity_models.py. Read next: gguf_meta.py. Sources: the GGUF specification and gguf-py's
table of names. What differs from the safetensors file: rows of q and k of the families whose rope
turns neighbours (PAIRED), fused q|k|v regrouped, experts stacked, GPT-2's matrices transposed, norms
that add one written with it, llama3's and longrope's divisors as tensors.
"""

import os
import re

import gguf
import numpy
import torch
from safetensors.torch import load_file

from parity import gguf_meta

PAIRED = ("llama", "granite", "granitemoe", "smollm3", "olmo")
EXPERT = re.compile(r"(.*\.experts)\.(\d+)\.(.*)")
TURNED = re.compile(r"(c_attn|c_proj|c_fc)\.weight$")  # GPT-2's
ALWAYS_F32 = ("ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight", "position_embd.weight")


def to_pairs(tensor, heads: int):
    """Rows (head, half, i) to (head, i, half)."""
    rows = tensor.unflatten(0, (heads, 2, -1))
    return rows.transpose(1, 2).reshape(tensor.shape)


def regroup(tensor, groups: int, dim: int):
    """Rows of `groups` groups [q ..., k, v] to all q, all k, all v."""
    rows = tensor.unflatten(0, (groups, -1, dim))
    parts = (rows[:, :-2], rows[:, -2:-1], rows[:, -1:])
    return torch.cat([part.flatten(0, 2) for part in parts])


def stack_experts(tensors: dict) -> dict:
    """experts.N.NAME.weight to experts.NAME.weight [experts, out, in]; per-head norms alike."""
    merged, parts = {}, {}
    for name, tensor in tensors.items():
        match = EXPERT.match(name) or re.match(r"(.*layernorm)\.norms\.(\d+)\.(.*)", name)
        if match:
            parts.setdefault(f"{match[1]}.{match[3]}", {})[int(match[2])] = tensor
        else:
            merged[name] = tensor
    for name, by_index in parts.items():
        merged[name] = torch.stack([by_index[i] for i in range(len(by_index))])
    return merged


def split_gpt_oss(name: str, tensor):
    """gate_up_proj with interleaved columns, (experts, in, out)."""
    if name.endswith("_bias"):
        base = name.removesuffix("gate_up_proj_bias").removesuffix("down_proj_bias")
        if "down" in name:
            return {base + "down_proj.bias": tensor}
        return {base + "gate_proj.bias": tensor[..., ::2], base + "up_proj.bias": tensor[..., 1::2]}
    rows = tensor.transpose(1, 2)
    if name.endswith("down_proj"):
        return {name + ".weight": rows}
    base = name.removesuffix("gate_up_proj")
    return {base + "gate_proj.weight": rows[:, ::2], base + "up_proj.weight": rows[:, 1::2]}


def split_kv_b(name: str, tensor, config: dict) -> dict:
    """The latent's projection as k_b [heads, latent, nope] and v_b [heads, value, latent]."""
    heads, nope = config["num_attention_heads"], config["qk_nope_head_dim"]
    rows = tensor.unflatten(0, (heads, -1))
    return {
        name.replace("kv_b_proj", "k_b_proj"): rows[:, :nope].transpose(1, 2),
        name.replace("kv_b_proj", "v_b_proj"): rows[:, nope:],
    }


def reorder(name: str, tensor, config: dict, arch: str) -> dict:
    """One tensor (experts already stacked) as GGUF wants it: name in the checkpoint's style to tensor."""
    shape = gguf_meta.shape_keys(config)
    heads, dim = shape["attention.head_count"], gguf_meta.head_dim(config)
    if arch in PAIRED and re.search(r"[qk]_proj\.(weight|bias)$", name):
        kv = shape["attention.head_count_kv"]
        return {name: to_pairs(tensor, heads if ".q_proj" in name else kv)}
    if ".query_key_value." in name:
        groups = config.get("num_kv_heads", 1) if arch == "falcon" else heads
        return {name: regroup(tensor, groups, dim)}
    if arch == "gpt2" and TURNED.search(name):
        return {name: tensor.T}
    if arch in ("gemma", "gemma2", "gemma3", "nemotron") and name.endswith("norm.weight"):
        return {name: tensor.float() + 1}
    if arch == "gpt-oss" and re.search(r"experts\.(gate_up|down)_proj", name):
        return split_gpt_oss(name, tensor)
    if name.endswith("sinks"):
        return {name + ".weight": tensor}
    if name.endswith("e_score_correction_bias"):
        return {name.replace("e_score_correction_bias", "e_score_correction.bias"): tensor}
    if arch == "granitemoe" and name.endswith("input_linear.weight"):
        gate, up = tensor.chunk(2, dim=1)
        base = name.removesuffix("input_linear.weight")
        return {base + "input_linear.gate.weight": gate, base + "input_linear.up.weight": up}
    if arch == "deepseek2" and name.endswith("kv_b_proj.weight"):
        return split_kv_b(name, tensor, config)
    return {name: tensor}


def llama3_divisors(rope: dict, dim: int):
    """By how much llama3 scaling divides each frequency."""
    frequency = 1.0 / rope["rope_theta"] ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    turns = rope["original_max_position_embeddings"] * frequency / (2 * torch.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    blend = ((turns - low) / (high - low)).clamp(0, 1)
    return (1 / (blend + (1 - blend) / rope["factor"])).float()


def divisors(config: dict, arch: str) -> dict:
    rope = gguf_meta.rope_of(config)
    if rope["rope_type"] == "llama3":
        return {"rope_freqs.weight": llama3_divisors(rope, gguf_meta.head_dim(config))}
    if rope["rope_type"] == "longrope" and arch == "phi3":
        return {
            f"rope_factors_{k}.weight": torch.tensor(rope[f"{k}_factor"]) for k in ("long", "short")
        }
    return {}


# Names that gguf-py's table does not have.
EXTRA = {
    "input_linear.gate.weight": "ffn_gate_exps.weight",
    "input_linear.up.weight": "ffn_up_exps.weight",
    "output_linear.weight": "ffn_down_exps.weight",
}


def name_in_gguf(name: str, names) -> str:
    for ending, short in EXTRA.items():
        if name.endswith(ending):
            layer = re.search(r"layers\.(\d+)", name)
            return f"blk.{layer[1]}.{short}"
    for prefix in ("", "transformer."):
        found = names.get_name(name.removeprefix(prefix), try_suffixes=(".weight", ".bias"))
        if found:
            return found
    raise SystemExit(f"gguf-py has no name for {name}")


def convert(config: dict, tensors: dict) -> tuple[str, dict]:
    """GGUF names to tensors, in the type that the folder stores."""
    arch, keys = gguf_meta.metadata(config)
    kind = next(kind for kind, text in gguf.MODEL_ARCH_NAMES.items() if text == arch)
    names = gguf.get_tensor_name_map(kind, keys["block_count"])
    out = dict(divisors(config, arch))
    for name, tensor in stack_experts(tensors).items():
        for part, values in reorder(name, tensor, config, arch).items():
            out[name_in_gguf(part, names)] = values.contiguous()
    return arch, out


def add_key(writer, key: str, value) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, list):
        writer.add_array(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    else:
        writer.add_float32(key, value)


def type_of(name: str, tensor, stored, quantized: bool):
    """The type of a tensor in the file, as converters choose it."""
    kinds = gguf.GGMLQuantizationType
    is_matrix = tensor.dim() > 1 and name.endswith(".weight") and not name.endswith("norm.weight")
    if not is_matrix or name.split(".", 2)[-1] in ALWAYS_F32 or name in ALWAYS_F32:
        return kinds.F32
    if quantized:
        return kinds.Q8_0
    return {torch.float32: kinds.F32, torch.float16: kinds.F16, torch.bfloat16: kinds.BF16}[stored]


def write(entry, folder: str, path: str, quantized: bool = False) -> dict:
    """Writes the folder's model to `path`. With `quantized` matrices are Q8_0, and the result gives the
    values that they stand for under the folder's names (families whose matrices map one to one)."""
    tensors = load_file(os.path.join(folder, "model.safetensors"))
    arch, converted = convert(entry.config, tensors)
    writer = gguf.GGUFWriter(path, arch)
    keys = gguf_meta.vocabulary(entry.config)  # for all, as these files have no list of tokens
    for key, value in (gguf_meta.metadata(entry.config)[1] | keys).items():
        add_key(writer, f"{arch}.{key}", value)
    stored = getattr(torch, entry.store)
    values = {}
    for name, tensor in converted.items():
        kind = type_of(name, tensor, stored, quantized)
        data = tensor.float().numpy()
        packed = gguf.quants.quantize(data, kind)
        values[name] = torch.from_numpy(numpy.array(gguf.quants.dequantize(packed, kind)))
        writer.add_tensor(name, packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return restore(entry.config, tensors, values) if quantized else {}


def restore(config: dict, tensors: dict, values: dict) -> dict:
    """Values by the folder's names again (GPT-2's matrices transposed back)."""
    out = {}
    for name in tensors:
        one = convert_one(config, name, tensors)
        data = values[one]
        out[name] = data.T.contiguous() if TURNED.search(name) else data
    return out


def convert_one(config: dict, name: str, tensors: dict) -> str:
    """The GGUF name of one tensor of the folder."""
    return next(iter(convert(config, {name: tensors[name]})[1]))
