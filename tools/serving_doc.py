#!/usr/bin/env python3
"""Writes the tables of docs/serving.md, which are made from the tables in code.

  serving_doc.py [--fathom build/dev/apps/fathom/fathom] [--check]

--check writes nothing and fails when the page is not what would be written. The same is checked by
tests/src/api/openai/reference_test.cc. Read next: src/api/openai/fields.cc.
"""

import argparse
import subprocess
import sys

from lint import ROOT

PAGE = ROOT / "docs" / "serving.md"
BEGIN = "<!-- begin reference -->\n\n"
END = "\n<!-- end reference -->"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fathom", default="build/dev/apps/fathom/fathom")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    tables = subprocess.run(
        [args.fathom, "serve", "--print-reference"], check=True, capture_output=True, text=True
    ).stdout
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not end:
        sys.exit(f"{PAGE}: no place for the tables: {BEGIN.strip()} ... {END.strip()}")
    made = head + BEGIN + tables + END + tail
    if args.check:
        return 0 if made == page else sys.exit(f"{PAGE} is out of date; run tools/serving_doc.py")
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
