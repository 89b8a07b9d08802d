#!/usr/bin/env python3
"""Trains two small vocabularies on text it writes itself and computes the ids that tests expect.

    tools/make_test_vocab.py            writes tests/cases/tokenizer/{bytes,pieces}.json
    tools/make_test_vocab.py --check    exits 1 when the files differ from what it would write

The ids come from the slow reference in this file (every merge looks at every pair; Python's `re` with the
letter classes spelled out), never from Fathom. Python 3's standard library is all it needs.
"""

import argparse
import json
import pathlib
import random
import re
import sys
import unicodedata
from collections import Counter

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "cases" / "tokenizer"
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
BLANK = "\u2581"

# ---------------------------------------------------------------- the text to train on
SUBJECTS = [
    "the river",
    "a small lamp",
    "our neighbour",
    "the old baker",
    "this engine",
    "every letter",
    "the reader",
]
VERBS = [
    "carries",
    "remembers",
    "opens",
    "measures",
    "follows",
    "repeats",
    "doesn't lose",
    "hadn't found",
    "we'll see",
]
OBJECTS = [
    "the morning light",
    "a page of numbers",
    "the way home",
    "bread and water",
    "one token after another",
    "12 apples and 345 pears",
    "the answer",
    "a long road in 1984",
]
OTHERS = [
    "Der Schlüssel öffnet die Tür und größere Räume.",
    "Le café déjà vu était très froid.",
    "река несёт воду к морю",
    "你好世界，我们学习语言模型。",
    "今日は良い天気です",
    "مرحبا بالعالم",
    "int main() { return x += 1; }",
    "for (i = 0; i < n; ++i) sum[i] += a[i] * b[i];",
    "if x == 0:\n    return [None] * 3\n",
    "😀 😀 🦙 👩\u200d👩\u200d👧",
    "HTTPServer parseJSONFile camelCaseName",
]


def corpus():
    rng = random.Random(20)
    lines = []
    for _ in range(260):
        lines.append("%s %s %s." % (rng.choice(SUBJECTS), rng.choice(VERBS), rng.choice(OBJECTS)))
        if rng.random() < 0.5:
            lines.append(rng.choice(OTHERS))
    return "\n".join(line[0].upper() + line[1:] for line in lines)


# ---------------------------------------------------------------- texts to encode
FIXED = [
    "",
    "a",
    " ",
    "  ",
    "   a",
    "Hello world",
    " Hello world",
    "the river carries the morning light.",
    "don't DON'T we'll I'M they'd 'sup '\u017fo",
    "123 4567 89012345678",
    "\u00b2\u00b3 \u00bd \u0663\u0664 Ⅷ",
    "tabs\t\there\n\n\nlines\r\n\r\n end  ",
    "trailing   ",
    "\n",
    "\n \n",
    " \n x",
    "a\u00a0b\u3000c\u2003d\u0085e\u180ef\u200bg",
    "größere Räume für Füße",
    "cafe\u0301 deja\u0300 \u1e0b\u0323 \u0958",
    "\u0301\u0323 \u0323\u0301",
    "你好世界，语言",
    "今日は、カタカナ・テスト",
    "مرحبا ١٢٣",
    "नमस्ते हिन्दी",
    "HTTPServer parseJSONFile aB Ab AB ab",
    "x+=1; // !!! ??? ...[]{}",
    "/usr/bin/env\n/a//b",
    "😀😀😀😀",
    "👩\u200d👩\u200d👧 🦙.cpp",
    "unreachable unreachable",
    "<|end|>",
    "a<|end|>b <|end|>  c",
    "<tool>x</tool> <tool>",
    "<|end",
    "<<tool>>",
    "\x00\x01\x7f",
    "\ufeffbom",
    "\ufffd",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "thethethethethethethethethethethethethethethethe",
    "============================================",
]


