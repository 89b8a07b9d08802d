#!/usr/bin/env python3
"""Runs a corpus of tokenizer cases through the tokenizer and prints a table and a count.

    tools/check_corpus.py DIR [--engine 'PROGRAM -m {vocab} --jsonl'] [--family NAME] [--show N]

DIR holds one folder a family (or a folder `tokenizers` or `public/tokenizers` that does), each with
meta.json (its vocabulary files), cases.jsonl (text or bytes_hex, add_special, parse_special, ids, sometimes
ids_any, decoded, decoded_any, may_error) and the vocabulary files. A case passes when the ids are the ones
expected and, where the family's decoding is exact, decoding them gives the expected text. Every vocabulary
file of a family runs all its cases. Nothing of the corpus is kept here. Exit status 1 when a case fails, 2
when there is none.
"""

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILDS = ("release", "dev")


def default_engine():
    for build in BUILDS:
        program = ROOT / "build" / build / "fathom"
        if program.exists():
            return f"{program} tokenize -m {{vocab}} --jsonl"
    sys.exit("check_corpus: build the target fathom_cli first, or give --engine")


def find_families(folder):
    for place in (folder / "public" / "tokenizers", folder / "tokenizers", folder):
        families = sorted(path.parent for path in place.glob("*/meta.json"))
        if families:
            return families
    return []


def requests_of(cases, decodes):
    for number, case in enumerate(cases):
        request = {
            key: case[key]
            for key in ("text", "bytes_hex", "add_special", "parse_special")
            if key in case
        }
        yield {"id": 2 * number, "op": "encode", **request}
        if decodes and case.get("decoded") is not None:
            yield {"id": 2 * number + 1, "op": "decode", "ids": case["ids"]}


def ask(engine, vocabulary, requests):
    command = [word.replace("{vocab}", str(vocabulary)) for word in shlex.split(engine)]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=900)
    answers = {}
    for line in filter(None, done.stdout.split("\n")):
        answer = json.loads(line)
        answers[answer["id"]] = answer
    return answers, done.stderr.strip() if done.returncode != 0 else ""


def fault_of(number, case, answers, decodes):
    """None, or what differs."""
    answer = answers.get(2 * number, {})
    if "error" in answer and case.get("may_error"):
        return None
    if answer.get("ids") not in case.get("ids_any", [case["ids"]]):
        return f"ids {answer.get('ids', answer)}, expected {case['ids']}"
    if not decodes or case.get("decoded") is None:
        return None
    text = answers.get(2 * number + 1, {}).get("text")
    if text not in case.get("decoded_any", [case["decoded"]]):
        return f"decodes to {text!r}, expected {case['decoded']!r}"
    return None


def run_family(folder, options):
    """(runs, runs that passed, cases, vocabulary files) of a family: each file runs all cases."""
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    lines = (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines if line.strip()]
    decodes = meta.get("decode", "exact") == "exact"
    total = passed = 0
    for file in meta["vocab_files"]:
        begin = time.monotonic()
        answers, trouble = ask(options.engine, folder / file["file"], requests_of(cases, decodes))
        faults = [
            (case, fault_of(number, case, answers, decodes)) for number, case in enumerate(cases)
        ]
        failed = [(case, fault) for case, fault in faults if fault]
        total += len(cases)
        passed += len(cases) - len(failed)
        seconds = time.monotonic() - begin
        mark = "FAIL" if failed else "ok"
        print(
            f"{mark:4} {folder.name:22} {file['kind']:15} {len(cases) - len(failed):5} / {len(cases):5} {seconds:6.2f} s"
        )
        if trouble:
            print(f"     {trouble[-300:]}")
        for case, fault in failed[: options.show]:
            print(f"     {case.get('text', case.get('bytes_hex'))!r:.100}: {fault:.300}")
    return total, passed, len(cases), len(meta["vocab_files"])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dir", type=Path)
    parser.add_argument(
        "--engine",
        help="command; {vocab} is replaced (default: `fathom tokenize --jsonl` of a build)",
    )
    parser.add_argument("--family", action="append", help="only this family (may be repeated)")
    parser.add_argument("--show", type=int, default=3, help="failing cases to print for each file")
    options = parser.parse_args()
    options.engine = options.engine or default_engine()
    totals = [0, 0, 0, 0]
    for folder in find_families(options.dir):
        if not options.family or folder.name in options.family:
            totals = [sum(pair) for pair in zip(totals, run_family(folder, options))]
    total, passed, cases, files = totals
    if not total:
        print(f"check_corpus: no family in {options.dir}")
        return 2
    print(f"{passed} of {total} runs passed: {cases} cases, {files} vocabulary files")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
