#!/usr/bin/env python3
"""Writes tests/lib/weights/data/quantized/: tiny checkpoints of every quantization scheme that is read.

Each folder holds config.json, model.safetensors and expected.safetensors, the dequantized weights as float32 (bfloat16 where
the reader gives bfloat16). Expected values come from the integers before they are packed;
tools/check_quantized_checkpoints.py compares them with what compressed-tensors, GPTQModel and transformers make of the
same files. The packing follows the file formats' descriptions; nothing is copied from those programs.

    python3 tools/make_quantized_checkpoints.py          needs torch and safetensors
"""

import json
import pathlib

import torch
from parity.words import in_awq_order, pack_words
from safetensors.torch import save_file

OUT = pathlib.Path(__file__).parent.parent / "tests/lib/weights/data/quantized"
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]


class Maker:
    def __init__(self, seed):
        self.random = torch.Generator().manual_seed(seed)
        self.tensors = {}
        self.expected = {}

    def codes(self, shape, bits):
        return torch.randint(0, 2**bits, shape, generator=self.random)

    def scales(self, shape, dtype=torch.float16):
        return (torch.rand(shape, generator=self.random) * 0.05 + 0.001).to(dtype)

    def plain(self, name, shape=(8,)):
        """A tensor that is not quantized."""
        self.tensors[name] = torch.randn(shape, generator=self.random).to(torch.float16)
        self.expected[name] = self.tensors[name].float()

    def integers(self, name, shape, bits, n_groups, zeros, scale_dtype=torch.float16, g_idx=None):  # noqa: PLR0913
        """Codes [out, in], scales and zeros [out, groups]; the expected value is scale * (code - zero) in float32."""
        n_rows, n_cols = shape
        codes = self.codes(shape, bits)
        scales = self.scales((n_rows, n_groups), scale_dtype)
        if zeros == "any":
            zeros = self.codes((n_rows, n_groups), bits)
            zeros[0, 0], zeros[1, 0] = 0, 2**bits - 1
        else:
            zeros = torch.full((n_rows, n_groups), 2 ** (bits - 1))
        if g_idx is None:
            group = torch.arange(n_cols) // (n_cols // n_groups)
        else:
            group = g_idx.long()
        self.expected[name + ".weight"] = (
            scales.float()[:, group] * (codes - zeros[:, group]).float()
        )
        return codes, scales, zeros

    def act_order(self, n_cols, n_groups):
        order = torch.randperm(n_cols, generator=self.random)
        g_idx = torch.empty(n_cols, dtype=torch.int32)
        g_idx[order] = (torch.arange(n_cols) // (n_cols // n_groups)).to(torch.int32)
        return g_idx

    def gptq(  # noqa: PLR0913
        self,
        name,
        shape,
        bits,
        n_groups,
        zeros,
        less_one=True,
        act_order=False,
        dtype=torch.float16,
    ):
        n_cols = shape[1]
        g_idx = self.act_order(n_cols, n_groups) if act_order else None
        codes, scales, zeros = self.integers(name, shape, bits, n_groups, zeros, dtype, g_idx)
        stored = (zeros - 1) % 2**bits if less_one else zeros
        if g_idx is None:
            g_idx = (torch.arange(n_cols) // (n_cols // n_groups)).to(torch.int32)
        self.tensors[name + ".qweight"] = pack_words(codes.T, bits, 0)
        self.tensors[name + ".qzeros"] = pack_words(stored.T, bits, 1)
        self.tensors[name + ".scales"] = scales.T.contiguous()
        self.tensors[name + ".g_idx"] = g_idx

    def awq(self, name, shape, n_groups):
        codes, scales, zeros = self.integers(name, shape, 4, n_groups, "any")
        self.tensors[name + ".qweight"] = pack_words(in_awq_order(codes.T), 4, 1)
        self.tensors[name + ".qzeros"] = pack_words(in_awq_order(zeros.T), 4, 1)
        self.tensors[name + ".scales"] = scales.T.contiguous()

    def packed(self, name, shape, bits, n_groups, zeros, dtype=torch.bfloat16, act_order=False):  # noqa: PLR0913
        """compressed-tensors, format pack-quantized."""
        g_idx = self.act_order(shape[1], n_groups) if act_order else None
        codes, scales, zeros_of = self.integers(name, shape, bits, n_groups, zeros, dtype, g_idx)
        self.tensors[name + ".weight_packed"] = pack_words(codes, bits, 1)
        self.tensors[name + ".weight_scale"] = scales
        self.tensors[name + ".weight_shape"] = torch.tensor(shape)
        if zeros == "any":
            self.tensors[name + ".weight_zero_point"] = pack_words(zeros_of, bits, 0)
        if g_idx is not None:
            self.tensors[name + ".weight_g_idx"] = g_idx

    def int8(self, name, shape, zeros, dtype=torch.float32):
        """compressed-tensors, format int-quantized."""
        codes, scales, zeros_of = self.integers(name, shape, 8, 1, zeros, dtype)
        self.tensors[name + ".weight"] = (codes - 128).to(torch.int8)
        self.tensors[name + ".weight_scale"] = scales
        if zeros == "any":
            self.tensors[name + ".weight_zero_point"] = (zeros_of - 128).to(torch.int8)

    def fp8(self, name, shape, scale, suffix, block=None, dtype=torch.float8_e4m3fn):
        values = torch.randn(shape, generator=self.random).mul(20).to(dtype)
        self.tensors[name] = values
        self.tensors[name + suffix] = scale
        full = scale.float()
        if block is not None:
            full = full.repeat_interleave(block[0], -2).repeat_interleave(block[1], -1)
            full = full[..., : shape[-2], : shape[-1]]
        self.expected[name] = (values.float() * full).to(torch.bfloat16)

    def mxfp4(self, name, shape):
        """[experts, rows, n] as the gpt-oss checkpoints hold it: neighbours share a byte."""
        codes = self.codes(shape, 4)
        exponents = torch.randint(118, 124, (*shape[:-1], shape[-1] // 32), generator=self.random)
        pairs = codes.reshape(*shape[:-1], -1, 16, 2)
        self.tensors[name + "_blocks"] = (pairs[..., 0] | pairs[..., 1] << 4).to(torch.uint8)
        self.tensors[name + "_scales"] = exponents.to(torch.uint8)
        scales = torch.exp2((exponents - 127).float()).repeat_interleave(32, -1)
        self.expected[name] = torch.tensor(E2M1)[codes] * scales

    def write(self, folder, quantization_config):
        path = OUT / folder
        path.mkdir(parents=True, exist_ok=True)
        config = {"model_type": "none", "quantization_config": quantization_config}
        (path / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        save_file(self.tensors, path / "model.safetensors")
        save_file(
            {k: v.contiguous() for k, v in self.expected.items()}, path / "expected.safetensors"
        )


def make_gptq():
    m = Maker(1)
    m.plain("norm.weight")
    m.plain("a.bias")
    m.gptq("a", (24, 64), 4, 2, "any")
    m.gptq("b", (8, 64), 4, 2, "middle", dtype=torch.bfloat16)
    m.gptq("c", (8, 96), 4, 3, "middle", act_order=True)
    del m.tensors["b.g_idx"]
    yield (
        "gptq",
        m,
        {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": True, "sym": False},
    )
    m = Maker(2)
    m.gptq("a", (8, 128), 8, 2, "any")
    yield "gptq_8bit", m, {
        "quant_method": "gptq", "bits": 8, "group_size": 64, "desc_act": False, "checkpoint_format": "gptq",
    }  # fmt: skip
    m = Maker(3)
    m.gptq("a", (8, 128), 4, 1, "any", less_one=False, dtype=torch.float32)
    yield "gptq_v2_row", m, {
        "quant_method": "gptq", "bits": 4, "group_size": -1, "desc_act": False, "checkpoint_format": "gptq_v2",
    }  # fmt: skip
    m = Maker(4)
    m.gptq("a", (8, 256), 4, 2, "middle")
    yield "gptq_128", m, {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False}


def make_others():
    m = Maker(5)
    m.plain("lm_head.weight", (4, 6))
    m.awq("a", (16, 128), 2)
    yield "awq", m, {
        "quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemm", "zero_point": True,
        "modules_to_not_convert": None,
    }  # fmt: skip
    m = Maker(6)
    m.plain("lm_head.weight", (4, 6))
    m.packed("group", (24, 64), 4, 2, "middle")
    m.packed("zeros", (12, 128), 4, 1, "any")
    m.packed("act", (8, 96), 4, 3, "middle", act_order=True)
    m.packed("wide", (6, 64), 8, 1, "any", torch.float32)
    m.int8("int8", (5, 64), "middle", torch.bfloat16)
    m.int8("int8z", (5, 64), "any")
    m.tensors["int8.input_scale"] = torch.ones(1)
    m.fp8("channel.weight", (5, 40), m.scales((5, 1), torch.bfloat16), "_scale")
    m.fp8(
        "tensor.weight", (3, 40), m.scales((1,), torch.float32), "_scale", dtype=torch.float8_e5m2
    )
    m.tensors["tensor.input_scale"] = torch.ones(1)
    yield "compressed_tensors", m, {
        "quant_method": "compressed-tensors", "format": "mixed-precision", "ignore": ["lm_head"],
        "config_groups": {
            "group_0": {
                "format": "pack-quantized", "targets": ["Linear"],
                "weights": {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32},
            }
        },
    }  # fmt: skip
    m = Maker(7)
    m.fp8("a.weight", (40, 80), m.scales((3, 3), torch.float32), "_scale_inv", (16, 32))
    m.fp8("experts.up", (2, 16, 64), m.scales((2, 1, 2), torch.float32), "_scale_inv", (16, 32))
    yield (
        "fp8",
        m,
        {"quant_method": "fp8", "weight_block_size": [16, 32], "activation_scheme": "dynamic"},
    )
    m = Maker(8)
    m.mxfp4("experts.gate_up_proj", (2, 6, 64))
    m.plain("experts.gate_up_proj_bias", (2, 6))
    yield (
        "mxfp4",
        m,
        {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]},
    )


def main():
    for make in (make_gptq, make_others):
        for name, maker, config in make():
            maker.write(name, config)


if __name__ == "__main__":
    main()
