"""Reads ctest's JUnit file and decides: what failed, what was skipped and why, were there enough tests.

Called by scripts/test and .ci/run. Read next: tests/MIN_COUNT.
The last line is "N passed, F failed, S skipped"; exit status 1 when F is not 0 or a rule is broken.
"""

import argparse
import os
import re
import sys
from dataclasses import dataclass, field
from xml.etree import ElementTree

# A test may be skipped under CI=true only with these words in its reason.
LACKS_SET = re.compile(r"CPU lacks", re.IGNORECASE)
GTEST_REASON = re.compile(r"Skipped\n(.*?)\n\n?\[", re.DOTALL)


@dataclass
class Summary:
    """What became of each test, by name; a skipped one with its reason."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    def total(self) -> int:
        return len(self.passed) + len(self.failed) + len(self.skipped)


def skip_reason(case: ElementTree.Element) -> str:
    """The words after GTEST_SKIP(), or the whole output of a test that is no GoogleTest."""
    output = case.findtext("system-out") or ""
    found = GTEST_REASON.search(output)
    return (found.group(1) if found else output).strip() or "no reason given"


def read_results(path: str) -> Summary:
    """Sorts the test cases of ctest's file. A test that could not start counts as failed."""
    summary = Summary()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, status = case.get("name", "?"), case.get("status")
        message = (
            (case.find("skipped").get("message") or "") if case.find("skipped") is not None else ""
        )
        if status == "run":
            summary.passed.append(name)
        elif status == "notrun" and message.startswith("SKIP_"):
            summary.skipped[name] = skip_reason(case)
        elif status == "disabled":
            summary.skipped[name] = "disabled"
        else:
            summary.failed.append(name)
    return summary


def read_min_count(path: str) -> int:
    """The number in tests/MIN_COUNT; lines that start with # are comments."""
    with open(path, encoding="utf-8") as lines:
        numbers = [line for line in lines if line.strip() and not line.startswith("#")]
    if len(numbers) != 1 or not numbers[0].strip().isdigit():
        sys.exit(f"{path}: expected one line with a number, found {numbers!r}")
    return int(numbers[0])


def broken_rules(summary: Summary, min_count: int, in_ci: bool) -> list[str]:
    """One sentence for each rule that the run breaks."""
    rules = [f"failed: {name}" for name in summary.failed]
    if summary.total() < min_count:
        rules.append(
            f"only {summary.total()} tests were found, tests/MIN_COUNT asks for {min_count}"
        )
    if in_ci:
        rules += [
            f"skipped, which CI=true forbids: {name} ({reason})"
            for name, reason in summary.skipped.items()
            if not LACKS_SET.search(reason)
        ]
    return rules


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="the file that ctest --output-junit wrote")
    parser.add_argument("--min-count", help="file with the least number of tests")
    args = parser.parse_args()

    summary = read_results(args.results)
    for name, reason in sorted(summary.skipped.items()):
        print(f"skipped: {name}: {reason}")
    min_count = read_min_count(args.min_count) if args.min_count else 1
    rules = broken_rules(summary, min_count, os.environ.get("CI") == "true")
    for rule in rules:
        print(rule)
    counts = (len(summary.passed), len(summary.failed), len(summary.skipped))
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 1 if rules else 0


if __name__ == "__main__":
    sys.exit(main())
