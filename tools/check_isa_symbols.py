"""Fails when an object built with an instruction set's flags exports more than fill_<set>.

Called by ctest (label lint). Read next: cmake/isa.cmake, lib/kernels/dispatch.h.
A weak symbol in such an object (an inline function of a header, a template instance) may be the copy
that the linker keeps for the whole program, and would then crash on a CPU without the set.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from lint import report

# nm's letters for symbols that other objects see: code, data, read-only, common, weak, unique.
EXPORTED = "TDBRCGSVWui"
# A pointer to the unwinder's routine, the same in every object of the program: data, no code.
HARMLESS = "DW.ref.__gxx_personality_v0"
OBJECT_FOLDER = re.compile(r"fathom_kernels_(\w+)\.dir")


def exported_symbols(path: Path, nm: str) -> list[tuple[str, str]]:
    """(letter, demangled name) of every symbol that the object defines for others."""
    text = subprocess.run(
        [nm, "-C", "--defined-only", path], check=True, capture_output=True, text=True
    ).stdout
    symbols = []
    for line in text.splitlines():
        match = re.match(r"^[0-9a-f]*\s+(\w) (.*)$", line)
        if match and match.group(1) in EXPORTED and match.group(2) != HARMLESS:
            symbols.append((match.group(1), match.group(2)))
    return symbols


def check_object(path: Path, isa: str, nm: str = "nm") -> tuple[list[str], int]:
    """Findings for one object, and how many fill_<set> it exports (a part of a set's table may have
    its own fill_<set>_<part>)."""
    allowed = re.compile(rf"fathom::kernels::(\w+::)?fill_{isa}(_\w+)?\(.*\)")
    symbols = exported_symbols(path, nm)
    findings = [
        f"{path.name} of {isa} exports '{name}' ({letter}); only fill_{isa} may be seen from outside,"
        " put the rest in an anonymous namespace"
        for letter, name in symbols
        if letter != "T" or not allowed.fullmatch(name)
    ]
    return findings, sum(f"fill_{isa}(" in name for _, name in symbols)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="a build folder in which the kernels are built")
    parser.add_argument("--nm", default="nm", help="the nm of the objects' machine")
    parser.add_argument("isas", nargs="+", help="the sets that must be there")
    args = parser.parse_args()

    findings: list[str] = []
    fills = dict.fromkeys(args.isas, 0)
    n_objects = 0
    for path in sorted(args.build.rglob("*.o")):
        folder = OBJECT_FOLDER.search(path.as_posix())
        if not folder:
            continue
        isa, n_objects = folder.group(1), n_objects + 1
        found, n_fills = check_object(path, isa, args.nm)
        findings += found
        fills[isa] = fills.get(isa, 0) + n_fills
    findings += [
        f"{isa}: {count} objects export fill_{isa}, expected one"
        for isa, count in fills.items()
        if count != 1
    ]
    return report("check_isa_symbols", findings, n_objects, "objects")


if __name__ == "__main__":
    sys.exit(main())
