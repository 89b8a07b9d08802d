"""What tokenizer cases say more than once goes: texts, equal answers, usual flags, equal vocabularies.

Called by make_tokenizer_cases.py; tests/src/codec reads the short form back.
"""

import json

SPECIAL, PARSE = 1, 2  # what a case asks for, as bits
ADDED_DEFAULTS = {"single_word": False, "lstrip": False, "rstrip": False, "special": False}


def short_text(text, expected):
    """A decoded text as the file has it: true where it is the expected one."""
    return True if text is not None and text == expected else text


def short_cases(cases, texts):
    """[text's place, [bits, ...], ids, whole, without control tokens]: settings of one answer side by side."""
    rows = {}
    for text, special, parse, ids, whole, other in cases:
        answer = [ids, short_text(whole, text), short_text(other, whole)]
        key = json.dumps([text, answer])
        row = rows.setdefault(key, [texts.index(text), [], *answer])
        row[1].append(SPECIAL * special + PARSE * parse)
    for row in rows.values():
        while row[-1] is None:
            row.pop()
    return list(rows.values())


def short_file(file):
    """A tokenizer.json without what has its usual value; a vocabulary is its texts in the order of their ids."""
    tokens = []
    for token in file["added_tokens"]:
        usual = {**ADDED_DEFAULTS, "normalized": not token["special"]}
        tokens.append({key: value for key, value in token.items() if usual.get(key) != value})
    model = {
        key: value
        for key, value in file["model"].items()
        if value is not None and value is not False
    }
    if isinstance(model["vocab"], dict) and sorted(model["vocab"].values()) == list(
        range(len(model["vocab"]))
    ):
        model["vocab"] = sorted(model["vocab"], key=model["vocab"].get)
    rest = {key: value for key, value in file.items() if value is not None}
    return {**rest, "added_tokens": tokens, "model": model}


def share(families):
    """The vocabularies and merges that several files have, by name; the files then hold "@NAME"."""
    shared = {}
    for key in ("vocab", "merges"):
        users = {}
        for family in families:
            if family["kind"] == "tokenizer.json" and key in family["file"]["model"]:
                model = family["file"]["model"]
                users.setdefault(json.dumps(model[key]), []).append(model)
        for text, same in users.items():
            if len(same) > 1 and len(text) > 40:
                name = f"{key}{len(shared)}"
                shared[name] = json.loads(text)
                for model in same:
                    model[key] = f"@{name}"
    return shared


def shorten(families, texts):
    """What is said more than once goes: texts, equal answers, usual flags."""
    for family in families:
        family["cases"] = short_cases(family["cases"], texts)
        family["decode"] = [
            [ids, whole, short_text(other, whole)] for ids, whole, other in family["decode"]
        ]
        if family["kind"] == "tokenizer.json":
            family["file"] = short_file(family["file"])
    return share(families)
