"""Refuses includes that cmake/ORDER does not allow, and names of architectures outside model/arch.

Called by ctest (label lint). Read next: cmake/ORDER, tools/rooms.py.
"""

import re
import sys
from pathlib import Path

from lint import ROOT, report
from rooms import Room, read_order, source_files

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# Libraries that only some places may include, so that they stay out of our interfaces: for each
# header's beginning, a pattern of the files that may name it.
ONLY_IN = {
    "spdlog/": r"lib/base/log\.cc",
    "nlohmann/json.hpp": r".*\.cc",  # json_fwd.hpp only declares
    "simdjson": r".*\.cc",
    "pcre2": r"src/codec/.*\.cc",
    "utf8proc": r"src/codec/.*\.cc",
    "boost/": r"src/api/http/.*",
    "openssl/": r"src/api/(http/.*|content_id|load_socket)\.cc",
    "prometheus/": r"src/api/.*\.cc",
    "CLI/": r"apps/fathom/\w+\.cc",
    "fmt/": r".*",
    "gtest/": r"tests/.*",
    "gmock/": r"tests/.*",
    "immintrin": r"lib/kernels/.*|lib/base/(cpu|det_math|threads)\.cc|apps/fathom/peak_loops\.cc",
}

# An architecture is data: only its own file knows its name. Words are compared in lower case, after
# identifiers are split at '_' and at capitals: 'kQwen3', 'is_llama' and "LlamaForCausalLM" are found.
# Left out is phi, which is a Greek letter first.
ARCHITECTURES = frozenset(
    """
    bloom chatglm cohere cohere2 deepseek deepseek2 exaone exaone4 falcon gemma gemma2 gemma3 glm4
    gpt2 gptj gptneox granite llama mamba mamba2 minicpm3 mistral mixtral mpt nemotron olmo olmo2
    olmo3 olmoe phi2 phi3 phimoe qwen qwen2 qwen3 smollm smollm3 stablelm starcoder starcoder2
    """.split()
)
# Where such a word is data of the file format and no knowledge of an architecture.
NAMES_ALLOWED = {
    r"src/model/arch/.*": "one file per architecture, and the registry",
    r"src/codec/gguf_fixups\.(h|cc)": "the table of what GGUF leaves out of a tokenizer",
    r"src/codec/presplit\w*\.(h|cc)": "names of pre-tokenizers, as tokenizer.ggml.pre spells them",
    r"src/codec/tokenizer\w*\.(h|cc)": "names of tokenizer kinds, as tokenizer.ggml.model spells them",
    r"src/codec/builtin_templates\.(h|cc)": "names of chat formats",
}

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
CAMEL_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")


def without_comments(text: str) -> str:
    """The text with every comment blanked and all line breaks kept; strings stay."""

    def blank(match: re.Match) -> str:
        piece = match.group(0)
        return piece if piece.startswith('"') else re.sub(r"[^\n]", " ", piece)

    return COMMENT_OR_STRING.sub(blank, text)


def architecture_names(line: str) -> list[str]:
    """The architectures that a line of code names."""
    found = []
    for word in WORD.findall(line):
        parts = {word.lower()} | {part.lower() for part in CAMEL_PART.findall(word)}
        found += sorted(parts & ARCHITECTURES)
    return found


def check_include(
    file: str, room: Room | None, rooms: dict[str, Room], kind: str, header: str
) -> str | None:
    """What is wrong with one include of `file`, or nothing. `room`: None for apps, which may include all."""
    for beginning, places in ONLY_IN.items():
        if header.startswith(beginning) and not re.fullmatch(places, file):
            return f"<{header}> may be included only in {places}"
    if kind == "<":
        return None
    target = rooms.get(header.partition("/")[0])
    if target is None:
        if room is None and (ROOT / file).parent.joinpath(header).exists():
            return None
        return f'"{header}" names no room; write "room/file.h"'
    if not (ROOT / target.folder).parent.joinpath(header).exists():
        return f'"{header}" does not exist'
    if room is not None and target != room and target.name not in room.may_include:
        allowed = " ".join(room.may_include) or "no other room"
        return f'{room.name} may not include "{header}": cmake/ORDER allows {allowed}'
    return None


def check_file(path: Path, room: Room | None, rooms: dict[str, Room]) -> list[str]:
    """All findings in one file, each with file and line."""
    file = path.relative_to(ROOT).as_posix()
    names_allowed = any(re.fullmatch(pattern, file) for pattern in NAMES_ALLOWED)
    findings = []
    for number, line in enumerate(
        without_comments(path.read_text(encoding="utf-8")).splitlines(), 1
    ):
        include = INCLUDE.match(line)
        if include:
            wrong = check_include(file, room, rooms, include.group(1), include.group(2))
            findings += [f"{file}:{number}: {wrong}"] if wrong else []
        elif not names_allowed:
            findings += [
                f"{file}:{number}: '{name}' names an architecture; only src/model/arch may (elsewhere "
                "a field of LayerOptions, or a new block, says what differs)"
                for name in architecture_names(line)
            ]
    return findings


def main() -> int:
    rooms = read_order()
    findings, n_files = [], 0
    places = [(ROOT / room.folder, room) for room in rooms.values()] + [(ROOT / "apps", None)]
    for folder, room in places:
        for path in source_files(folder):
            findings += check_file(path, room, rooms)
            n_files += 1
    return report("check_layers", findings, n_files, "files")


if __name__ == "__main__":
    sys.exit(main())
