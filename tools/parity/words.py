"""Integer checkpoints whose codes lie in 32-bit words: GPTQ, also as it was before config.json named it, and AWQ.

Called by forms.py and make_quantized_checkpoints.py. The layouts follow the formats' descriptions in
lib/weights/quantized_gptq.cc; tools/check_quantized_checkpoints.py compares them with the programs in use.
"""

import torch

AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # column that field i of an AWQ word holds
BITS, GROUP = 4, 32


def pack_words(codes, bits, dim):
    """Unsigned codes along `dim` into int32 words, the first code in the lowest bits, the last word filled with zeros."""
    per_word = 32 // bits
    codes = codes.movedim(dim, -1).to(torch.int64)
    short = -codes.shape[-1] % per_word
    codes = torch.nn.functional.pad(codes, (0, short))
    fields = codes.reshape(*codes.shape[:-1], -1, per_word)
    words = sum(fields[..., i] << (bits * i) for i in range(per_word))
    words = torch.where(words >= 2**31, words - 2**32, words).to(torch.int32)
    return words.movedim(-1, dim).contiguous()


def in_awq_order(lines):
    """Fields of each eight columns as AWQ packs them."""
    return lines.reshape(lines.shape[0], -1, 8)[:, :, AWQ_ORDER].reshape(lines.shape)


def group_of_columns(n_cols: int, name: str, act_order: bool):
    """The group of each column: runs of GROUP, or with act-order as many anywhere."""
    groups = torch.arange(n_cols) // GROUP
    if not act_order:
        return groups
    random = torch.Generator().manual_seed(sum(name.encode()))
    return groups[torch.randperm(n_cols, generator=random)]


def quantize(weight, groups):
    """Codes [out, in], float16 scales and zeros [out, groups], and the values that they stand for."""
    n_groups = int(groups.max()) + 1
    columns = [weight.float()[:, groups == g] for g in range(n_groups)]
    low = torch.stack([part.amin(1).clamp_max(0) for part in columns], 1)
    high = torch.stack([part.amax(1).clamp_min(0) for part in columns], 1)
    largest = 2**BITS - 1
    scales = ((high - low) / largest).clamp_min(1e-4).to(torch.float16)
    zeros = (-low / scales.float()).round().clamp(0, largest)
    codes = (weight.float() / scales.float()[:, groups]).round() + zeros[:, groups]
    codes = codes.clamp(0, largest)
    values = scales.float()[:, groups] * (codes - zeros[:, groups])
    return codes.long(), scales, zeros.long(), values


def gptq(name: str, weight):
    """Parts of NAME.weight by their endings, act-order, and its values."""
    groups = group_of_columns(weight.shape[1], name, act_order=True)
    codes, scales, zeros, values = quantize(weight, groups)
    parts = {
        "qweight": pack_words(codes.T, BITS, 0),
        "qzeros": pack_words((zeros - 1).T % 2**BITS, BITS, 1),
        "scales": scales.T,
        "g_idx": groups.to(torch.int32),
    }
    return parts, values


def awq(name: str, weight):
    groups = group_of_columns(weight.shape[1], name, act_order=False)
    codes, scales, zeros, values = quantize(weight, groups)
    parts = {
        "qweight": pack_words(in_awq_order(codes.T), BITS, 1),
        "qzeros": pack_words(in_awq_order(zeros.T), BITS, 1),
        "scales": scales.T,
    }
    return parts, values


# What quantization_config says, or the quantizer's own file (its name).
CONFIGS = {
    "gptq": {
        "quant_method": "gptq",
        "bits": BITS,
        "group_size": GROUP,
        "desc_act": True,
        "sym": False,
    },
    "gptq-file": {
        "bits": BITS,
        "group_size": GROUP,
        "damp_percent": 0.01,
        "desc_act": True,
        "sym": False,
        "true_sequential": True,
        "model_name_or_path": None,
        "model_file_base_name": "model",
    },
    "awq": {
        "quant_method": "awq",
        "bits": BITS,
        "group_size": GROUP,
        "version": "gemm",
        "zero_point": True,
        "modules_to_not_convert": None,
    },
}
OWN_FILE = {"gptq-file": "quantize_config.json"}
