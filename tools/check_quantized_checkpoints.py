#!/usr/bin/env python3
"""Compares tests/lib/weights/data/quantized/ with what the programs that write such files read from them.

    python3 tools/check_quantized_checkpoints.py

Needs torch, safetensors, transformers, compressed-tensors and gptqmodel (the sources are enough: on PYTHONPATH). Scales are
widened to float32 first: the programs round products to the scales' type, the project does not. Prints a line for each
tensor; exit status 1 when one differs.
"""

import ast
import importlib.util
import json
import pathlib
import sys
import types

import torch
from safetensors.torch import load_file

DATA = pathlib.Path(__file__).parent.parent / "tests/lib/weights/data/quantized"


def functions_of(path, names):
    """Some functions of a source file of gptqmodel, whose modules pull in much more than these need."""
    root = pathlib.Path(importlib.util.find_spec("gptqmodel").origin).parent
    wanted = []
    for node in ast.walk(ast.parse((root / path).read_text())):
        target = getattr(node, "targets", [None])[0]
        if getattr(node, "name", getattr(target, "id", None)) in names:
            node.decorator_list = []
            wanted.append(node)
    scope = {"torch": torch, "t": torch}
    exec(compile(ast.Module(wanted, []), path, "exec"), scope)  # the program under comparison
    return types.SimpleNamespace(**scope)


def gptq(tensors, name, config):
    linear = functions_of(
        "nn_modules/qlinear/__init__.py",
        ["dequantize_weight", "_dequantize_from_codes", "_torch_right_shift"],
    )
    bits = config["bits"]
    qweight, scales = tensors[name + ".qweight"], tensors[name + ".scales"].float()
    n_cols = qweight.shape[0] * 32 // bits
    groups = torch.arange(n_cols) // (n_cols // scales.shape[0])
    shifts = torch.arange(0, 32, bits, dtype=torch.int32)
    qzeros = tensors[name + ".qzeros"]
    if config.get("checkpoint_format", "gptq") == "gptq":
        # The program adds 1 to whole words, which is right only where no zero point is 0; here each field wraps.
        fields = (qzeros.unsqueeze(-1) >> shifts) + 1 & 2**bits - 1
        words = (fields.to(torch.int64) << shifts).sum(-1)
        qzeros = torch.where(words >= 2**31, words - 2**32, words).to(torch.int32)
    module = types.SimpleNamespace(
        planar=False,
        bits=bits,
        maxq=2**bits - 1,
        pack_factor=32 // bits,
        dequant_dtype=torch.int16 if bits == 8 else torch.int8,
        qweight=qweight,
        qzeros=qzeros,
        scales=scales,
        in_features=n_cols,
        g_idx=tensors.get(name + ".g_idx", groups),
        wf_unsqueeze_zero=shifts.reshape(1, 1, -1),
        wf_unsqueeze_neg_one=shifts.reshape(1, -1, 1),
        _init_wf_unsqueeze_buffers=lambda: None,
    )
    module._dequantize_from_codes = lambda w, z, num_itr: linear._dequantize_from_codes(
        module, w, z, num_itr
    )
    return linear.dequantize_weight(module).T


def awq(tensors, name, config):
    names = [
        "dequantize_gemm",
        "unpack_awq",
        "reverse_awq_order",
        "_unpack_columnwise",
        "AWQ_REVERSE_ORDER",
    ]
    code = functions_of("quantization/awq/utils/packing_utils.py", names)
    parts = tensors[name + ".qweight"], tensors[name + ".qzeros"]
    return code.dequantize_gemm(
        *parts, tensors[name + ".scales"].float(), 4, config["group_size"]
    ).T


def compressed(tensors, name):
    from compressed_tensors.compressors.naive_quantized.base import NaiveQuantizationCompressor
    from compressed_tensors.compressors.pack_quantized.base import PackedQuantizationCompressor
    from compressed_tensors.compressors.pack_quantized.helpers import (
        pack_to_int32,
        unpack_from_int32,
    )
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    parts = {k[len(name) + 1 :]: v for k, v in tensors.items() if k.startswith(name + ".")}
    scale = parts["weight_scale"] = parts["weight_scale"].float()
    options = {
        "symmetric": "weight_zero_point" not in parts,
        "type": "int",
        "num_bits": 8,
        "strategy": "channel",
    }
    compressor = NaiveQuantizationCompressor
    if "weight_packed" in parts:
        compressor = PackedQuantizationCompressor
        n_cols = int(parts["weight_shape"][1])
        options["num_bits"] = parts["weight_packed"].shape[1] * 32 // n_cols
        if scale.shape[1] > 1:
            options |= {"strategy": "group", "group_size": n_cols // scale.shape[1]}
    elif parts["weight"].dtype != torch.int8:
        options |= {"type": "float", "strategy": "channel" if scale.dim() == 2 else "tensor"}
    g_idx = parts.pop("weight_g_idx", None)
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**options))
    if g_idx is None:
        return compressor.decompress(parts, scheme)["weight"]
    # Newer versions know g_idx no more; older ones sorted the columns by group, and put them back.
    order = torch.argsort(g_idx, stable=True)
    bits, shape = options["num_bits"], parts["weight_shape"]
    codes = unpack_from_int32(parts["weight_packed"], bits, shape)
    parts["weight_packed"] = pack_to_int32(codes[:, order].contiguous(), bits)
    return compressor.decompress(parts, scheme)["weight"][:, torch.argsort(order)]


def fp8(tensors, name):
    from transformers.integrations.finegrained_fp8 import _dequantize_fp8_weight

    block = [16, 32]
    return _dequantize_fp8_weight(tensors[name], tensors[name + "_scale_inv"], block, torch.float32)


def mxfp4(tensors, name):
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    parts = tensors[name + "_blocks"], tensors[name + "_scales"]
    return convert_moe_packed_tensors(*parts, dtype=torch.float32).transpose(1, 2)


def reference(config, tensors, name):
    method, module = config["quant_method"], name.removesuffix(".weight")
    if method == "gptq":
        return gptq(tensors, module, config)
    if method == "awq":
        return awq(tensors, module, config)
    if method == "compressed-tensors":
        return compressed(tensors, module)
    return fp8(tensors, name) if method == "fp8" else mxfp4(tensors, name)


def main():
    n_different = 0
    for folder in sorted(DATA.iterdir()):
        config = json.loads((folder / "config.json").read_text())["quantization_config"]
        tensors = load_file(folder / "model.safetensors")
        for name, expected in load_file(folder / "expected.safetensors").items():
            if name in tensors and tensors[name].dtype == torch.float16:
                continue
            value = reference(config, tensors, name)
            different = (value.to(expected.dtype) != expected).sum().item()
            print(f"{folder.name:20} {name:24} {expected.numel()} values, {different} differ")
            n_different += different
    return n_different != 0


if __name__ == "__main__":
    sys.exit(main())
