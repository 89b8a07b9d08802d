#!/usr/bin/env python3
"""Writes the tables of docs/serving.md, which are made from the tables in code.

  serving_doc.py [--tests build/dev/tests/test_api]

A test of that program compares the page; here it gives the tables. Read next: src/api/openai/fields.cc.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from lint import ROOT

PAGE = ROOT / "docs" / "serving.md"
BEGIN = "<!-- begin reference -->\n\n"
END = "\n<!-- end reference -->"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tests", default="build/dev/tests/test_api")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "tables.md"
        subprocess.run(
            [args.tests, "--gtest_filter=ReferenceTest.TheDocumentIsCurrent"],
            check=True,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"FATHOM_REFERENCE_OUT": str(out)},
        )
        tables = out.read_text(encoding="utf-8")
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not end:
        sys.exit(f"{PAGE}: no place for the tables: {BEGIN.strip()} ... {END.strip()}")
    PAGE.write_text(head + BEGIN + tables + END + tail, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
