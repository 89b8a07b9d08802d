"""Fails when a file is not laid out as .clang-format, ruff or shellcheck want it, is too long, or
holds both sides of a merge.

Called by ctest (label lint), one call per tool. Read next: .clang-format, pyproject.toml.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from lint import ROOT, find_program, report, skip
from rooms import source_files

MAX_LINES = 600  # STYLE aims at 150 to 350; above this a file holds two things
FOLDERS = ("lib", "src", "apps", "tests", "bench")
RUFF_FOLDERS = ("tools", "tests", "bench")


def cpp_files() -> list[Path]:
    return [path for folder in FOLDERS for path in source_files(ROOT / folder)]


def shell_files() -> list[Path]:
    """The scripts: no ending, or .sh."""
    return [path for path in sorted((ROOT / "scripts").iterdir()) if path.is_file()] + [
        ROOT / ".ci" / "run"
    ]


def too_long() -> list[str]:
    """Source files above the limit. Generated ones name their generator and are left out."""
    findings = []
    for path in cpp_files() + sorted((ROOT / "tools").glob("*.py")):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > MAX_LINES and ".gen." not in path.name:
            findings.append(f"{path.relative_to(ROOT)}: {lines} lines, at most {MAX_LINES}")
    return findings


def unmerged() -> list[str]:
    """Lines that a merge left in sources and pages."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]
    findings = []
    for path in cpp_files() + sorted((ROOT / "tools").glob("*.py")) + sorted(pages):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
            if line.startswith(("<" * 7 + " ", ">" * 7 + " ")):
                findings.append(f"{path.relative_to(ROOT)}:{number}: left by a merge: {line}")
    return findings


def run(program: str | None, name: str, arguments: list[str], files: list) -> int:
    """Runs one tool on the files; its own exit status decides."""
    if not program:
        return skip(name)
    status = subprocess.run(
        [program, *arguments, *map(str, files)], cwd=ROOT, check=False
    ).returncode
    print(f"check_format: {name}, {len(files)} files or folders, exit status {status}")
    return 1 if status else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", choices=["cpp", "python", "shell", "length"])
    tool = parser.parse_args().tool
    if tool == "cpp":
        program = find_program("clang-format-14", "clang-format")
        return run(program, "clang-format", ["--dry-run", "--Werror"], cpp_files())
    if tool == "python":
        folders = [folder for folder in RUFF_FOLDERS if (ROOT / folder).exists()]
        program = find_program("ruff")
        return run(program, "ruff", ["check", "--quiet"], folders) or run(
            program, "ruff", ["format", "--check", "--quiet"], folders
        )
    if tool == "shell":
        return run(find_program("shellcheck"), "shellcheck", [], shell_files())
    return report("check_format", too_long() + unmerged(), len(cpp_files()), "files")


if __name__ == "__main__":
    sys.exit(main())
