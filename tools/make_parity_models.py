#!/usr/bin/env python3
"""Makes the tiny models of tests/parity and what transformers computes for them.

  make_parity_models.py [--out tests/parity] [--only GLOB] [--list]

Needs torch, transformers, safetensors, gguf and numpy; tests need none of them. Writes, laid out as
tools/check_oracle.py reads it:
  models/NAME/             config.json as published checkpoints have it, model.safetensors
  gguf/NAME.gguf           the same values as GGUF; gguf/expected.json names what each must meet
  expected/NAME/           expected.json (ids, greedy tokens, tolerance), logits.npy [positions, vocabulary]
For an architecture's quantized form NAME ends in -int8, -gptq, -awq, -mxfp4 or -q8_0.
Seeds are tried in order until every greedy token leads clearly, cached and whole decoding agree, and
routers keep their choice under noise; the seed stands in expected.json.
Read next: tools/parity/table.py (the models), fill.py (their weights), forms.py, gguf_form.py.
"""

import argparse
import dataclasses
import fnmatch
import json
import os
import random
import shutil
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy
import torch
from parity import fill, forms, gguf_form, reference, table, table_layernorm, table_rms
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import logging

LEAD = 0.03  # of the best greedy token
NOISE, MAX_NOISE = 1e-6, 2e-4
MAX_TRIES = 80


class Unfit(Exception):
    """This seed's model has a near tie or another flaw; the next seed may do."""


def fill_table() -> list[table.Entry]:
    for module in (table, table_layernorm, table_rms):
        for name, function in vars(module).items():
            if name.startswith("add_"):
                function()
    return table.ENTRIES


def ids_of(n: int, seed: int) -> list[int]:
    return [random.Random(seed + i).randrange(3, table.VOCAB) for i in range(n)]


def write_config(folder: str, config: dict) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1)
        file.write("\n")


def transformers_config(entry: table.Entry) -> dict:
    """The config with the class names that transformers itself uses."""
    own = {"MPTForCausalLM": "MptForCausalLM", "PhiMoEForCausalLM": "PhimoeForCausalLM"}
    name = entry.config["architectures"][0]
    return entry.config | {"architectures": [own.get(name, name)]}


def build(entry: table.Entry, seed: int, folder: str) -> None:
    """A folder with the random model of a seed, values rounded to the type that is stored."""
    write_config(folder, transformers_config(entry))
    config = AutoConfig.from_pretrained(folder)
    model = AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, attn_implementation=entry.attention
    ).eval()
    dtype = getattr(torch, entry.store)
    fill.fill(model, seed)
    fill.calibrate(model, torch.tensor([ids_of(entry.lengths[0], seed)]))
    fill.round_to(model, dtype)
    model.to(dtype).save_pretrained(folder)
    for name in os.listdir(folder):
        if name not in ("config.json", "model.safetensors"):
            os.remove(os.path.join(folder, name))
    write_config(folder, entry.config)


def check_wrong(entry: table.Entry, folder: str, ids: list[int], right, tolerance: float) -> dict:
    """Largest change of a logit for each mistake of entry.wrong."""
    found = {}
    for change in entry.wrong:
        shutil.rmtree(folder + "-wrong", ignore_errors=True)
        shutil.copytree(folder, folder + "-wrong")
        write_config(folder + "-wrong", entry.config | change)
        model = reference.load(folder + "-wrong", entry.attention)
        moved = (reference.logits(model, ids) - right).abs().max().item()
        if moved < 5 * tolerance:
            raise Unfit(f"{change} moves the logits by {moved:.1e} only")
        found[json.dumps(change)] = float(f"{moved:.3g}")
    return found


def expect_case(entry: table.Entry, folder: str, ids: list[int]) -> tuple[dict, torch.Tensor, dict]:
    """One case of expected.json, its logits and the figures that tell whether the seed is fit."""

    def fresh():
        return reference.load(folder, entry.attention)

    rows = reference.logits(fresh(), ids)
    whole, lead = reference.greedy_whole(fresh, ids, entry.by_length)
    if not entry.by_length:
        cached, cached_lead = reference.greedy_cached(fresh(), ids)
        if cached != whole:
            raise Unfit("cached and whole decoding differ")
        lead = min(lead, cached_lead)
    if lead < LEAD:
        raise Unfit(f"a greedy token leads by {lead:.3f} only")
    if len(set(whole)) < 3:
        raise Unfit("greedy tokens repeat")
    noise = reference.perturbed(fresh(), ids + whole[:-1], NOISE)
    if noise > MAX_NOISE:
        raise Unfit(f"noise of {NOISE} moves the logits by {noise:.1e}")
    exact = (reference.logits(fresh(), ids, double=True) - rows).abs().max().item()
    if exact > 1e-4:
        raise Unfit(f"float64 differs by {exact:.1e}")
    figures = {"float64": exact, "lead": lead, "spread": rows.std().item()}
    return {"input_ids": ids, "greedy": whole}, rows, figures


