#!/usr/bin/env python3
"""Writes the vocabulary of a GGUF file as tokenizer.json and, for SentencePiece, as tokenizer.model too.

    bench/convert_vocabulary.py VOCAB.gguf FOLDER

So that one vocabulary can be measured in all its forms, and beside packages that do not read GGUF. Known are
tokenizer models "llama" (merged by score) and "gpt2" with the pre-tokenizers gpt-2, qwen2 and llama-bpe. The
tokenizer.json has the stages that transformers gives such a model. Read next: bench/compare_tokenizers.py.
"""

import json
import struct
import sys
from pathlib import Path

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
LINES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPLITS = {"gpt-2": None, "qwen2": LINES % "", "llama-bpe": LINES % "{1,3}"}


class Reader:
    """The metadata of a GGUF file, version 2 or 3 (the GGUF specification, "File Structure")."""

    def __init__(self, path):
        self.data = Path(path).read_bytes()
        self.at = 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0]

    def text(self):
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size : self.at].decode("utf-8", "replace")

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind != 9:
            return self.take(SCALARS[kind])
        item, count = self.take("I"), self.take("Q")
        if item in SCALARS:
            values = struct.unpack_from(f"<{count}{SCALARS[item]}", self.data, self.at)
            self.at += struct.calcsize(f"<{count}{SCALARS[item]}")
            return list(values)
        return [self.value(item) for _ in range(count)]

    def metadata(self):
        if self.data[:4] != b"GGUF":
            sys.exit("convert_vocabulary: not a GGUF file")
        self.at = 4
        _version, _n_tensors, count = self.take("I"), self.take("Q"), self.take("Q")
        return {self.text(): self.value(self.take("I")) for _ in range(count)}


def merges_by_score(texts, scores, kinds):
    """Every way to cut a piece into two pieces; the best piece first, as transformers lists them."""
    ids = {t: i for i, t in enumerate(texts) if kinds[i] in (NORMAL, UNUSED, USER_DEFINED)}
    merges = []
    for text, i in ids.items():
        cuts = [(text[:n], text[n:]) for n in range(1, len(text))]
        cuts = [cut for cut in cuts if cut[0] in ids and cut[1] in ids]
        cuts.sort(key=lambda cut: (ids[cut[0]], ids[cut[1]]))
        merges += [(scores[i], left, right) for left, right in cuts]
    merges.sort(key=lambda merge: -merge[0])
    return [[left, right] for _, left, right in merges]


def added_tokens(texts, kinds):
    return [
        {
            "id": i,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": kinds[i] in (CONTROL, UNKNOWN),
        }
        for i, text in enumerate(texts)
        if kinds[i] in (CONTROL, UNKNOWN, USER_DEFINED)
    ]


def pieces_json(meta, texts, kinds):
    blank = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    has_prefix = meta.get("tokenizer.ggml.add_space_prefix", True)
    first = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, blank]}
    decoders = [back, {"type": "ByteFallback"}, {"type": "Fuse"}]
    if has_prefix:
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": texts[meta["tokenizer.ggml.unknown_token_id"]],
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": True,
        "vocab": {text: i for i, text in enumerate(texts)},
        "merges": merges_by_score(texts, meta["tokenizer.ggml.scores"], kinds),
    }
    split = {
        "type": "Split",
        "pattern": {"String": " "},
        "behavior": "MergedWithPrevious",
        "invert": False,
    }
    return {
        "normalizer": first if has_prefix else blank,
        "pre_tokenizer": None if has_prefix else split,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": model,
    }


def bytes_json(meta, texts):
    pre = meta["tokenizer.ggml.pre"]
    if pre not in SPLITS:
        sys.exit(
            f"convert_vocabulary: the pre-tokenizer '{pre}' is not known; known: {', '.join(SPLITS)}"
        )
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": SPLITS[pre] is None,
    }
    split = {
        "type": "Split",
        "pattern": {"Regex": SPLITS[pre]},
        "behavior": "Isolated",
        "invert": False,
    }
    steps = {"type": "Sequence", "pretokenizers": [split, byte_level]}
    model = {
        "type": "BPE",
        "vocab": {text: i for i, text in enumerate(texts)},
        "merges": [merge.split(" ", 1) for merge in meta["tokenizer.ggml.merges"]],
        "ignore_merges": pre == "llama-bpe",
    }
    return {
        "normalizer": {"type": "NFC"} if pre == "qwen2" else None,
        "pre_tokenizer": steps if SPLITS[pre] else byte_level,
        "decoder": byte_level,
        "model": model,
    }


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, payload):
    """A field of bytes, of a float or of a number (Protocol Buffers, "Encoding")."""
    if isinstance(payload, bytes):
        return varint(number << 3 | 2) + varint(len(payload)) + payload
    if isinstance(payload, float):
        return varint(number << 3 | 5) + struct.pack("<f", payload)
    return varint(number << 3) + varint(int(payload) & (1 << 64) - 1)


def model_file(meta, texts, kinds):
    """sentencepiece_model.proto: pieces, trainer (BPE, byte fallback, ids), normalizer (identity)."""
    out = bytearray()
    for text, score, kind in zip(texts, meta["tokenizer.ggml.scores"], kinds, strict=True):
        piece = field(1, text.encode()) + field(2, float(score)) + field(3, kind)
        out += field(1, piece)
    ids = {
        40: meta["tokenizer.ggml.unknown_token_id"],
        41: meta.get("tokenizer.ggml.bos_token_id", -1),
        42: meta.get("tokenizer.ggml.eos_token_id", -1),
        43: -1,
    }
    out += field(2, field(3, 2) + field(35, 1) + b"".join(field(n, i) for n, i in ids.items()))
    prefix = meta.get("tokenizer.ggml.add_space_prefix", True)
    out += field(3, field(1, b"identity") + field(3, prefix) + field(4, 0) + field(5, 1))
    return bytes(out)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    meta = Reader(sys.argv[1]).metadata()
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    texts = meta["tokenizer.ggml.tokens"]
    kinds = meta.get("tokenizer.ggml.token_type") or [NORMAL] * len(texts)
    model = meta["tokenizer.ggml.model"]
    if model == "llama":
        file = pieces_json(meta, texts, kinds)
        (folder / "tokenizer.model").write_bytes(model_file(meta, texts, kinds))
    elif model == "gpt2":
        file = bytes_json(meta, texts)
    else:
        sys.exit(
            f"convert_vocabulary: the tokenizer model '{model}' is not known; known: llama, gpt2"
        )
    file = {
        "version": "1.0",
        "added_tokens": added_tokens(texts, kinds),
        "post_processor": None,
        **file,
    }
    (folder / "tokenizer.json").write_text(json.dumps(file, ensure_ascii=False), encoding="utf-8")
    print(f"{folder}: {len(texts)} entries, {len(file['model']['merges'])} merges")


if __name__ == "__main__":
    main()
