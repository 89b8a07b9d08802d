"""Writes the tables of docs/READING.md from cmake/ORDER and from the first sentence of every file.

Called by a person after files came or went; by ctest (label lint) with --check. Read next: docs/READING.md.
A table stands between the lines "<!-- begin NAME -->" and "<!-- end NAME -->"; NAME is "rooms", or
"files FOLDER" for the files of a folder.
"""

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

from lint import ROOT, report
from rooms import Room, read_order, source_files

PAGE = ROOT / "docs" / "READING.md"
# Pages whose paths in backquotes must exist, as written or with .h or .cc.
PROSE = ("README.md", "README.zh-CN.md", "CONTRIBUTING.md", "docs/*.md", "tests/*.md")
PATH = re.compile(r"`((?:lib|src|apps|tests|tools|scripts|docs|cmake|bench|\.ci)/[\w./-]*\w)`")
# A head shows the way when it names the caller or the next file.
WAY = re.compile(r"Called by|Read next|Filled by|Used by|Included by|Source:")
TABLE = re.compile(r"(<!-- begin ([^>]+?) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def head_comment(path: Path) -> str:
    """The comment block at the head of a file, its lines joined."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").strip())
    return " ".join(lines)


def first_sentence(path: Path) -> str:
    """What a file says about itself: up to the first full stop that ends a sentence."""
    comment = head_comment(path)
    match = re.match(r"(.+?[.:])(?= [A-Z`]|$)", comment)
    return (match.group(1) if match else comment).rstrip(".:")


def missing_heads(path: Path) -> list[str]:
    """What the head of a file lacks. A source beside its header leaves the way to the header."""
    comment, name = head_comment(path), path.relative_to(ROOT)
    if not comment:
        return [f"{name}: the first line must be a comment that says what it is"]
    has_header = path.suffix == ".cc" and path.with_suffix(".h").exists()
    if not has_header and not WAY.search(comment):
        return [f"{name}: the head names neither who calls it nor what to read next"]
    return []


def dead_paths() -> list[str]:
    """Paths that a page names and the repository does not have."""
    findings = []
    for page in (page for pattern in PROSE for page in sorted(ROOT.glob(pattern))):
        for path in PATH.findall(page.read_text(encoding="utf-8")):
            if not any((ROOT / (path + ending)).exists() for ending in ("", ".h", ".cc")):
                findings.append(f"{page.relative_to(ROOT)}: `{path}` does not exist")
    return findings


def room_table(rooms: dict[str, Room]) -> str:
    rows = ["| level | room | holds | may include |", "|---|---|---|---|"]
    for room in rooms.values():
        includes = ", ".join(room.may_include) or "nothing"
        rows.append(f"| {room.level} | `{room.folder}` | {room.holds} | {includes} |")
    return "\n".join(rows)


def file_table(folder: str) -> str:
    """One row for each header with its source, or for a source alone."""
    rows = ["| file | says |", "|---|---|"]
    by_stem: dict[Path, list[Path]] = {}
    for path in source_files(ROOT / folder):
        by_stem.setdefault(path.with_suffix(""), []).append(path)
    for stem, paths in sorted(by_stem.items()):
        header = next((path for path in paths if path.suffix == ".h"), paths[0])
        name = stem.relative_to(ROOT / folder).as_posix()
        rows.append(f"| `{name}` {'/'.join(p.suffix for p in paths)} | {first_sentence(header)} |")
    return "\n".join(rows)


def filled(text: str, rooms: dict[str, Room]) -> str:
    """The page with every table written anew. An unknown table's name raises KeyError."""

    def table(match: re.Match) -> str:
        kind, _, folder = match.group(2).partition(" ")
        makers: dict[str, Callable[[], str]] = {
            "rooms": lambda: room_table(rooms),
            "files": lambda: file_table(folder),
        }
        return f"{match.group(1)}{makers[kind]()}\n{match.group(3)}"

    return TABLE.sub(table, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where it would")
    check = parser.parse_args().check

    rooms = read_order()
    folders = [room.folder for room in rooms.values()] + ["apps/fathom"]
    files = [path for folder in folders for path in source_files(ROOT / folder)]
    findings = [finding for path in files for finding in missing_heads(path)]
    findings += dead_paths()
    text = PAGE.read_text(encoding="utf-8")
    findings += [
        f"docs/READING.md: no table for {folder}"
        for folder in folders
        if f"<!-- begin files {folder} -->" not in text
    ]
    new_text = filled(text, rooms)
    if new_text != text and check:
        findings.append("docs/READING.md is not up to date: run python3 tools/room_index.py")
    elif new_text != text:
        PAGE.write_text(new_text, encoding="utf-8")
    return report("room_index", findings, len(files), "files")


if __name__ == "__main__":
    sys.exit(main())