def expect(entry: table.Entry, reference_folder: str, seed: int, out: str) -> dict:
    """Writes expected/NAME; gives its expected.json."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    n_long, n_short = entry.lengths
    lengths = {"long": n_long, "short": n_short} if entry.by_length else {"long": n_long}
    cases, worst, all_figures = {}, 0.0, {}
    for name, length in lengths.items():
        case, rows, figures = expect_case(entry, reference_folder, ids_of(length, seed))
        case["logits"] = f"logits_{name}.npy"
        numpy.save(os.path.join(out, case["logits"]), rows.numpy().astype("<f4"))
        cases[name], worst = case, max(worst, figures["float64"])
        all_figures[name] = {key: float(f"{value:.3g}") for key, value in figures.items()}
        if name == "long":
            right = rows
    tolerance = max(2e-4, 10 * worst)
    wrong = check_wrong(entry, reference_folder, ids_of(n_long, seed), right, tolerance)
    return {
        "seed": seed,
        "cases": cases,
        "figures": all_figures,
        "sensitivity": wrong,
        "tolerance": {"logits_abs": float(f"{tolerance:.3g}"), "kl": 1e-6},
    }


def write_expected(folder: str, name: str, entry: table.Entry, expected: dict) -> None:
    form = name.removeprefix(entry.name).removeprefix("-") or entry.store
    expected = {"models": [f"models/{name}"], "arch": entry.arch, "form": form, **expected}
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump(expected, file)
        file.write("\n")


def try_seeds(attempt, label: str) -> None:
    reasons = []
    for seed in range(1, MAX_TRIES + 1):
        try:
            figures = attempt(seed)
            print(f"{label:28} seed {seed:3}  {figures}", flush=True)
            return
        except Unfit as reason:
            reasons.append(str(reason))
    raise SystemExit(f"{label}: no seed up to {MAX_TRIES} is fit: {reasons[:8]}")


def make_float(entry: table.Entry, out: str, work: str) -> None:
    def attempt(seed):
        folder = os.path.join(work, entry.name)
        shutil.rmtree(folder, ignore_errors=True)
        build(entry, seed, folder)
        expected_folder = os.path.join(out, "expected", entry.name)
        expected = expect(entry, folder, seed, expected_folder)
        write_expected(expected_folder, entry.name, entry, expected)
        target = os.path.join(out, "models", entry.name)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
        if entry.gguf:
            gguf_form.write(entry, target, os.path.join(out, "gguf", entry.name + ".gguf"))
        return expected["figures"]["long"]

    try_seeds(attempt, entry.name)


def shortened(entry: table.Entry) -> table.Entry:
    """One layer of two that are alike: the quantized form need not be larger. Rows of whole blocks."""
    config = dict(entry.config)
    for key, odd, even in (("head_dim", 12, 16), ("v_head_dim", 12, 8)):
        if config.get(key) == odd:
            config[key] = even
    if not {"first_k_dense_replace", "layer_types"} & config.keys():
        for key in ("num_hidden_layers", "n_layer", "n_layers"):
            if config.get(key) == 2:
                config[key] = 1
    return dataclasses.replace(entry, config=config, wrong=[])


def make_quantized(entry: table.Entry, out: str, work: str) -> None:
    """The quantized form: stored by forms.py or gguf_form.py, expected from its dequantized values."""
    name, entry = f"{entry.name}-{entry.quantized}", shortened(entry)

    def attempt(seed):
        folder, plain = os.path.join(work, name), os.path.join(work, name + "-plain")
        for path in (folder, plain):
            shutil.rmtree(path, ignore_errors=True)
        build(entry, 1000 + seed, folder)
        if entry.quantized == "q8_0":
            values = gguf_form.write(entry, folder, os.path.join(out, "gguf", name + ".gguf"), True)
        else:
            values = forms.quantize(entry, folder)
        forms.write_plain(folder, values, plain)
        write_config(plain, entry.config | {"torch_dtype": "float32"})
        expected_folder = os.path.join(out, "expected", name)
        expected = expect(entry, plain, 1000 + seed, expected_folder)
        write_expected(expected_folder, name, entry, expected)
        target = os.path.join(out, "models", name)
        shutil.rmtree(target, ignore_errors=True)
        if entry.quantized != "q8_0":
            shutil.copytree(folder, target)
        return expected["figures"]["long"]

    try_seeds(attempt, name)


def write_gguf_index(out: str) -> None:
    """gguf/expected.json as the oracle has it; expectations without a folder lose their models."""
    files = []
    for file in sorted(os.listdir(os.path.join(out, "gguf"))):
        if not file.endswith(".gguf"):
            continue
        name = file.removesuffix(".gguf")
        path = os.path.join(out, "expected", name, "expected.json")
        with open(path) as text:
            expected = json.load(text)
        if not os.path.isdir(os.path.join(out, "models", name)):
            expected["models"] = []
            with open(path, "w") as text:
                json.dump(expected, text)
                text.write("\n")
        files.append({"file": file, "meets": f"expected/{name}"})
    with open(os.path.join(out, "gguf", "expected.json"), "w") as text:
        json.dump({"files": files}, text, indent=1)
        text.write("\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="tests/parity")
    parser.add_argument("--only", action="append", default=[], help="glob of names")
    parser.add_argument("--list", action="store_true", help="names only")
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    os.makedirs(os.path.join(options.out, "gguf"), exist_ok=True)

    def wanted(name):
        return not options.only or any(fnmatch.fnmatch(name, glob) for glob in options.only)

    with tempfile.TemporaryDirectory() as work:
        for entry in fill_table():
            forms_of = [dataclasses.replace(entry, quantized=f) for f in entry.quantized.split()]
            if options.list:
                print(entry.name, *(f"{entry.name}-{one.quantized}" for one in forms_of), sep="\n")
                continue
            if wanted(entry.name):
                make_float(entry, options.out, work)
            for one in forms_of:
                if wanted(f"{entry.name}-{one.quantized}"):
                    make_quantized(one, options.out, work)
    if not options.list:
        write_gguf_index(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
