#!/usr/bin/env python3
"""Writes docs/models.md: architectures, the formats they load from, and their distance from transformers.

  models_doc.py [--fathom build/release/fathom] [--check] [--jobs N]

Every model of tests/parity is run with `--compute f32`, whose bits are the same on every machine, so
the page is too. --check writes nothing and fails when the page is not what would be written, or when
a model is outside its tolerance. Called by .ci/run. Read next: check_oracle.py, tests/parity.
"""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import check_oracle
from lint import ROOT

PARITY = ROOT / "tests" / "parity"
PAGE = ROOT / "docs" / "models.md"
FORMS = {
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int8": "INT8 (compressed-tensors)",
    "gptq": "GPTQ",
    "gptq-file": "GPTQ (quantize_config.json)",
    "awq": "AWQ",
    "mxfp4": "MXFP4",
    "q8_0": "Q8_0 (GGUF)",
}
FLOATS = ("float32", "float16", "bfloat16")
HEAD = """# Models

Written by `tools/models_doc.py`; change that, not this page.

Decoders that Fathom loads as they are published, from a Hugging Face folder or a GGUF file. Each
number is the largest difference of any logit between `--compute f32` and transformers 5.24 in
float32, over all positions of the tiny models in `tests/parity` (logits there have a standard
deviation of 2; transformers in float64 differs from itself in float32 by about 1e-5). Those models
cover the settings that change an architecture's arithmetic: `tools/parity/` lists them.
Greedy tokens of all of them are transformers' as well.

"""
TAIL = """
- *variants*: how many tiny models of the architecture with different settings are compared.
- *folder*: config.json and safetensors; the types are those that the compared files hold. Every
  architecture loads from each type of weight; the table shows what was measured.
- *quantized*: compared with transformers on the dequantized weights.
- *GGUF*: a dash where no GGUF files of the architecture exist (mistral's have the architecture llama).
"""


def read_cases():
    """(name, form, path, expected folder, expected.json) of every file to load."""
    for folder in sorted((PARITY / "expected").iterdir()):
        expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        for path in expected["models"]:
            yield folder.name, expected["form"], PARITY / path, folder, expected
    index = json.loads((PARITY / "gguf" / "expected.json").read_text(encoding="utf-8"))
    for entry in index["files"]:
        folder = PARITY / entry["meets"]
        expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        form = "gguf" if expected["models"] else expected["form"]
        yield entry["file"], form, PARITY / "gguf" / entry["file"], folder, expected


def measure(fathom: str, case) -> tuple[float, str]:
    """The largest difference over a model's prompts, and what is wrong with it, if anything."""
    name, _, path, folder, expected = case
    worst = 0.0
    try:
        for prompt in expected["cases"].values():
            rows = check_oracle.logits_of(fathom, str(path), prompt["input_ids"])
            wanted = check_oracle.read_npy(str(folder / prompt["logits"]))
            worst = max(worst, check_oracle.compare(wanted, rows)[0])
    except (RuntimeError, ValueError, OSError, check_oracle.Refused) as error:
        return float("inf"), f"{name}: {error}"
    limit = expected["tolerance"]["logits_abs"]
    return worst, f"{name}: {worst:.1e} is above {limit:.1e}" if worst > limit else ""


def cell(found: dict[str, float]) -> str:
    """Types and the largest difference among them."""
    if not found:
        return "–"
    worst = max(found.values())
    types = ", ".join(FORMS[form] for form in FORMS if form in found)
    number = f"{worst:.1e}" if worst != float("inf") else "does not load"
    return f"{types} {number}".strip()


def table(results: list[tuple]) -> str:
    """`results`: (arch, form, difference) of each file."""
    lines = ["| architecture | variants | folder | quantized | GGUF |", "|---|---|---|---|---|"]
    for arch in sorted({row[0] for row in results}):
        groups: dict[str, dict[str, float]] = {"folder": {}, "quantized": {}, "gguf": {}}
        variants = 0
        for _, form, worst in (row for row in results if row[0] == arch):
            group = "folder" if form in FLOATS else "gguf" if form == "gguf" else "quantized"
            groups[group][form] = max(worst, groups[group].get(form, 0.0))
            variants += group == "folder"
        cells = [cell(groups[group]) for group in ("folder", "quantized", "gguf")]
        lines.append(f"| {arch} | {variants} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fathom", default=str(ROOT / "build" / "release" / "fathom"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    cases = list(read_cases())
    with ThreadPoolExecutor(options.jobs) as pool:
        measured = list(pool.map(lambda case: measure(options.fathom, case), cases))
    rows = [(case[4]["arch"], case[1], worst) for case, (worst, _) in zip(cases, measured)]
    faults = [fault for _, fault in measured if fault]
    page = HEAD + table(rows) + TAIL
    for fault in faults:
        print(f"models_doc: {fault[:300]}")
    if not options.check:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        faults.append("stale")
        print(f"models_doc: {PAGE.relative_to(ROOT)} is not current; run tools/models_doc.py")
    print(f"models_doc: {len(cases)} models, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