def random_texts(count, seed):
    rng = random.Random(seed)
    pools = [
        "abcdefghij ",
        "ABCdef 'sdt",
        "0123456789",
        " \t\n\r\u00a0\u3000",
        "äöüßéñçø",
        "бвгд",
        "你好世界",
        "かなカナ",
        "مرحبا",
        "!?.,;:()[]{}+-*/=<>|$",
        "😀🦙👩\u200d\u0301\u0323",
        "²³½Ⅷ",
    ]
    words = SUBJECTS + OBJECTS + ["<|end|>", "<tool>", "\n\n", "  "]
    texts = []
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(1, 6)):
            if rng.random() < 0.4:
                parts.append(rng.choice(words))
            else:
                pool = rng.choice(pools)
                parts.append("".join(rng.choice(pool) for _ in range(rng.randint(1, 7))))
        texts.append("".join(parts))
    return texts


# ---------------------------------------------------------------- regular expressions with \p{..}
def ranges_of(keep):
    out, start = [], None
    for c in range(0x110001):
        inside = c < 0x110000 and not 0xD800 <= c <= 0xDFFF and keep(chr(c))
        if inside and start is None:
            start = c
        elif not inside and start is not None:
            out.append((start, c - 1))
            start = None
    return "".join("\\U%08x-\\U%08x" % r for r in out)


CLASSES = {}


def class_text(name):
    if name not in CLASSES:
        if name == "s":
            CLASSES[name] = (
                "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
            )
        else:
            CLASSES[name] = ranges_of(lambda ch: unicodedata.category(ch).startswith(name))
    return CLASSES[name]


def compile_regex(text):
    out, at, in_class = "", 0, False
    while at < len(text):
        m = re.match(r"\\p\{(\w+)\}|\\s|\\S", text[at:])
        if m:
            negated = m.group() == "\\S"
            body = class_text(m.group(1) or "s")
            out += body if in_class else "[%s%s]" % ("^" if negated else "", body)
            at += m.end()
            continue
        if text[at] == "\\":
            out += text[at : at + 2]
            at += 2
            continue
        in_class = True if text[at] == "[" else False if text[at] == "]" else in_class
        out += text[at]
        at += 1
    return re.compile(out)


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LINES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+CONTR|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*CONTR|"
    r"DIGITS| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTR = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PUNCT = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""
# name: stages (regex, by bytes), NFC, ignore_merges
PRES = {
    "gpt-2": ([(GPT2, False)], False, False),
    "mpt": ([(GPT2, False)], True, False),
    "smollm": ([(r"\p{N}", False), (GPT2, False)], False, False),
    "falcon": (
        [
            (r"[\p{P}$+<=>\^`|~]+", False),
            (GPT2, False),
            ("[0-9\xb2\xb3\xb9\xbc\xbd\xbe]+", True),
            ("[0-9][0-9][0-9]", True),
        ],
        False,
        False,
    ),
    "qwen2": ([(LINES.replace("DIGITS", r"\p{N}"), False)], True, False),
    "llama-bpe": ([(LINES.replace("DIGITS", r"\p{N}{1,3}"), False)], False, True),
    "tekken": ([(CASED.replace("DIGITS", r"\p{N}").replace("CONTR", ""), False)], False, True),
    "gpt-4o": (
        [(CASED.replace("DIGITS", r"\p{N}{1,3}").replace("CONTR", CONTR), False)],
        False,
        False,
    ),
    "deepseek-coder": (
        [
            (r"[\r\n]", False),
            (r"\s?\p{L}+", False),
            (r"\s?\p{P}+", False),
            ("[一-龥\u0800-一가-\ud7ff]+", False),
            (r"\p{N}", False),
        ],
        False,
        False,
    ),
    "deepseek-v3": (
        [
            (r"\p{N}{1,3}", False),
            ("[一-龥\u3040-\u309f\u30a0-\u30ff]+", False),
            (
                PUNCT + r"[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
                r"\s*[\r\n]+|\s+(?!\S)|\s+",
                False,
            ),
        ],
        False,
        False,
    ),
}


