#!/usr/bin/env python3
"""Writes tests/cases/tokenizer/files.json: small tokenizer files of every kind, texts, and the reference's ids.

    tools/make_tokenizer_cases.py

The vocabularies are trained on text this script writes (make_test_vocab.py's corpus); ids and decoded texts
come from the packages tokenizers, sentencepiece and tiktoken, which it needs, never from Fathom.
"""

import base64
import copy
import io
import json
import pathlib
import random

import sentencepiece
import tiktoken
import tokenizers
from make_test_vocab import corpus
from short_cases import shorten
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, trainers
from tokenizers import pre_tokenizers as pre
from tokenizers import processors as post

OUT = (
    pathlib.Path(__file__).resolve().parent.parent / "tests" / "cases" / "tokenizer" / "files.json"
)
TEXT = corpus()

TEXTS = [
    "",
    " ",
    "Hello world",
    "  The River carries 12 apples, doesn't it?  ",
    "café CAFÉ cafe\u0301 Straße ÜBER İstanbul",
    "你好世界 学习 カタカナ ひらがな 한국어",
    "a\u00a0b\u3000c\u200bd\u0085e\tf\r\n\n g",
    "x = [1, 22, 333]; // a+b != c",
    "<s>the <mask> lamp</s> [CLS] <tool> tool tools  <pad>  end",
    "\u0001\u0007\u007f \ufffd\ufeff \x00",
    "ﬁ ² ½ Ⅷ ㍿ ％ ａｂｃ",
    "नमस्ते مرحبا ١٢٣ 😀 👩\u200d👩\u200d👧 🦙",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "▁under▁score __x__",
    "e.g. it's I'm we'll 'ſ don't DON'T",
]


def random_texts(rng, n):
    alphabet = "aAbeE é\u0301ß'.,!1 23 \n\t\r<>s/中ァ한😀\u200d\u00a0▁_-²ÄIi"
    return ["".join(rng.choice(alphabet) for _ in range(rng.randint(1, 24))) for _ in range(n)]


def train(model, trainer, normalizer=None, pre_tokenizer=None):
    tokenizer = Tokenizer(model)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(TEXT.split("\n"), trainer)
    return tokenizer


def added(content, **flags):
    return AddedToken(content, **{"normalized": False, **flags})


def byte_level(pre_tokenizer=None, size=330, **options):
    tokenizer = train(
        models.BPE(**options),
        trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=sorted(pre.ByteLevel.alphabet()), show_progress=False
        ),
        pre_tokenizer=pre.ByteLevel(add_prefix_space=False),
    )
    tokenizer.pre_tokenizer = pre_tokenizer or pre.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def characters(normalizer=None, pre_tokenizer=None, decoder=None, size=220, **options):
    reserved = ["<unk>", "<s>", "</s>"]
    if options.get("byte_fallback"):
        reserved += [
            f"<0x{byte:02X}>" for byte in range(256) if byte not in (0xE4, 0x91)
        ]  # two are missing
    affixes = {key: value for key, value in options.items() if key.endswith("fix")}
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=reserved, limit_alphabet=70, show_progress=False, **affixes
    )
    tokenizer = train(models.BPE(unk_token="<unk>", **options), trainer, normalizer, pre_tokenizer)
    if decoder:
        tokenizer.decoder = decoder
    return tokenizer


def unigram(pre_tokenizer, normalizer=None, decoder=None):
    tokenizer = train(
        models.Unigram(),
        trainers.UnigramTrainer(
            vocab_size=180, unk_token="<unk>", special_tokens=["<unk>", "</s>"], show_progress=False
        ),
        normalizer,
        pre_tokenizer,
    )
    tokenizer.decoder = decoder or decoders.Metaspace()
    return tokenizer


def words(normalizer=None, pre_tokenizer=None, decoder=None, limit=100):
    tokenizer = train(
        models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=limit),
        trainers.WordPieceTrainer(
            vocab_size=220, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
        normalizer or normalizers.BertNormalizer(),
        pre_tokenizer or pre.BertPreTokenizer(),
    )
    tokenizer.model.max_input_chars_per_word = limit
    tokenizer.decoder = decoder or decoders.WordPiece()
    return tokenizer


def with_tokens(tokenizer):
    tokenizer.add_special_tokens(
        [added("<s>"), added("</s>"), added("<mask>", lstrip=True), added("<pad>", rstrip=True)]
    )
    tokenizer.add_tokens(
        [
            added("<tool>", normalized=True),
            added("tool", single_word=True),
            added("THE", normalized=True),
        ]
    )
    return tokenizer


