#!/usr/bin/env python3
"""Runs a folder of oracle models through Fathom and compares logits and greedy tokens with it.

  check_oracle.py DIR [--fathom build/release/fathom] [--only GLOB] [--at-least N] [--jobs N]

DIR holds models/, expected/, gguf/ and lora/ as a numeric oracle lays them out (tests/parity is one):
every expected/NAME/expected.json names its model folders, token ids, logits (.npy) and tolerances. Logits are computed with `--compute f32`; greedy tokens with prefill and the KV cache;
adapters beside the weights and merged. A model whose architecture or rope scaling Fathom refuses by
name counts as refused, any other failure as failed.
Where rope grows with the length (expectations with `greedy_uncached`), transformers changes it while
it decodes and Fathom does not: there greedy tokens must be those of one pass of the planned length.
Prints a table and a count; exit status 1 when anything failed or fewer than N passed.
"""

import argparse
import array
import ast
import fnmatch
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

REFUSALS = ("is not supported yet", "are not supported yet", "are not read;")


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    size, at = (
        (struct.unpack("<H", data[8:10])[0], 10)
        if data[6] == 1
        else (struct.unpack("<I", data[8:12])[0], 12)
    )
    header = ast.literal_eval(data[at : at + size].decode("latin1"))
    if header["descr"] != "<f4" or header["fortran_order"]:
        raise ValueError(f"{path}: expected little-endian float32 in C order")
    rows, cols = header["shape"][-2:]
    values = array.array("f")
    values.frombytes(data[at + size : at + size + 4 * rows * cols])
    return [values[i * cols : (i + 1) * cols] for i in range(rows)]


def log_softmax(row):
    top = max(row)
    total = math.log(sum(math.exp(value - top) for value in row))
    return [value - top - total for value in row]


def compare(expected, found):
    """Largest absolute difference and largest KL divergence over all rows."""
    if len(expected) != len(found) or len(expected[0]) != len(found[0]):
        raise ValueError(
            f"shape [{len(found)}, {len(found[0])}], expected [{len(expected)}, {len(expected[0])}]"
        )
    worst = kl = 0.0
    for want, got in zip(expected, found):
        worst = max(worst, max(abs(a - b) for a, b in zip(want, got)))
        if any(math.isnan(value) for value in got):
            return math.inf, math.inf
        p, q = log_softmax(want), log_softmax(got)
        kl = max(kl, sum(math.exp(a) * (a - b) for a, b in zip(p, q)))
    return worst, kl


class Refused(Exception):
    pass


