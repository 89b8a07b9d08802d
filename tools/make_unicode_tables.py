#!/usr/bin/env python3
"""Writes src/codec/unicode_*.gen.cc: which character is of which kind, as the reference tokenizers see it.

    tools/make_unicode_tables.py

Needs the Python package tokenizers. Every value is asked from it, code point by code point: the general
category from its regular expressions (a recent Unicode), and the kinds that its BERT parts use, which come
from an older Unicode in which newer characters have no kind.
"""

import pathlib

from tokenizers import Regex, normalizers, pre_tokenizers

CODEC = pathlib.Path(__file__).resolve().parent.parent / "src" / "codec"
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co"
POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def matching(pattern):
    """The code points that match a pattern of one character."""
    found = set()
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    for begin in range(0, len(POINTS), 4096):
        text = "".join(map(chr, POINTS[begin : begin + 4096]))
        for piece, _ in split.pre_tokenize_str(text):
            found.update(map(ord, piece))
    return found


def dropped_by(normalizer, characters=POINTS):
    return {c for c in characters if normalizer.normalize_str(f"a{chr(c)}b") == "ab"}


def bert(**options):
    wanted = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False}
    return normalizers.BertNormalizer(lowercase=False, **{**wanted, **options})


def split_by(pre_tokenizer):
    return {c for c in POINTS if len(pre_tokenizer.pre_tokenize_str(f"a{chr(c)}b")) > 1}


def runs(kind_of):
    """(first code point, kind) wherever the kind changes."""
    out = []
    for c in range(0x110000):
        kind = kind_of.get(c, 0)
        if not out or out[-1][1] != kind:
            out.append((c, kind))
    return out


def write_table(file, accessor, head, comment, entries):
    """One file: the table, and the function that gives it."""
    words = [f"0x{(c << 8) | kind:08X}," for c, kind in entries]
    body = "\n".join("    " + " ".join(words[i : i + 8]) for i in range(0, len(words), 8))
    text = (
        f"// {head}, by tools/make_unicode_tables.py.\n"
        "// Called by codec/unicode. An entry is (first code point << 8) | kind, valid up to the next.\n"
        '#include "codec/unicode_tables.h"\n\nnamespace fathom::codec {\n\nnamespace {\n\n'
        f"// {comment}\n// clang-format off\nconstexpr uint32_t kRuns[] = {{\n{body}\n}};\n// clang-format on\n\n"
        "}  // namespace\n\n"
        f"std::span<const uint32_t> {accessor}() {{\n  return kRuns;\n}}\n\n"
        "}  // namespace fathom::codec\n"
    )
    (CODEC / file).write_text(text, encoding="ascii")


def main():
    categories = {}
    for number, name in enumerate(CATEGORIES.split(), start=1):
        for c in matching(rf"\p{{{name}}}"):
            categories[c] = number
    old = {}
    for bit, found in (
        (1, split_by(pre_tokenizers.Punctuation())),
        (2, dropped_by(normalizers.StripAccents())),
        (4, dropped_by(bert(strip_accents=True))),
        (8, dropped_by(bert(clean_text=True))),
    ):
        for c in found:
            old[c] = old.get(c, 0) | bit
    write_table(
        "unicode_categories.gen.cc",
        "category_runs",
        "General categories of characters as the reference sees them",
        "Numbered as Category in unicode.h.",
        runs(categories),
    )
    write_table(
        "unicode_bert_kinds.gen.cc",
        "bert_kind_runs",
        "Kinds of characters that the reference's BERT parts use",
        "Bits: 1 punctuation, 2 mark, 4 mark without width, 8 control.",
        runs(old),
    )


if __name__ == "__main__":
    main()