def word_level(pre_tokenizer, normalizer=None):
    tokenizer = Tokenizer(
        models.WordLevel({w: i for i, w in enumerate(VOCABULARY)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    return tokenizer


VOCABULARY = [
    "<unk>",
    "a",
    "Hello",
    "hello",
    "world",
    "the",
    "river",
    "carries",
    "12",
    "1",
    "2",
    ",",
    "!",
    "=",
    "é",
    "你",
    "好",
    ".",
    "'",
    "x",
    " ",
    "_",
]

SPLITS = {
    "isolated": "isolated",
    "removed": "removed",
    "previous": "merged_with_previous",
    "next": "merged_with_next",
    "contiguous": "contiguous",
}


def pre_tokenizer_cases():
    """Words are characters glued by nothing: a WordLevel-free way to see every cut is a BPE without merges."""
    kinds = {
        f"split-{name}": pre.Split(Regex(r"[aeio]|\s"), behavior)
        for name, behavior in SPLITS.items()
    }
    kinds.update(
        {f"split-text-{name}": pre.Split(" ", behavior) for name, behavior in SPLITS.items()}
    )
    kinds["split-invert"] = pre.Split(Regex(r"\w+|\d|[^\w\s]+"), "removed", invert=True)
    kinds["split-ruby"] = pre.Split(Regex(r"^\h+|[a-z]{1,2}+|\W$|(?i:STRA|ä)|x*"), "isolated")
    kinds["digits"] = pre.Digits()
    kinds["digits-one"] = pre.Digits(individual_digits=True)
    kinds["punctuation"] = pre.Punctuation()
    kinds["punctuation-next"] = pre.Punctuation("merged_with_next")
    kinds["whitespace"] = pre.Whitespace()
    kinds["whitespace-split"] = pre.WhitespaceSplit()
    kinds["bert"] = pre.BertPreTokenizer()
    kinds["delimiter"] = pre.CharDelimiterSplit("e")
    kinds["scripts"] = pre.UnicodeScripts()
    kinds["fixed"] = pre.FixedLength(3)
    for scheme in ("always", "first", "never"):
        kinds[f"metaspace-{scheme}"] = pre.Metaspace(prepend_scheme=scheme)
        kinds[f"metaspace-whole-{scheme}"] = pre.Metaspace(prepend_scheme=scheme, split=False)
    kinds["words-metaspace"] = pre.Sequence([pre.WhitespaceSplit(), pre.Metaspace()])
    kinds["bytes-then-digits"] = pre.Sequence(
        [
            pre.Punctuation("contiguous"),
            pre.ByteLevel(add_prefix_space=False),
            pre.Digits(),
            pre.Split(Regex("[0-9][0-9][0-9]"), "isolated"),
        ]
    )
    kinds["bytes-prefix"] = pre.ByteLevel(add_prefix_space=True)
    return kinds


def normalizer_cases():
    return {
        "nfc": normalizers.NFC(),
        "nfd": normalizers.NFD(),
        "nfkc": normalizers.NFKC(),
        "nfkd": normalizers.NFKD(),
        "lowercase": normalizers.Lowercase(),
        "strip": normalizers.Strip(),
        "strip-left": normalizers.Strip(left=True, right=False),
        "accents": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
        "nmt": normalizers.Nmt(),
        "replace": normalizers.Replace("a", "<a>"),
        "replace-regex": normalizers.Replace(Regex(r"\s+|l*"), "_"),
        "prepend": normalizers.Prepend("▁"),
        "bytes": normalizers.ByteLevel(),
        "bert": normalizers.BertNormalizer(),
        "bert-cased": normalizers.BertNormalizer(
            lowercase=False, strip_accents=True, handle_chinese_chars=False
        ),
        "bert-raw": normalizers.BertNormalizer(
            clean_text=False, lowercase=True, strip_accents=False
        ),
    }


def see_all(pre_tokenizer=None, normalizer=None):
    """A unigram-free model that shows every character and every cut: one id a character, words told apart."""
    seen = sorted(set("".join(TEXTS)) | set("▁_<>a") | pre_alphabet())
    vocabulary = {c: i + 1 for i, c in enumerate(seen)}
    vocabulary["<unk>"] = 0
    for c in list(vocabulary)[:]:
        if len(c) == 1:
            vocabulary["##" + c] = len(vocabulary)
    tokenizer = Tokenizer(
        models.WordPiece(vocabulary, unk_token="<unk>", max_input_chars_per_word=60)
    )
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    return tokenizer


def pre_alphabet():
    return {c for c in pre.ByteLevel.alphabet()}


def strip_decoder():
    return decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )


def tokenizer_files():
    yield "byte-level", with_tokens(byte_level())
    yield "byte-level-ignore-merges", byte_level(ignore_merges=True)
    lines = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    template = byte_level(
        pre.Sequence(
            [
                pre.Split(Regex(lines), "isolated"),
                pre.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    )
    template = with_tokens(template)
    template.post_processor = post.Sequence(
        [
            post.ByteLevel(),
            post.TemplateProcessing(
                single="<s> $A </s>",
                special_tokens=[
                    ("<s>", template.token_to_id("<s>")),
                    ("</s>", template.token_to_id("</s>")),
                ],
            ),
        ]
    )
    yield "template", template
    yield (
        "byte-fallback",
        with_tokens(
            characters(
                normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
                None,
                strip_decoder(),
                size=420,
                byte_fallback=True,
                fuse_unk=True,
            )
        ),
    )
    yield "unknown-fused", characters(None, pre.Metaspace(), decoders.Metaspace(), fuse_unk=True)
    yield "unknown-apart", characters(None, pre.Whitespace(), None)
    yield (
        "prefix",
        characters(
            None,
            pre.Whitespace(),
            decoders.WordPiece(cleanup=False),
            continuing_subword_prefix="##",
        ),
    )
    suffix = characters(
        normalizers.Lowercase(), pre.Whitespace(), decoders.BPEDecoder(), end_of_word_suffix="</w>"
    )
    yield "suffix", suffix
    clip = copy.deepcopy(suffix)
    clip.decoder = decoders.Sequence(
        [decoders.ByteLevel(), decoders.Replace("</w>", " "), decoders.Strip(" ", 0, 1)]
    )
    yield "decode-bytes-replace-strip", clip
    fused = copy.deepcopy(suffix)
    fused.decoder = decoders.Sequence(
        [
            decoders.Fuse(),
            decoders.Metaspace("w"),
            decoders.Replace(Regex("[aeiou]"), "*"),
            decoders.Strip("<", 2, 2),
        ]
    )
    yield "decode-fused", fused
    ctc = copy.deepcopy(suffix)
    ctc.decoder = decoders.CTC(pad_token="a", word_delimiter_token="r", cleanup=True)
    yield "decode-ctc", ctc
    yield "unigram", with_tokens(unigram(pre.Metaspace(prepend_scheme="first")))
    yield (
        "unigram-nfkc",
        unigram(pre.Sequence([pre.WhitespaceSplit(), pre.Metaspace()]), normalizers.NFKC()),
    )
    bert = words()
    bert.post_processor = post.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    yield "word-piece", bert
    cased = with_tokens(
        words(
            normalizers.BertNormalizer(lowercase=False),
            limit=6,
            decoder=decoders.WordPiece(cleanup=False),
        )
    )
    cased.post_processor = post.RobertaProcessing(("[SEP]", 2), ("[CLS]", 1))
    yield "word-piece-cased", cased
    yield "word-level", word_level(pre.Whitespace(), normalizers.Lowercase())
    for name, kind in pre_tokenizer_cases().items():
        yield f"pre-{name}", see_all(pre_tokenizer=kind)
    for name, kind in normalizer_cases().items():
        yield f"normalize-{name}", see_all(normalizer=kind)


def encode(tokenizer, text, special, parse):
    tokenizer.encode_special_tokens = not parse
    return tokenizer.encode(text, add_special_tokens=special).ids


def decode(tokenizer, ids, special):
    """The reference's text; None where it has no answer but a panic (stripping an empty token)."""
    try:
        return tokenizer.decode(ids, skip_special_tokens=not special)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None


def json_family(name, tokenizer, texts):
    cases = []
    for text in texts:
        for special, parse in ((False, True), (True, False)):
            if (
                special
                and tokenizer.post_processor is None
                and not tokenizer.get_added_tokens_decoder()
            ):
                continue
            ids = encode(tokenizer, text, special, parse)
            cases.append(
                [
                    text,
                    special,
                    parse,
                    ids,
                    decode(tokenizer, ids, True),
                    decode(tokenizer, ids, False),
                ]
            )
    # Ids as a model may give them: any order.
    rng = random.Random(len(name))
    n = tokenizer.get_vocab_size()
    ids = [[rng.randrange(n) for _ in range(rng.randint(1, 12))] for _ in range(12)]
    decoded = [[i, decode(tokenizer, i, True), decode(tokenizer, i, False)] for i in ids]
    file = json.loads(tokenizer.to_str())
    if name.startswith(("pre-", "normalize-")):  # the words matter
        cases, decoded = [case[:4] + [None, None] for case in cases if not case[1]], []
    return {"name": name, "kind": "tokenizer.json", "file": file, "cases": cases, "decode": decoded}


def sentencepiece_families(texts):
    common = {
        "vocab_size": 330,
        "character_coverage": 0.98,
        "num_threads": 1,
        "minloglevel": 2,
        "hard_vocab_limit": False,
    }
    settings = {
        "sp-bpe": {
            "model_type": "bpe",
            "byte_fallback": True,
            "normalization_rule_name": "identity",
            "remove_extra_whitespaces": False,
            "user_defined_symbols": ["<tool>", "\n\n"],
            "vocab_size": 450,
        },
        "sp-unigram": {
            "model_type": "unigram",
            "normalization_rule_name": "identity",
            "bos_id": -1,
            "pad_id": 0,
            "eos_id": 1,
            "unk_id": 2,
            "user_defined_symbols": ["<tool>"],
            "vocab_size": 200,
        },
        "sp-unigram-bytes": {
            "model_type": "unigram",
            "normalization_rule_name": "identity",
            "byte_fallback": True,
            "add_dummy_prefix": False,
            "vocab_size": 420,
        },
    }
    for name, options in settings.items():
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXT.split("\n")), model_writer=model, **{**common, **options}
        )
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        cases = []
        for text in texts:
            if "\x00" in text or "<s>" in text:
                continue
            ids = processor.encode(text)
            cases.append([text, False, False, ids, processor.decode(ids), processor.decode(ids)])
        file = base64.b64encode(model.getvalue()).decode()
        yield {"name": name, "kind": "sentencepiece", "file": file, "cases": cases, "decode": []}


def tiktoken_family(texts):
    model = json.loads(byte_level(size=400).to_str())["model"]
    letters = {c: b for b, c in tokenizers_alphabet().items()}
    ranks = {bytes(letters[c] for c in text): i for text, i in model["vocab"].items()}
    settings = {
        "pat_str": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        "special_tokens": {"<s>": 400, "</s>": 402},
        "bos_token": None,
        "normalizer": None,
    }
    encoding = tiktoken.Encoding(
        "test",
        pat_str=settings["pat_str"],
        mergeable_ranks=ranks,
        special_tokens=settings["special_tokens"],
    )
    cases = []
    for text in texts:
        ids = encoding.encode(text, allowed_special="all")
        cases.append([text, False, True, ids, encoding.decode(ids), None])
        cases.append([text, False, False, encoding.encode(text, disallowed_special=()), None, None])
    file = "".join(f"{base64.b64encode(text).decode()} {rank}\n" for text, rank in ranks.items())
    return {
        "name": "tiktoken",
        "kind": "tiktoken",
        "file": file,
        "settings": settings,
        "cases": cases,
        "decode": [],
    }


def tokenizers_alphabet():
    """Byte to letter of the byte alphabet, by asking."""
    letters = {}
    for c in range(0x250):
        text = chr(c)
        if text in pre_alphabet():
            printable = 0x21 <= c <= 0x7E or 0xA1 <= c <= 0xAC or 0xAE <= c <= 0xFF
            if printable:
                letters[c] = text
    rest = iter(sorted(pre_alphabet() - set(letters.values())))
    for byte in range(256):
        if byte not in letters:
            letters[byte] = next(rest)
    return letters


def write(families, texts, shared, made_with):
    def line(value):
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))

    body = ",\n".join(line(family) for family in families)
    OUT.write_text(
        f'{{"made_with":{line(made_with)},"shared":{line(shared)},\n'
        f'"texts":{line(texts)},"families":[\n{body}\n]}}\n',
        encoding="ascii",
    )


def main():
    rng = random.Random(7)
    texts = TEXTS + random_texts(rng, 10)
    families = [json_family(name, tokenizer, texts) for name, tokenizer in tokenizer_files()]
    families += list(sentencepiece_families(texts))
    families.append(tiktoken_family(texts))
    shared = shorten(families, texts)
    made_with = f"tokenizers {tokenizers.__version__}, sentencepiece {sentencepiece.__version__}, tiktoken {tiktoken.__version__}"
    write(families, texts, shared, made_with)
    print(f"{OUT.name}: {len(families)} families, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
