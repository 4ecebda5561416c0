#!/usr/bin/env python3
"""The GPU suite: how it divides its time, the tables of invented results, and,
if SPILLWAY_BUNDLE names a folder with bin/spillway, all of it on the devices
that every machine has."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SUITE = ROOT / "benchmarks/gpu_suite"
sys.path.insert(0, str(SUITE))

import publish  # noqa: E402
import tables  # noqa: E402
import variables  # noqa: E402
from programs import Clock, Failed  # noqa: E402
from sections import Case, Section, run_sections  # noqa: E402


class SectionsTest(unittest.TestCase):
    """On a clock that only cases advance."""

    def setUp(self):
        self.time = 1000.0
        self.saved = []

    def case(self, name, takes, thought=None):
        def run():
            self.time += takes
            return {"ran": True}
        return Case({"name": name}, run, takes if thought is None else thought)

    def run_all(self, seconds, *sections):
        bundle = types.SimpleNamespace(clock=Clock(seconds, lambda: self.time))
        made = [Section(name, name, share, lambda *_, c=cases: c)
                for name, share, cases in sections]
        return run_sections(made, bundle, lambda _: None,
                            lambda rows: self.saved.append(dict(rows)))

    def test_a_section_ends_with_its_share(self):
        rows = self.run_all(100, ("a", 1, [self.case(n, 25) for n in range(4)]),
                            ("b", 1, [self.case(n, 25) for n in range(4)]))
        for name in "ab":
            ran = [row.get("ran", False) for row in rows[name]]
            self.assertEqual(ran, [True, True, False, False])
            self.assertEqual([row.get("not_reached", False)
                              for row in rows[name]], [not r for r in ran])
        self.assertEqual(self.time, 1100)

    def test_what_is_left_goes_to_the_next(self):
        rows = self.run_all(100, ("a", 3, [self.case(0, 5)]),
                            ("b", 1, [self.case(n, 20) for n in range(6)]))
        self.assertEqual(sum(row.get("ran", False) for row in rows["b"]), 4)

    def test_a_shorter_case_may_still_fit(self):
        rows = self.run_all(30, ("a", 1, [self.case(0, 20), self.case(1, 20),
                                          self.case(2, 5)]))
        self.assertEqual([row.get("ran", False) for row in rows["a"]],
                         [True, False, True])

    def test_a_failure_is_a_row_and_the_rest_goes_on(self):
        def fail():
            raise Failed("bench: exit status 1: broken")
        rows = self.run_all(100, ("a", 1, [Case({"name": 0}, fail),
                                           self.case(1, 5)]))
        self.assertEqual(rows["a"][0]["error"],
                         "Failed: bench: exit status 1: broken")
        self.assertTrue(rows["a"][1]["ran"])

    def test_rows_are_saved_after_each_section(self):
        self.run_all(100, ("a", 1, [self.case(0, 5)]),
                     ("b", 1, [self.case(0, 5)]))
        self.assertEqual([list(rows) for rows in self.saved],
                         [["a"], ["a", "b"]])


class VariablesTest(unittest.TestCase):
    def test_changes_are_compared_with_the_changes_wanted(self):
        start = {"w": numpy.array([1, 1]), "b": numpy.array([0, 2])}
        want = {"w": numpy.array([1, 5]), "b": numpy.array([3, 2])}
        got = {"w": numpy.array([1, 4]), "b": numpy.array([3, 2])}
        found = variables.compare_changes(start, want, got)
        self.assertEqual(found["worst_variable"], "w")
        self.assertAlmostEqual(found["worst_change_error"], 1 / 4)
        self.assertAlmostEqual(found["change_error"], (1 / 4) / 2**0.5)

    def test_variables_that_hardly_changed_are_left_out(self):
        start = {"w": numpy.array([1.0]), "b": numpy.array([1.0])}
        want = {"w": numpy.array([2.0]), "b": numpy.array([1.0 + 1e-7])}
        got = {"w": numpy.array([2.0]), "b": numpy.array([1.0])}
        found = variables.compare_changes(start, want, got)
        self.assertEqual(found["compared_variables"], 1)
        self.assertEqual(found["worst_change_error"], 0)


def throughput_row(**more):
    return {"model": "resnet50", "precision": "bf16", "batch_size": 64,
            "first_images_per_sec": 900.0, "images_per_sec": 1000.0,
            "graph_images_per_sec": 1100.0, "ok": True, **more}


def peer_row(method, **more):
    return {"model": "resnet50", "precision": "bf16", "batch_size": 64,
            "method": method, **more}


def step_row(**more):
    return {"model": "resnet50", "precision": "tf32", "budget_gib": 16,
            "multiple": 1.33, "batch_size": 280, "images_per_sec": 400.0,
            "kept_percent": 90.0, "measured_ms": 700.0, "predicted_ms": 707.0,
            "prediction_error_percent": 1.0, "above_bound_percent": 7.0,
            "peak_bytes": {"predicted": 10, "measured": 10},
            "out_link_percent": 97.0, "in_link_percent": None,
            "compute_idle_ms": 20.0, "swapped_bytes": 5_000_000_000,
            "ok": True, **more}


class TablesTest(unittest.TestCase):
    def cells(self, text):
        return [[cell.strip() for cell in line.strip("|\n").split("|")]
                for line in text.splitlines()]

    def test_the_better_of_both_sides_is_compared(self):
        peers = [peer_row("eager", images_per_sec=800.0),
                 peer_row("compile", images_per_sec=1000.0)]
        line = self.cells(tables.throughput_table([throughput_row()], peers))[2]
        self.assertEqual(line[3:], ["900.0", "1,000.0", "1,100.0", "800.0",
                                    "1,000.0", "1.10"])

    def test_a_goal_that_is_missed_says_so(self):
        peers = [peer_row("eager", images_per_sec=2200.0)]
        line = self.cells(tables.throughput_table([throughput_row()], peers))[2]
        self.assertEqual(line[-2:], ["-", "0.50 (missed)"])
        step = self.cells(tables.budgets_table([step_row()], []))[2]
        self.assertIn("7.0 (missed)", step)  # above the bound
        self.assertIn("1.0", step)  # off its prediction
        self.assertIn("90", step)  # kept
        slower = tables.budgets_table([step_row(kept_percent=70.0)], [])
        self.assertIn("70 (missed)", slower)

    def test_rows_without_results_say_why(self):
        text = tables.budgets_table(
            [{"budget_gib": 8, "multiple": 2, "not_reached": True},
             {"budget_gib": 8, "multiple": 4, "error": "Failed: no | memory"}],
            [{"budget_gib": 8, "multiple": 2, "method": "save_on_cpu",
              "out_of_memory": True}])
        lines = self.cells(text)
        self.assertIn("not reached", lines[2])
        self.assertIn("out of memory", lines[2])
        self.assertIn("Failed: no / memory", lines[3])
        self.assertEqual(len({len(line) for line in lines}), 1)

    def test_what_does_not_hold_cannot_be_overlooked(self):
        tests = tables.tests_table(
            [{"program": "p", "tests": 3, "failed": 1, "skipped": 0,
              "failed_names": ["A.b"], "ok": False}])
        self.assertIn("1 failed: A.b", tests)
        bits = tables.bits_table(
            [{"model": "lenet", "batch_size": 1, "ok": False, "ways": {
                "v1": {"same_bits": False, "exact_memory": True},
                "v2": {"same_bits": True, "exact_memory": False}}}])
        self.assertIn("v1: OTHER bits, v2: same bits, MEMORY NOT", bits)


    def test_rows_without_time_are_counted(self):
        text = tables.format_report(
            {"gpu": "G", "date": "today", "versions": {"v": 1},
             "titles": {"sanitizer": "S", "budgets": "Within"},
             "sections": {
                 "sanitizer": [{"tool": "memcheck", "not_reached": True}],
                 "budgets": [step_row(), step_row(multiple=2, not_reached=True)]}})
        self.assertNotIn("memcheck", text)
        self.assertIn("### S\n\n1 of 1 rows: no time", text)
        self.assertIn("|\n\n1 of 2 rows: no time", text)
        self.assertTrue(text.startswith("Measured on G, today: v 1.\n\n### S"))


class PublishTest(unittest.TestCase):
    def test_results_replace_what_was_between_the_marks(self):
        old = f"a\n{publish.BEGIN}old\n{publish.END}b\n"
        new = publish.with_results(old, "new\n")
        self.assertEqual(new, f"a\n{publish.BEGIN}\nnew\n\n{publish.END}b\n")
        self.assertEqual(publish.with_results(new, "new\n"), new)

    def test_a_document_without_marks_is_refused(self):
        with self.assertRaises(ValueError):
            publish.with_results("a\n", "new\n")

    def test_the_document_is_as_the_results_are(self):
        done = subprocess.run([sys.executable, SUITE / "publish.py", "--check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class WholeSuiteTest(unittest.TestCase):
    """The command as a user runs it, on the device SPILLWAY_DEVICE."""

    def run_suite(self, folder, device, *arguments):
        return subprocess.run(
            [sys.executable, SUITE, "--quick", "--seconds=5000",
             f"--device={device}",
             f"--bundle={os.environ.get('SPILLWAY_BUNDLE', '')}",
             f"--out={folder}", *arguments],
            capture_output=True, text=True, check=False,
            env={**os.environ, "OMP_WAIT_POLICY": "passive"})

    def setUp(self):
        if "SPILLWAY_BUNDLE" not in os.environ:
            self.skipTest("SPILLWAY_BUNDLE names no folder")

    def test_everything_holds(self):
        device = os.environ["SPILLWAY_DEVICE"]
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_suite(
                folder, device, *(f"--only={name}" for name in [
                    "bits", "beside", "throughput", "budgets"]))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            out = pathlib.Path(folder)
            self.assertEqual(sorted(path.name for path in out.iterdir()),
                             ["raw.tar.gz", "results.json", "results.md"])
            result = json.loads((out / "results.json").read_text("utf-8"))
            rows = result["sections"]
            self.assertFalse([row for each in rows.values() for row in each
                              if "error" in row or row.get("not_reached")])
            self.assertTrue(all(way["same_bits"] and way["exact_memory"]
                                for row in rows["bits"]
                                for way in row["ways"].values()))
            self.assertEqual([row["reference"] for row in rows["beside"]],
                             ["cpu"])
            swapped = [row for row in rows["budgets"] if row["swaps"]]
            self.assertTrue(swapped)
            for row in swapped:
                self.assertGreater(row["swapped_bytes"], 0)
                self.assertLessEqual(row["peak_bytes"]["measured"],
                                     row["budget_gib"] * 2**30)
            self.assertIn("### Within a budget",
                          (out / "results.md").read_text("utf-8"))
            (self.check_gpu if device == "cuda" else self.check_cpu)(result)

    def check_cpu(self, result):
        self.assertIn("oneDNN", result["versions"]["libraries"])

    def check_gpu(self, result):
        """Graphs, the driver's peak, the libraries' algorithms."""
        self.assertIn("cuDNN", result["versions"]["libraries"])
        rows = result["sections"]
        for row in rows["bits"]:
            self.assertLessEqual({"graph", "v1 graph"}, set(row["ways"]))
        for row in rows["throughput"]:
            self.assertGreater(row["graph_images_per_sec"], 0)
            self.assertTrue(row["algorithms"])
            self.assertEqual(row["peak_bytes"]["driver"],
                             row["peak_bytes"]["measured"])

    def test_without_the_device_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_suite(folder, "cuda:77")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"^gpu_suite: .*--device")


if __name__ == "__main__":
    unittest.main()
