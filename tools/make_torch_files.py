#!/usr/bin/env python3
"""Writes the files of torch.save that the tests read, and what their tensors hold.

  make_torch_files.py [tests/lib/weights/torch]

One state_dict with every element type, shared storages, views and a parameter: as a ZIP archive with
pickle protocol 2 and 4, and in the layout before torch 1.6. expected.txt lists name, type, shape and
bytes in order. Needs torch; storage keys of the old layout, which are addresses, are made steady.
"""

import collections
import os
import re
import sys

import torch

NAMES = {
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float64: "F64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "U8",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
}


def make_tensors():
    generator = torch.Generator().manual_seed(1)
    tensors = collections.OrderedDict()
    for dtype in NAMES:
        values = torch.randint(-4, 5, (2, 3), generator=generator)
        tensors[f"type.{str(dtype).removeprefix('torch.')}"] = values.to(dtype)
    grid = torch.arange(24, dtype=torch.float32).reshape(4, 6) / 8
    tensors["view.whole"] = grid
    tensors["view.transposed"] = grid.t()
    tensors["view.rows"] = grid[1:3]
    tensors["view.columns"] = grid[:, 2:5]
    tensors["view.cube"] = grid.reshape(2, 2, 6).permute(2, 0, 1)
    tensors["scalar"] = torch.tensor(2.5)
    tensors["parameter"] = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.bfloat16))
    tensors._metadata = collections.OrderedDict([("", {"version": 1})])
    return tensors


def steady_keys(data):
    """Replaces the address that names a storage by a number; the order of the keys stays."""
    pattern = re.compile(rb"X(.)\x00\x00\x00(\d{12,16})", re.DOTALL)
    found = {match.group(2) for match in pattern.finditer(data)}
    names = {old: b"%0*d" % (len(old), number) for number, old in enumerate(sorted(found))}
    return pattern.sub(lambda m: m.group(0).replace(m.group(2), names[m.group(2)]), data)


def bytes_of(tensor):
    return bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).tolist())


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "tests/lib/weights/torch"
    os.makedirs(root, exist_ok=True)
    tensors = make_tensors()
    torch.save(tensors, os.path.join(root, "zip.bin"))
    torch.save(tensors, os.path.join(root, "zip_protocol4.bin"), pickle_protocol=4)
    old = os.path.join(root, "old.bin")
    torch.save(tensors, old, _use_new_zipfile_serialization=False)
    with open(old, "rb") as file:
        data = steady_keys(file.read())
    with open(old, "wb") as file:
        file.write(data)
    with open(os.path.join(root, "expected.txt"), "w", encoding="utf-8") as file:
        for name, tensor in tensors.items():
            shape = "[" + ",".join(map(str, tensor.shape)) + "]"
            file.write(f"{name} {NAMES[tensor.dtype]} {shape} {bytes_of(tensor).hex()}\n")


if __name__ == "__main__":
    main()
