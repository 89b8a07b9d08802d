"""Fails when a pattern in .clang-tidy matches no check, or is cancelled by a later one, or lacks a reason.

Called by ctest (label lint). Read next: .clang-tidy.
A check that is taken out needs a comment above the list that names it and says why. A folder's own list
adds to that of the root.
"""

import fnmatch
import re
import subprocess
import sys

from lint import ROOT, find_program, report, skip


def all_checks(program: str) -> list[str]:
    """The names of every check that this clang-tidy has."""
    text = subprocess.run(
        [program, "--checks=*", "--list-checks"],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
    ).stdout
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


def read_patterns(text: str) -> list[str]:
    """The patterns of the Checks list, in order, '-' kept."""
    match = re.search(r"^Checks: >\n((?:  .*\n)+)", text, re.MULTILINE)
    if not match:
        sys.exit(".clang-tidy: expected 'Checks: >' and one indented pattern a line")
    return [
        pattern.strip()
        for pattern in match.group(1).replace("\n", "").split(",")
        if pattern.strip()
    ]


def findings_in(patterns: list[str], checks: list[str], text: str) -> list[str]:
    """What is wrong with the list. The first entry must be '-*': nothing is on by default."""
    findings = [] if patterns[0] == "-*" else ["the list must begin with -*"]
    matches = {
        pattern: set(fnmatch.filter(checks, pattern.removeprefix("-")))
        for pattern in patterns
        if pattern != "-*"
    }
    comments = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    enabled: set[str] = set()
    for pattern, found in matches.items():
        if not found:
            findings.append(f"'{pattern}' matches no check")
        if pattern.startswith("-"):
            if found and not found & enabled:
                findings.append(f"'{pattern}' takes out nothing that was on")
            if not re.search(rf"# {re.escape(pattern)}\b.*: \S", comments):
                findings.append(f"'{pattern}' has no line '# {pattern}: reason'")
            enabled -= found
        else:
            enabled |= found
    for pattern, found in matches.items():
        if found and not pattern.startswith("-") and not found & enabled:
            findings.append(f"'{pattern}' is cancelled further down")
    for key in re.findall(r"- key: +([\w-]+)\.", text):
        if key not in enabled:
            findings.append(f"an option is set for '{key}', which is not on")
    return findings


def main() -> int:
    program = find_program("clang-tidy-14", "clang-tidy")
    if not program:
        return skip("clang-tidy")
    checks = all_checks(program)
    root = (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    findings = findings_in(read_patterns(root), checks, root)
    n_patterns = len(read_patterns(root))
    for path in sorted((ROOT / "lib").rglob(".clang-tidy")):
        own = path.read_text(encoding="utf-8")
        inherited = read_patterns(root) + read_patterns(own)
        findings += [
            f"{path.relative_to(ROOT)}: {finding}"
            for finding in findings_in(inherited, checks, root + own)
            if not finding.endswith("cancelled further down")  # what it inherits, it may cancel
        ]
        n_patterns += len(read_patterns(own))
    return report("check_tidy", findings, n_patterns, "patterns")


if __name__ == "__main__":
    sys.exit(main())
