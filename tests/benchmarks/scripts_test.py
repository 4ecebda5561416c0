#!/usr/bin/env python3
"""The scripts of benchmarks/ with Python only: --help, and missing packages."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCHMARKS = pathlib.Path(__file__).resolve().parent.parent.parent / "benchmarks"
PYTHON_SHEBANGS = ("#!/usr/bin/python3", "#!/usr/bin/env python3")


def scripts():
    found = [path for path in sorted(BENCHMARKS.rglob("*.py"))
             if path.read_text("utf-8").startswith(PYTHON_SHEBANGS)]
    return [path.parent if path.name == "__main__.py" else path for path in found]


def run(script, *arguments, folder=None):
    """Runs without site-packages and Debian's dist-packages: -S."""
    return subprocess.run([sys.executable, "-S", script, *arguments], cwd=folder,
                          capture_output=True, text=True, check=False)


class ScriptsTest(unittest.TestCase):

    def test_help_needs_nothing_but_python(self):
        self.assertGreater(len(scripts()), 10)
        for script in scripts():
            with self.subTest(script=script.relative_to(BENCHMARKS)):
                done = run(script, "--help")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("usage: ", done.stdout)

    def assert_one_line(self, done, pattern):
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, pattern)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_missing_package_is_one_line(self):
        for name in ["cnn_vs_pytorch.py", "memory_vs_pytorch.py",
                     "train_vs_pytorch.py"]:
            with self.subTest(script=name):
                self.assert_one_line(run(BENCHMARKS / name),
                                     f"^{name}: needs the Python package ")

    def test_a_missing_program_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ["larger_than_device.py", "prediction_error.py",
                         "communication_overlap.py", "joint_plans.py",
                         "published_overheads.py",
                         "reading_beside_steps.py", "scaling.py",
                         "tuned_plans.py", "tuned_steps.py"]:
                with self.subTest(script=name):
                    self.assert_one_line(
                        run(BENCHMARKS / name, folder=folder),
                        f"^{name}: there is no build/release/bin/spillway$")

    def test_a_missing_environment_is_one_line_with_the_remedy(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ["cnn_vs_peers.py", "memory_vs_peers.py"]:
                with self.subTest(script=name):
                    self.assert_one_line(
                        run(BENCHMARKS / "peers" / name, folder=folder),
                        f"^{name}: there is no .*benchmarks/peers/setup$")


if __name__ == "__main__":
    unittest.main()
