#!/usr/bin/python3
"""Measured steps of the tuner's plans on the CPU device with a slowed link,
beside the step without a budget and other choices in the same memory.

For each network, with a profile measured here:
  free    without a budget
and for each part of the memory that this step takes:
  tuned   `spillway tune`: tensors swapped or recomputed
  swaps   the same, without recomputation
  tflms   the choice of TFLMS's own search (--strategy tflms, with the budget)
  sync    TFLMS swapping all it can with synchronous copies (sync_mode 3)
`spillway bench --plan` runs the saved plans in turn, for several rounds; times
are medians over all steps. A choice that does not fit is reported. All of them
must give the losses and the checksum of the step without a budget, and take
the bytes that were predicted.

Example:
  benchmarks/tuned_steps.py --json benchmarks/results/tuned_steps_cpu.json
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

from run_facts import run_facts, write_result
from same_results import check_results
from script import run_script

DOES_NOT_FIT = 3
KINDS = {
    "tuned": [],
    "swaps": ["--lms_recompute=off"],
    "tflms": ["--strategy=tflms"],
    "sync": ["--lms=v2", "--lms_swapout_threshold=1", "--lms_swapin_ahead=1",
             "--lms_swapin_groupby=0", "--lms_sync_mode=3"]}
# Seconds to find any of the plans.
TIME_LIMIT = 60


class Choice:
    """A plan, and its steps as they are measured."""

    def __init__(self, kind, part, budget, path, predicted):
        self.kind = kind
        self.part = part
        self.budget = budget
        self.path = path
        self.predicted = predicted
        self.steps_ms = []

    def row(self):
        median = statistics.median(self.steps_ms)
        return {"kind": self.kind, "part": self.part,
                "budget_bytes": self.budget,
                "predicted_ms": self.predicted["step_ms"],
                "median_ms": median, "steps_ms": self.steps_ms,
                "error": self.predicted["step_ms"] / median - 1,
                "peak_device_bytes": self.predicted["peak_device_bytes"]}


class Network:
    def __init__(self, options, entry, folder):
        self.model, batch = entry.split(":")
        self.batch_size = int(batch)
        self.options = options
        self.folder = pathlib.Path(folder)
        self.common = [f"--model={self.model}", f"--batch_size={batch}",
                       "--device=cpu", f"--link_gbps={options.link_gbps}"]
        self.profile = self.folder / f"{self.model}.profile.json"
        self.first = None  # result of the step without a budget

    def spillway(self, command, *flags):
        """The JSON result; None if the step does not fit."""
        done = subprocess.run(
            [self.options.program, command, *self.common, *flags, "--json=-"],
            capture_output=True, text=True, check=False)
        if done.returncode not in (0, DOES_NOT_FIT):
            raise SystemExit(f"{command} {' '.join(flags)}: {done.stderr}")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def choose(self, kind, part, budget, flags):
        """None: it does not fit."""
        path = self.folder / f"{self.model}.{kind}.{part}.json"
        tuned = self.spillway("tune", f"--profile={self.profile}",
                              f"--device_memory={budget}",
                              f"--time_limit={TIME_LIMIT}", f"--out={path}",
                              *flags)
        if tuned is None:
            return None
        return Choice(kind, part, budget, path, tuned["chosen"]["predicted"])

    def choices(self, peak):
        free = self.choose("free", 1, 2 * peak, [])
        yield free
        for part in self.options.parts:
            budget = int(peak * part)
            for kind in self.options.kinds:
                flags = list(KINDS[kind])
                if kind == "tflms":
                    flags.append(f"--lms_autotune_gpu_mem={budget / 2**30}")
                choice = self.choose(kind, part, budget, flags)
                if choice is None:
                    print(f"{self.model:<14}{part:>6}  {kind:<7}does not fit",
                          flush=True)
                else:
                    yield choice

    def measure(self, choice):
        result = self.spillway(
            "bench", f"--plan={choice.path}", f"--profile={self.profile}",
            "--num_warmup_batches=1", f"--num_batches={self.options.steps}")
        choice.steps_ms += result["step_ms"]["all"]
        self.first = self.first or result
        check_results(result, self.first, choice.path.name)

    def run(self):
        self.spillway("profile", f"--out={self.profile}")
        peak = self.spillway("simulate", "--weight_decay=4e-5",
                             f"--profile={self.profile}")["peak_device_bytes"]
        choices = list(self.choices(peak))
        for _ in range(self.options.rounds):
            for choice in choices:
                self.measure(choice)
        return {"model": self.model, "batch_size": self.batch_size,
                "unconstrained_peak_bytes": peak,
                "choices": [choice.row() for choice in choices]}


def print_row(row):
    free, *others = row["choices"]
    print(f"{row['model']:<14}{'':>6}  {'free':<7}{free['median_ms']:>10.1f}"
          f"{free['predicted_ms']:>11.1f}{100 * free['error']:>+8.1f} %")
    for choice in others:
        kept = 100 * free["median_ms"] / choice["median_ms"]
        print(f"{row['model']:<14}{choice['part']:>6}  {choice['kind']:<7}"
              f"{choice['median_ms']:>10.1f}{choice['predicted_ms']:>11.1f}"
              f"{100 * choice['error']:>+8.1f} %{kept:>8.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument(
        "--networks",
        default="resnet20:64,googlenet:16,resnet50:8,mobilenet_v2:8,"
        "densenet40_k12:16,inception3:8")
    parser.add_argument("--parts", default="0.5,0.3",
                        help="budgets, as parts of the memory without one")
    parser.add_argument("--kinds", default="tuned,swaps",
                        help=f"of {', '.join(KINDS)}")
    parser.add_argument("--link_gbps", type=float, default=1)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="write the results to this file")
    options = parser.parse_args()
    options.parts = [float(part) for part in options.parts.split(",")]
    options.kinds = options.kinds.split(",")
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"--kinds: {kind} is none of {', '.join(KINDS)}")
    result = {"benchmark": "tuned_steps", **run_facts(2),
              "link_gbps": options.link_gbps, "rows": []}
    print(f"{'model':<14}{'part':>6}  {'choice':<7}{'step ms':>10}"
          f"{'predicted':>11}{'error':>10}{'kept':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for entry in options.networks.split(","):
            row = Network(options, entry, folder).run()
            result["rows"].append(row)
            print_row(row)
    if options.json:
        write_result(options.json, result)


if __name__ == "__main__":
    run_script(main)
