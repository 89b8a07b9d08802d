#!/usr/bin/env python3
"""Runs the reference continuations and exact token ids of a CASES.md against the program.

  check_cases.py CASES.md [--fathom build/release/fathom] [--model GGUF]

Read from its tables: rows "| G1 | `prompt` ... | ids or text |" (greedy, no BOS) and rows "| `text` | ids |" under
the heading of exact ids. Nothing of that file is kept here. Prints a line per case and a count; exit
status 1 when one differs.
"""

import argparse
import json
import os
import re
import subprocess
import sys

DEFAULT_MODEL = "~/.cache/fathom/models/SmolLM2-135M-Instruct.Q4_1.gguf"


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"exit {done.returncode}")
    return done.stdout


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def continuation(fathom, model, name, prompt, expected):
    """None, or what differs."""
    command = [fathom, "run", "-m", model, "--temp", "0", "--json", "-n", "24"]
    if prompt.startswith("chat "):
        message = json.loads(re.search(r"`(.*)`", prompt)[1])[0]["content"]
        answer = json.loads(run(*command, "-p", message))
        want = re.search(r"`([^`]+)`", expected)[1]
        count = int(re.search(r"(\d+) prompt tokens", prompt)[1])
        good = answer["text"] == want and answer["prompt_tokens"] == count
        return None if good else f"{answer['prompt_tokens']} prompt tokens, text {answer['text']!r}"
    text = re.search(r"`([^`]*)`", prompt)[1]
    answer = json.loads(run(*command, "--raw", "-p", text))
    ids = [int(number) for number in re.findall(r"`(\d+)", expected)]
    repeated = re.match(r"([\d ]+) repeated", expected)
    if repeated:
        unit = [int(number) for number in repeated[1].split()]
        ids = (unit * 24)[:24]
    if ids:
        return (
            None
            if answer["tokens"][: len(ids)] == ids
            else f"tokens {answer['tokens'][: len(ids)]}"
        )
    want = re.search(r"`([^`]+)`", expected)[1]
    return None if answer["text"].startswith(want) else f"text {answer['text']!r}"


def exact_ids(fathom, model, text, ids):
    request = json.dumps(
        {"id": 0, "op": "encode", "text": text, "add_special": False, "parse_special": False}
    )
    answer = json.loads(run(fathom, "tokenize", "-m", model, "--jsonl", text=request + "\n"))
    return None if answer.get("ids") == ids else f"ids {answer.get('ids')}"


def cases_of(path):
    """Yields (name, function of program and model that gives None or what differs)."""
    in_exact = False
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for line in lines:
        if line.startswith("**"):
            in_exact = "Exact ids" in line
        if not line.startswith("| "):
            continue
        cells = cells_of(line)
        if re.fullmatch(r"G\d+", cells[0]):
            yield cells[0], lambda f, m, c=cells: continuation(f, m, c[0], c[1], c[2])
        elif in_exact and len(cells) == 2 and cells[0].startswith("`"):
            texts = re.findall(r"`([^`]*)`", cells[0])
            for text, ids in zip(texts, cells[1].split(" / ")):
                decoded = text.replace("\\n", "\n").replace("\\t", "\t")
                numbers = [int(number) for number in ids.split()]
                yield f"ids of {text!r}", lambda f, m, t=decoded, n=numbers: exact_ids(f, m, t, n)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases")
    parser.add_argument("--fathom", default="build/release/fathom")
    parser.add_argument("--model", default=os.path.expanduser(DEFAULT_MODEL))
    options = parser.parse_args()
    n_run = n_bad = 0
    for name, check in cases_of(options.cases):
        n_run += 1
        try:
            wrong = check(options.fathom, options.model)
        except (RuntimeError, ValueError, KeyError) as error:
            wrong = str(error)
        n_bad += wrong is not None
        print(
            f"{'ok    ' if wrong is None else 'FAILED'} {name}{'' if wrong is None else ': ' + wrong}"
        )
    print(f"cases: {n_run - n_bad} of {n_run} hold")
    return 1 if n_bad or n_run == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
