#!/usr/bin/env python3
"""Published overheads: the rows, the verdicts, and a few planned rows. The last needs
the program: SPILLWAY_PROGRAM."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCHMARKS = pathlib.Path(__file__).resolve().parent.parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import published_overheads  # noqa: E402
import published_rows  # noqa: E402

PROGRAM = os.environ.get("SPILLWAY_PROGRAM")


class RowsTest(unittest.TestCase):

    def test_all_thirty_points_of_monet_are_there(self):
        points = [row for row in published_rows.ROWS
                  if row.work == "MONeT" and row.budget_bytes is not None]
        self.assertEqual(len(points), 30)

    def test_each_row_has_one_budget_and_a_goal_for_each_way(self):
        for row in published_rows.ROWS:
            with self.subTest(row=row):
                budgets = (row.budget_bytes, row.part_of_peak, row.part_of_activations)
                self.assertEqual(sum(each is not None for each in budgets), 1)
                self.assertEqual(len(row.goals), len(published_rows.WAYS))

    def test_activations_are_what_the_peak_has_above_the_parameters(self):
        row = published_rows.Row("", "", "", "", 1, part_of_activations=1 / 4)
        self.assertEqual(published_overheads.budget_of(row, 1400, 100), 400 + 250)


class VerdictTest(unittest.TestCase):

    def test_an_overhead_meets_its_goal_or_misses_it(self):
        self.assertEqual(published_overheads.verdict(2.0, 2.0, 1.0), "met")
        self.assertEqual(published_overheads.verdict(2.0, 2.1, 1.0), "missed")

    def test_a_goal_below_the_bound_is_barred(self):
        self.assertEqual(published_overheads.verdict(2.0, 3.0, 2.1), "barred")

    def test_a_goal_below_the_floor_is_barred(self):
        self.assertEqual(published_overheads.verdict_unfit(2.0, 99, 100), "barred")
        self.assertEqual(published_overheads.verdict_unfit(2.0, 100, 100), "missed")

    def test_without_a_goal_there_is_no_verdict(self):
        self.assertIsNone(published_overheads.verdict(None, 3.0, 2.1))
        self.assertIsNone(published_overheads.verdict_unfit(None, 99, 100))

    def test_the_smallest_budget_is_read_from_the_error(self):
        self.assertEqual(published_overheads.smallest_budget(
            "the smallest budget with these options is 123 bytes, with"), 123)
        self.assertIsNone(published_overheads.smallest_budget("no plan"))


@unittest.skipUnless(PROGRAM, "SPILLWAY_PROGRAM is not set")
class QuickRunTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "result.json"
            subprocess.run([sys.executable, BENCHMARKS / "published_overheads.py",
                            "--quick", "--program", PROGRAM, "--json", path],
                           stdout=subprocess.DEVNULL, check=True)
            cls.rows = json.loads(path.read_text("utf-8"))["rows"]

    def test_plans_are_within_their_bytes_and_not_below_their_bound(self):
        fit = [(row, plan) for row in self.rows for plan in row["ways"].values()
               if plan["fits"]]
        self.assertEqual(len(fit), len(published_rows.WAYS))
        for row, plan in fit:
            self.assertLessEqual(plan["peak_bytes"], row["budget_bytes"])
            self.assertGreaterEqual(plan["overhead_percent"],
                                    plan["bound_percent"])

    def test_recomputation_alone_swaps_nothing(self):
        for row in self.rows:
            plan = row["ways"]["recompute"]
            self.assertEqual(plan["fits"] and plan["swapped_bytes"], 0)

    def test_a_row_that_does_not_fit_names_its_smallest_budget(self):
        unfit = [(row, plan) for row in self.rows for plan in row["ways"].values()
                 if not plan["fits"]]
        self.assertTrue(unfit)
        for row, plan in unfit:
            self.assertGreater(plan["smallest_budget_bytes"], row["budget_bytes"])


if __name__ == "__main__":
    unittest.main()
