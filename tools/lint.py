"""What the check tools share: where the repository is, finding programs, reporting findings.

Called by every tools/check_*.py and by room_index. Read next: tools/check_layers.py.
"""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = 77  # exit status that ctest takes as "skipped" (SKIP_RETURN_CODE in tests/CMakeLists.txt)


def report(name: str, findings: list[str], n_checked: int, what: str) -> int:
    """Prints the findings and one closing line; 1 when something was found or nothing was checked."""
    for finding in findings:
        print(finding)
    print(f"{name}: {n_checked} {what}, {len(findings)} findings")
    return 1 if findings or n_checked == 0 else 0


def skip(program: str) -> int:
    """Says that a program is missing; the exit status for ctest."""
    print(f"skipped: {program} is not installed")
    return SKIPPED


def find_program(*names: str) -> str | None:
    """The first program on the path, or in the folder where .ci/run installs Python programs."""
    installed = [shutil.which(name) for name in names]
    in_venv = [ROOT / "build" / "venv" / "bin" / name for name in names]
    return next(filter(None, installed), None) or next(
        (str(path) for path in in_venv if path.exists()), None
    )