def cut(regex, piece):
    out, done = [], 0
    for m in regex.finditer(piece):
        out += [piece[done : m.start()], m.group()]
        done = m.end()
    return [p for p in out + [piece[done:]] if p]


def presplit(stages, text):
    """Words as bytes."""
    pieces, latin = [text], False
    for regex, by_bytes in stages:
        if by_bytes and not latin:
            pieces, latin = [p.encode().decode("latin-1") for p in pieces], True
        pieces = [q for p in pieces for q in cut(regex, p)]
    return [p.encode("latin-1" if latin else "utf-8") for p in pieces]


# ---------------------------------------------------------------- byte-level BPE
def byte_alphabet():
    own = list(range(0x21, 0x7F)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    table, n = {}, 0
    for b in range(256):
        table[b] = chr(b) if b in own else chr(256 + n)
        n += b not in own
    return table


ALPHABET = byte_alphabet()


def to_alphabet(data):
    return "".join(ALPHABET[b] for b in data)


def merge_pair(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            out.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def train_merges(words, count):
    words = [(list(w), n) for w, n in words.items()]
    merges = []
    while len(merges) < count:
        pairs = Counter()
        for symbols, n in words:
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += n
        best = min(pairs, key=lambda p: (-pairs[p], p), default=None)
        if best is None or pairs[best] < 2:
            break
        merges.append(best)
        words = [(merge_pair(symbols, best), n) for symbols, n in words]
    return merges


def naive_bpe(word, ranks):
    symbols = list(word)
    while True:
        found = [(ranks[p], i) for i, p in enumerate(zip(symbols, symbols[1:])) if p in ranks]
        if not found:
            return symbols
        _, i = min(found)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def split_added(text, added, parse_special):
    """added: text -> (id, is control). Leftmost, then longest."""
    out, done, at = [], 0, 0
    while at < len(text):
        fits = [a for a in added if text.startswith(a, at)]
        if not fits:
            at += 1
            continue
        best = max(fits, key=len)
        token, control = added[best]
        if not control or parse_special:
            out += [text[done:at], token]
            done = at + len(best)
        at += len(best)
    return [p for p in out + [text[done:]] if p != ""]


def byte_level():
    text = corpus()
    plain = [(compile_regex(GPT2), False)]
    words = Counter(to_alphabet(w) for w in presplit(plain, text))
    merges = train_merges(words, 420)
    tokens = [ALPHABET[b] for b in sorted(ALPHABET, key=lambda b: ALPHABET[b])]
    tokens += [a + b for a, b in merges]
    tokens += ["Ġunreachable"]  # no merge leads here: only ignore_merges finds it
    added = {"<|begin|>": CONTROL, "<|end|>": CONTROL, "<tool>": USER, "</tool>": USER, "ø": USER}
    kinds = [NORMAL] * len(tokens) + list(added.values())
    tokens += list(added)
    ids = {}
    for i, t in enumerate(tokens):
        ids.setdefault(t, i)
    first_added = len(tokens) - len(added)
    added_ids = {t: (first_added + i, k == CONTROL) for i, (t, k) in enumerate(added.items())}
    ranks = {m: i for i, m in enumerate(merges)}
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": ["%s %s" % m for m in merges],
        "tokenizer.ggml.bos_token_id": added_ids["<|begin|>"][0],
        "tokenizer.ggml.eos_token_id": added_ids["<|end|>"][0],
        "tokenizer.ggml.add_bos_token": True,
    }

    def encode(text, pre, add_special, parse_special):
        stages, nfc, ignore_merges = pre
        out = [metadata["tokenizer.ggml.bos_token_id"]] if add_special else []
        for part in split_added(text, added_ids, parse_special):
            if isinstance(part, int):
                out.append(part)
                continue
            part = unicodedata.normalize("NFC", part) if nfc else part
            for word in presplit(stages, part):
                word = to_alphabet(word)
                if ignore_merges and word in ids and kinds[ids[word]] == NORMAL:
                    out.append(ids[word])
                else:
                    out += [ids[s] for s in naive_bpe(word, ranks)]
        return out

    return metadata, make_cases(
        {n: ([(compile_regex(r), b) for r, b in s], nfc, im) for n, (s, nfc, im) in PRES.items()},
        encode,
        25,
    )


# ---------------------------------------------------------------- SentencePiece BPE
def pieces():
    text = corpus()
    words = Counter(BLANK + w for w in text.replace("\n", " ").split(" ") if w)
    merges = train_merges(words, 300)
    joined = [a + b for a, b in merges]
    letters = sorted(set("".join(words)) - set("😀🦙"), key=lambda ch: (-text.count(ch), ch))
    control = ["<unk>", "<s>", "</s>"]
    user = ["<tool>", "</tool>", "\n\n", "  "]
    tokens = control + user + ["<0x%02X>" % b for b in range(256)]
    kinds = [UNKNOWN, CONTROL, CONTROL] + [USER] * len(user) + [BYTE] * 256
    scores = [0.0] * len(tokens)
    unused = {joined[11], joined[40]}
    for rank, piece in enumerate(joined + letters):
        tokens.append(piece)
        kinds.append(UNUSED if piece in unused else NORMAL)
        scores.append(-float(rank))
    ids = {}
    for i, t in enumerate(tokens):
        if kinds[i] in (NORMAL, USER, UNUSED):
            ids.setdefault(t.replace(" ", BLANK), i)
    added = {
        t: (i, kinds[i] != USER)
        for i, t in enumerate(tokens)
        if kinds[i] in (UNKNOWN, CONTROL, USER)
    }
    metadata = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }

    def emit(piece, parents):
        token = ids.get(piece)
        if token is None:
            return [3 + len(user) + b for b in piece.encode()]
        if kinds[token] == UNUSED and piece in parents:
            left = parents[piece]
            return emit(piece[:left], parents) + emit(piece[left:], parents)
        return [token]

    def merge(text):
        symbols, parents = list(text), {}
        while True:
            found = [
                (-scores[ids[a + b]], i)
                for i, (a, b) in enumerate(zip(symbols, symbols[1:]))
                if a + b in ids
            ]
            if not found:
                return [t for s in symbols for t in emit(s, parents)]
            _, i = min(found)
            parents[symbols[i] + symbols[i + 1]] = len(symbols[i])
            symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]

    def encode(text, prefix, add_special, parse_special):
        out = [1] if add_special else []
        for part in split_added(text, added, parse_special):
            out += (
                [part]
                if isinstance(part, int)
                else merge((BLANK if prefix else "") + part.replace(" ", BLANK))
            )
        return out

    return metadata, make_cases({"prefix": True, "no prefix": False}, encode, 60)


def make_cases(settings, encode, n_random):
    cases = []
    for number, (name, setting) in enumerate(settings.items()):
        for i, text in enumerate(FIXED + random_texts(n_random, 100 + number)):
            options = (i % 5 == 0, i % 2 == 0)
            cases.append(
                {
                    "setting": name,
                    "text": text,
                    "add_special": options[0],
                    "parse_special": options[1],
                    "ids": encode(text, setting, *options),
                }
            )
    return cases


def render(metadata, cases):
    lines = ['{"metadata":%s,' % json.dumps(metadata, separators=(",", ":")), '"cases":[']
    lines += [",\n".join(json.dumps(c, separators=(",", ":")) for c in cases), "]}", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    OUT.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, make in (("bytes", byte_level), ("pieces", pieces)):
        path, text = OUT / (name + ".json"), render(*make())
        if not check:
            path.write_text(text, encoding="ascii")
        elif not path.exists() or path.read_text(encoding="ascii") != text:
            stale.append(str(path))
    if stale:
        print("differs from what this script writes: " + ", ".join(stale), file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
