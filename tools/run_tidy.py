#!/usr/bin/env python3
"""Runs clang-tidy on sources and remembers those that were clean, so that they are not read again.

  run_tidy.py --tidy clang-tidy -p BUILD [--jobs N] [--minutes N] SOURCE...

A source counts as the same when its preprocessed text with comments, its command line, the .clang-tidy
files above it and the program's version are the same, wherever the repository lies; the memory is a file
per source in ${XDG_CACHE_HOME:-~/.cache}/fathom/tidy. With --minutes no source is begun later than that; those left
are named. The order is another one for every commit, so that runs in a row read all. Exit status 1 when clang-tidy
found something.
Called by scripts/tidy. Read next: .clang-tidy.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KEPT_FOR = 30 * 24 * 3600  # seconds


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = pathlib.Path(base) / "fathom" / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def commands_of(build):
    with open(pathlib.Path(build) / "compile_commands.json") as file:
        entries = json.load(file)
    return {os.path.realpath(entry["file"]): entry for entry in entries}


def preprocessed(entry):
    """The text that the compiler sees, or None where it cannot be had (clang-tidy then says why)."""
    words = shlex.split(entry["command"])
    at = words.index("-o")
    words = words[:at] + words[at + 2 :]
    words = [word for word in words if word != "-c"] + ["-E", "-C", "-P"]
    if words[0].endswith("ccache"):
        words = words[1:]
    done = subprocess.run(words, cwd=entry["directory"], capture_output=True)
    return done.stdout if done.returncode == 0 else None


def without_root(text, root):
    """The bytes with the repository's own path, as given and with links resolved, taken out."""
    for path in sorted({os.path.abspath(root), os.path.realpath(root)}, key=len, reverse=True):
        text = text.replace(os.fsencode(path), b"")
    return text


def configs_of(source, root):
    """The text of every .clang-tidy that holds for the source, the nearest first."""
    root = pathlib.Path(root).resolve()
    texts = []
    for folder in pathlib.Path(source).resolve().parents:
        if (folder / ".clang-tidy").exists():
            texts.append((folder / ".clang-tidy").read_bytes())
        if folder == root:
            break
    return texts


def key_of(entry, version, root=ROOT):
    """The name under which a source is remembered, or None where there is no preprocessed text."""
    text = preprocessed(entry)
    if text is None:
        return None
    digest = hashlib.sha256()
    parts = [version, *configs_of(entry["file"], root)]
    parts += [without_root(part, root) for part in (entry["command"].encode(), text)]
    for part in parts:
        digest.update(b"%d:" % len(part) + part)
    return digest.hexdigest()


def order_for(sources, seed):
    """The sources in an order that the seed decides."""
    return sorted(sources, key=lambda source: hashlib.sha256(f"{seed} {source}".encode()).digest())


def check(source, arguments, commands, version, folder):
    """Whether the source is clean, what was said of it, and whether that was known; None: no time left."""
    if time.monotonic() > arguments.deadline:
        return None
    key = key_of(commands[os.path.realpath(source)], version)
    if key is not None and (folder / key).exists():
        os.utime(folder / key)
        return True, "", True
    done = subprocess.run(
        [arguments.tidy, "--quiet", "-p", arguments.build, source], capture_output=True, text=True
    )
    if done.returncode == 0 and not done.stdout.strip() and key is not None:
        (folder / key).touch()
    errors = [line for line in done.stderr.splitlines() if "warnings generated" not in line]
    return done.returncode == 0, "\n".join([done.stdout.strip(), *errors]).strip(), False


def forget_old(folder):
    newest = max((path.stat().st_mtime for path in folder.iterdir()), default=0)
    for path in folder.iterdir():
        if path.stat().st_mtime < newest - KEPT_FOR:
            path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tidy", default="clang-tidy")
    parser.add_argument("-p", dest="build", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("sources", nargs="+")
    arguments = parser.parse_args()
    arguments.deadline = time.monotonic() + 60 * arguments.minutes
    folder = cache_folder()
    forget_old(folder)
    version = subprocess.run([arguments.tidy, "--version"], capture_output=True).stdout
    commands = commands_of(arguments.build)
    # Kernels of other processors are not built here.
    sources = [source for source in arguments.sources if os.path.realpath(source) in commands]
    foreign = len(arguments.sources) - len(sources)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    sources = order_for(sources, head.stdout.strip())
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(
            pool.map(
                lambda source: check(source, arguments, commands, version, folder),
                sources,
            )
        )
    left = [source for source, result in zip(sources, results) if result is None]
    results = [result for result in results if result is not None]
    for _, text, _ in results:
        if text:
            print(text)
    if left:
        print(f"clang-tidy: no time for {len(left)} sources: {' '.join(left)}")
    known = sum(known for _, _, known in results)
    print(
        f"clang-tidy: {len(results) - known} sources read, {known} known to be clean, "
        f"{foreign} not built here"
    )
    sys.exit(0 if all(clean for clean, _, _ in results) else 1)


if __name__ == "__main__":
    main()
