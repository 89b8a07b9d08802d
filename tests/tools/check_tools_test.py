"""Tests of the check tools: each must find what it is there to find, and leave the rest alone.

Called by ctest (label lint). Read next: tools/check_layers.py.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import check_isa_symbols  # noqa: E402
import check_layers  # noqa: E402
import check_tests  # noqa: E402
import check_tidy  # noqa: E402
import room_index  # noqa: E402
import rooms  # noqa: E402
import run_tidy  # noqa: E402
import test_summary  # noqa: E402


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


class Order(unittest.TestCase):
    def read(self, text: str) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), "cmake/ORDER", text)
            return rooms.read_order(Path(folder))

    def test_reads_a_line(self):
        read = self.read("# head\n0 | low | lib/low | | holds\n1 | high | src/high | low | more\n")
        self.assertEqual(read["high"], rooms.Room(1, "high", "src/high", ("low",), "more"))

    def test_refuses_same_level_and_unknown_rooms(self):
        for line in ("0 | b | lib/b | a | x", "1 | b | lib/b | c | x", "1 | b | lib/b"):
            with self.assertRaises(ValueError, msg=line):
                self.read(f"0 | a | lib/a | | x\n{line}\n")


class Layers(unittest.TestCase):
    def setUp(self):
        self.rooms = rooms.read_order()

    def wrong(self, file: str, room: str | None, header: str, kind: str = '"') -> str | None:
        return check_layers.check_include(file, self.rooms.get(room), self.rooms, kind, header)

    def test_allows_lower_rooms_and_the_standard_library(self):
        self.assertIsNone(self.wrong("lib/weights/x.cc", "weights", "base/error.h"))
        self.assertIsNone(self.wrong("lib/weights/x.cc", "weights", "vector", "<"))

    def test_refuses_higher_rooms(self):
        self.assertIn("may not include", self.wrong("lib/base/x.h", "base", "weights/metadata.h"))
        self.assertIn("may not include", self.wrong("src/kv/x.h", "kv", "codec/tokenizer.h"))

    def test_refuses_headers_without_a_room_or_a_file(self):
        self.assertIn("names no room", self.wrong("lib/base/x.cc", "base", "error.h"))
        self.assertIn("does not exist", self.wrong("lib/base/x.cc", "base", "base/nothing.h"))

    def test_keeps_heavy_libraries_in_their_place(self):
        self.assertIsNone(self.wrong("src/codec/x.cc", "codec", "nlohmann/json.hpp", "<"))
        self.assertIn("only in", self.wrong("src/codec/x.h", "codec", "nlohmann/json.hpp", "<"))
        self.assertIsNone(self.wrong("src/codec/x.h", "codec", "nlohmann/json_fwd.hpp", "<"))
        self.assertIn("only in", self.wrong("src/kv/x.cc", "kv", "spdlog/spdlog.h", "<"))

    def test_finds_names_of_architectures(self):
        for code, name in (
            ("if (is_llama(config)) {", "llama"),
            ('if (name == "qwen2") {', "qwen2"),
            ("extern const ArchSpec kGemma3;", "gemma3"),
            ('"MistralForCausalLM"', "mistral"),
        ):
            self.assertEqual(check_layers.architecture_names(code), [name], code)

    def test_other_words_pass(self):
        for code in ("RopeScaling::kLlama3", "double phi_0", "kSilu", "phase"):
            self.assertEqual(check_layers.architecture_names(code), [], code)

    def test_comments_do_not_count_but_strings_do(self):
        text = 'int a; // llama\n/* qwen2\n */ f("// gemma");\n'
        self.assertEqual(
            check_layers.without_comments(text).splitlines(),
            ["int a;         ", "        ", '    f("// gemma");'],
        )


class Twins(unittest.TestCase):
    def test_twin_and_excuse(self):
        self.assertEqual(check_tests.twin_of("lib/a/b.cc"), "tests/lib/a/b_test.cc")
        exempt = {"lib/a/": "reason", "src/c.cc": "reason"}
        self.assertEqual(check_tests.excuse_for("lib/a/b.cc", exempt), "lib/a/")
        self.assertEqual(check_tests.excuse_for("src/c.cc", exempt), "src/c.cc")
        self.assertIsNone(check_tests.excuse_for("src/d.cc", exempt))

    def test_an_entry_needs_a_reason(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(SystemExit):
            check_tests.read_exempt(write(Path(folder), "EXEMPT", "lib/a.cc\n"))


class IsaSymbols(unittest.TestCase):
    def findings(self, code: str) -> tuple[list[str], int]:
        with tempfile.TemporaryDirectory() as folder:
            source = write(Path(folder), "x.cc", code)
            subprocess.run(["c++", "-c", source, "-o", source.with_suffix(".o")], check=True)
            return check_isa_symbols.check_object(source.with_suffix(".o"), "avx2")

    def test_fill_alone_passes(self):
        code = "namespace { int f() { return 1; } } namespace fathom::kernels {int fill_avx2(int) { return f(); }}"
        self.assertEqual(self.findings(code), ([], 1))

    def test_weak_and_other_symbols_are_found(self):
        weak = "template <class T> T twice(T x) { return x + x; } template int twice(int);"
        self.assertIn("twice", self.findings(weak)[0][0])
        self.assertIn("helper", self.findings("int helper(int x) { return x; }")[0][0])


class TidyList(unittest.TestCase):
    CHECKS = ("bugprone-a", "bugprone-b", "google-c")

    def findings(self, *patterns: str, text: str = "") -> list[str]:
        return check_tidy.findings_in(["-*", *patterns], list(self.CHECKS), text)

    def test_good_list(self):
        text = "# -bugprone-a: noise\n"
        self.assertEqual(self.findings("bugprone-*", "-bugprone-a", "google-c", text=text), [])

    def test_what_is_found(self):
        self.assertIn("matches no check", self.findings("bugprone-", "google-c")[0])
        text = "# -google-c: noise\n"
        found = self.findings("google-c", "bugprone-*", "-google-c", text=text)
        self.assertEqual(found, ["'google-c' is cancelled further down"])
        self.assertIn("has no line", self.findings("bugprone-*", "-bugprone-a")[0])
        self.assertIn("an option is set", self.findings("google-c", text="- key: other-d.X")[0])


class TidyMemory(unittest.TestCase):
    """Two copies of one repository at different places."""

    SOURCE = 'const char* file() { return __FILE__; }\n#include "x.h"\n'

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.roots = [Path(folder.name) / "one", Path(folder.name) / "another" / "two"]
        for root in self.roots:
            write(root, ".clang-tidy", "Checks: '*'\n")
            write(root, "lib/x.h", "int twice(int x);\n")
            write(root, "lib/x.cc", self.SOURCE)

    def key(self, root: Path) -> str | None:
        command = f"c++ -I{root}/lib -o x.o -c {root}/lib/x.cc"
        entry = {"file": f"{root}/lib/x.cc", "directory": str(root), "command": command}
        return run_tidy.key_of(entry, b"version", str(root))

    def test_a_copy_at_another_place_is_known(self):
        self.assertIsNotNone(self.key(self.roots[0]))
        self.assertEqual(self.key(self.roots[0]), self.key(self.roots[1]))

    def test_what_makes_a_source_new(self):
        old = self.key(self.roots[0])
        for name, text in (
            ("lib/x.cc", self.SOURCE + "// A comment may hold NOLINT.\n"),
            ("lib/x.h", "int twice(long x);\n"),
            (".clang-tidy", "Checks: '-*'\n"),
            ("lib/.clang-tidy", "InheritParentConfig: true\n"),
        ):
            path = write(self.roots[1], name, text)
            self.assertNotEqual(self.key(self.roots[1]), old, name)
            original = self.roots[0] / name
            if original.exists():
                path.write_text(original.read_text())
            else:
                path.unlink()
        self.assertEqual(self.key(self.roots[1]), old)

    def test_the_order_is_another_one_for_every_commit(self):
        sources = [f"lib/{i}.cc" for i in range(20)]
        first, second = (run_tidy.order_for(sources, seed) for seed in ("a1", "b2"))
        self.assertEqual(first, run_tidy.order_for(sources[::-1], "a1"))
        self.assertNotEqual(first, second)
        self.assertEqual(sorted(first), sorted(second))

    def test_no_source_is_begun_after_the_deadline(self):
        past = argparse.Namespace(deadline=time.monotonic() - 1)
        self.assertIsNone(run_tidy.check("lib/x.cc", past, {}, b"version", self.roots[0]))

    def test_a_broken_source_has_no_key(self):
        write(self.roots[0], "lib/x.cc", '#include "missing.h"\n')
        self.assertIsNone(self.key(self.roots[0]))


class Summary(unittest.TestCase):
    def rules(self, min_count: int = 1, in_ci: bool = True, **tests) -> list[str]:
        return test_summary.broken_rules(test_summary.Summary(**tests), min_count, in_ci)

    def test_green(self):
        self.assertEqual(self.rules(passed=["a"], skipped={"b": "the CPU lacks avx512"}), [])
        self.assertEqual(self.rules(passed=["a"], skipped={"b": "no network"}, in_ci=False), [])

    def test_broken(self):
        self.assertEqual(self.rules(failed=["a"]), ["failed: a"])
        self.assertIn("CI=true forbids", self.rules(skipped={"b": "no network"})[0])
        self.assertIn("MIN_COUNT asks for 3", self.rules(3, passed=["a", "b"])[0])


class Heads(unittest.TestCase):
    def head(self, text: str, name: str = "x.h") -> tuple[str, list[str]]:
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            path = write(Path(folder), name, text)
            return room_index.first_sentence(path), room_index.missing_heads(path)

    def test_first_sentence(self):
        text = "// Reads v2.1 files: all\n// of them. Called by x. Read next: y.\n#pragma once\n"
        self.assertEqual(self.head(text), ("Reads v2.1 files: all of them", []))

    def test_missing(self):
        self.assertIn("first line", self.head("#pragma once\n")[1][0])
        self.assertIn("neither", self.head("// Does it.\n#pragma once\n")[1][0])


if __name__ == "__main__":
    unittest.main()
