#!/usr/bin/env python3
"""Compares bench_tokenizer with the tokenizers package on the same tokenizer.json and text, on one thread.

    bench/compare_tokenizers.py --bench build/release/bench/bench_tokenizer --vocab A.json --text B.txt

Needs the package tokenizers. Every figure is CPU time, the best of --rounds runs. Exit status 1 when the ids differ in
number, or the ratios stay below 5 (encoding) or 3 (decoding).
"""

import argparse
import json
import os
import subprocess
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


def best_of(rounds, run):
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        result = run()
        times.append(time.process_time() - begin)
    return min(times), result


def main():
    import tokenizers

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bench", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vocab", nargs="+", required=True)
    parser.add_argument("--text", nargs="+", required=True)
    options = parser.parse_args()
    good = True
    print("vocabulary            text          load ms      encode MB/s          decode MB/s")
    for vocab in options.vocab:
        for path in options.text:
            done = subprocess.run(
                [options.bench, vocab, path, str(options.rounds)],
                capture_output=True,
                text=True,
                check=True,
            )
            ours = json.loads(done.stdout)
            load, reference = best_of(1, lambda vocab=vocab: tokenizers.Tokenizer.from_file(vocab))
            with open(path, encoding="utf-8", newline="") as file:
                text = file.read()
            encode, encoding = best_of(
                options.rounds,
                lambda reference=reference, text=text: reference.encode(
                    text, add_special_tokens=False
                ),
            )
            ids = encoding.ids
            decode, _ = best_of(
                options.rounds,
                lambda reference=reference, ids=ids: reference.decode(
                    ids, skip_special_tokens=False
                ),
            )
            mb = len(text.encode()) / 1e6
            faster = (ours["encode_mb_per_s"] * encode / mb, ours["decode_mb_per_s"] * decode / mb)
            good = good and len(ids) == ours["tokens"] and faster[0] >= 5 and faster[1] >= 3
            print(
                f"{os.path.basename(vocab):21} {os.path.basename(path):10} {ours['load_ms']:6.1f} / {load * 1e3:6.0f}"
                f"   {ours['encode_mb_per_s']:6.1f} / {mb / encode:5.2f} = {faster[0]:5.1f} x"
                f"  {ours['decode_mb_per_s']:6.1f} / {mb / decode:5.2f} = {faster[1]:5.1f} x"
                f"  {ours['tokens']} tokens{'' if len(ids) == ours['tokens'] else f', reference {len(ids)}'}"
            )
            sys.stdout.flush()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
