"""Fails when a source file has no test beside it in the mirror, and no reason in tests/EXEMPT.

Called by ctest (label lint). Read next: tests/EXEMPT, tools/rooms.py.
lib/ops/linear.cc needs tests/lib/ops/linear_test.cc; a line "PATH  REASON" in tests/EXEMPT excuses a
file, or a folder when PATH ends in '/'. An entry that excuses nothing is an error as well.
"""

import re
import sys
from pathlib import Path

from lint import ROOT, report
from rooms import read_order

TEST_MACRO = re.compile(r"^\s*(TYPED_)?TEST(_F|_P)?\(", re.MULTILINE)


def read_exempt(path: Path) -> dict[str, str]:
    """Path to reason. Exits on a line without a reason or a path that stands twice."""
    exempt: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = line.partition(" ")
        if not reason.strip() or name in exempt:
            sys.exit(f"{path}:{number}: expected 'PATH REASON', each path once; found {line!r}")
        exempt[name] = reason.strip()
    return exempt


def twin_of(source: str) -> str:
    return f"tests/{source.removesuffix('.cc')}_test.cc"


def excuse_for(source: str, exempt: dict[str, str]) -> str | None:
    """The entry of tests/EXEMPT that covers a source, if any."""
    for name in exempt:
        if source == name or (name.endswith("/") and source.startswith(name)):
            return name
    return None


def main() -> int:
    exempt = read_exempt(ROOT / "tests" / "EXEMPT")
    folders = [room.folder for room in read_order().values()] + ["apps"]
    sources = [
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.cc"))
    ]
    findings, used = [], set()
    for source in sources:
        twin = ROOT / twin_of(source)
        excuse = excuse_for(source, exempt)
        if twin.exists():
            if not TEST_MACRO.search(twin.read_text(encoding="utf-8")):
                findings.append(f"{twin_of(source)}: holds no TEST")
            if excuse == source:
                findings.append(f"tests/EXEMPT: {source} has a test now; take its line away")
        elif excuse:
            used.add(excuse)
        else:
            findings.append(f"{source}: no {twin_of(source)} and no reason in tests/EXEMPT")
    findings += [f"tests/EXEMPT: '{name}' excuses nothing" for name in exempt if name not in used]
    return report("check_tests", findings, len(sources), "sources")


if __name__ == "__main__":
    sys.exit(main())