def run(fathom, *arguments):
    done = subprocess.run([fathom, *arguments], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        text = done.stderr.strip() or f"exit {done.returncode}"
        raise Refused(text) if any(word in text for word in REFUSALS) else RuntimeError(text)
    return done.stdout


def logits_of(fathom, model, ids, extra=()):
    """Rows of one pass over `ids`."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "logits.npy")
        given = ["-m", model, "--ids", ",".join(map(str, ids)), "--compute", "f32", *extra]
        run(fathom, "logits", *given, "--out", out)
        return read_npy(out)


def check_logits(fathom, model, ids, want, tolerance, extra=()):
    """The largest difference. Error: RuntimeError beyond the tolerance."""
    worst, kl = compare(read_npy(want), logits_of(fathom, model, ids, extra))
    if worst > tolerance["logits_abs"] or kl > tolerance["kl"]:
        raise RuntimeError(f"largest difference {worst:.2e}, KL {kl:.2e}; allowed {tolerance}")
    return worst


def greedy_tokens(fathom, model, ids, n, extra=()):
    given = ["-m", model, "--ids", ",".join(map(str, ids)), "-n", str(n), "--compute", "f32"]
    text = run(fathom, "run", *given, "--temp", "0", "--ignore-eos", "--json", *extra)
    return json.loads(text)["tokens"]


def check_greedy(fathom, model, case, extra=()):
    ids, wanted = case["input_ids"], case["greedy"]
    tokens = greedy_tokens(fathom, model, ids, len(wanted), extra)
    if "greedy_uncached" in case:
        rows = logits_of(fathom, model, ids + tokens)[len(ids) - 1 : -1]
        wanted = [max(range(len(row)), key=row.__getitem__) for row in rows]
    if tokens != wanted:
        raise RuntimeError(f"greedy tokens differ: {tokens} for {wanted}")


def check_folder(fathom, root, expected_dir, model):
    with open(os.path.join(expected_dir, "expected.json")) as file:
        expected = json.load(file)
    worst = 0.0
    for case in expected["cases"].values():
        logits = os.path.join(expected_dir, case["logits"])
        worst = max(
            worst,
            check_logits(
                fathom, os.path.join(root, model), case["input_ids"], logits, expected["tolerance"]
            ),
        )
        check_greedy(fathom, os.path.join(root, model), case)
    return worst


def check_adapter(fathom, root, folder):
    """Adapters beside the weights, with greedy tokens, and merged into them. "adapters" names other
    folders with factors; "merge_only": Fathom cannot keep this one beside the weights."""
    with open(os.path.join(folder, "expected.json")) as file:
        case = json.load(file)
    model, ids, tolerance = os.path.join(root, case["base"]), case["input_ids"], case["tolerance"]
    worst = 0.0
    lora = os.path.dirname(folder)
    given_adapters = ["--lora", folder]
    if "adapters" in case:
        given_adapters = [
            word
            for name, scale in case["adapters"]
            for word in ("--lora", f"{os.path.join(lora, name)}={scale}")
        ]
    ways = [(case["logits_adapter"], ()), (case["logits_merged"], ("--merge-lora",))]
    for want, extra in ways[1:] if case.get("merge_only") else ways:
        given = (*given_adapters, *extra)
        found = check_logits(fathom, model, ids, os.path.join(folder, want), tolerance, given)
        worst = max(worst, found)
    check_greedy(fathom, model, case, given if case.get("merge_only") else given_adapters)
    return worst


def jobs_of(root):
    """Yields (name, function that checks it and returns the largest difference)."""
    lora = os.path.join(root, "lora")
    for name in sorted(os.listdir(lora)) if os.path.isdir(lora) else []:
        folder = os.path.join(lora, name)
        yield f"lora/{name}", lambda f, d=folder: check_adapter(f, root, d)
    for name in sorted(os.listdir(os.path.join(root, "expected"))):
        folder = os.path.join(root, "expected", name)
        with open(os.path.join(folder, "expected.json")) as file:
            models = json.load(file)["models"]
        for model in models:
            yield os.path.basename(model), lambda f, d=folder, m=model: check_folder(f, root, d, m)
    with open(os.path.join(root, "gguf", "expected.json")) as file:
        entries = json.load(file)["files"]
    for entry in entries:
        model = os.path.join("gguf", entry["file"])
        if "meets" in entry:
            folder = os.path.join(root, entry["meets"])
            yield entry["file"], lambda f, d=folder, m=model: check_folder(f, root, d, m)
        else:
            logits = os.path.join(root, "gguf", entry["logits"])
            yield (
                entry["file"],
                lambda f, e=entry, m=model, x=logits: check_logits(
                    f, os.path.join(root, m), e["input_ids"], x, e["tolerance"]
                ),
            )


def outcome(fathom, job):
    name, check = job
    try:
        return name, "ok", f"{check(fathom):.1e}"
    except Refused as refusal:
        return name, "refused", str(refusal)
    except (RuntimeError, ValueError, OSError, KeyError, subprocess.TimeoutExpired) as error:
        return name, "FAILED", str(error)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dir")
    parser.add_argument("--fathom", default="build/release/fathom")
    parser.add_argument(
        "--only", action="append", default=[], help="glob of model names; may be repeated"
    )
    parser.add_argument("--at-least", type=int, default=0, help="how many must pass")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    jobs = [
        job
        for job in jobs_of(options.dir)
        if not options.only or any(fnmatch.fnmatch(job[0], glob) for glob in options.only)
    ]
    counts = {"ok": 0, "refused": 0, "FAILED": 0}
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, status, detail in pool.map(lambda job: outcome(options.fathom, job), jobs):
            counts[status] += 1
            print(f"{status:8} {name:32} {detail[:200]}", flush=True)
    print(
        f"oracle: {counts['ok']} agree, {counts['FAILED']} differ, {counts['refused']} refused by name"
    )
    if counts["ok"] < options.at_least:
        print(f"oracle: expected at least {options.at_least} to agree")
        return 1
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
