#!/usr/bin/python3
"""Measured steps of the tuner's plan, of TFLMS's choice, and of synchronous
swapping, on the CPU device with a slowed link.

For each network, within a fraction of the memory that it takes unconstrained:
  tuned   `spillway tune` with a profile measured here
  tflms   the choice of TFLMS's own search (--strategy tflms, with the budget)
  sync    TFLMS swapping all it can with synchronous copies (sync_mode 3)
`spillway bench --plan` runs the saved plans in turn, for several rounds; the
ratios are of medians over all steps. A choice that does not fit is reported.

Example:
  benchmarks/tuned_vs_tflms.py --json benchmarks/results/tuned_vs_tflms_cpu.json
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

from run_facts import run_facts, write_result
from script import run_script

DOES_NOT_FIT = 3
KINDS = {
    "tuned": [],
    "tflms": ["--strategy=tflms"],
    "sync": ["--lms=v2", "--lms_swapout_threshold=1", "--lms_swapin_ahead=1",
             "--lms_swapin_groupby=0", "--lms_sync_mode=3"]}


class Network:
    def __init__(self, options, entry, folder):
        self.model, batch = entry.split(":")
        self.batch_size = int(batch)
        self.options = options
        self.folder = pathlib.Path(folder)
        self.common = [f"--model={self.model}", f"--batch_size={batch}",
                       "--device=cpu", f"--link_gbps={options.link_gbps}"]
        self.profile = self.folder / f"{self.model}.profile.json"

    def spillway(self, command, *flags):
        """The JSON result; None if the step does not fit."""
        done = subprocess.run(
            [self.options.program, command, *self.common, *flags, "--json=-"],
            capture_output=True, text=True, check=False)
        if done.returncode not in (0, DOES_NOT_FIT):
            raise SystemExit(f"{command} {' '.join(flags)}: {done.stderr}")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def plan(self, kind):
        return self.folder / f"{self.model}.{kind}.json"

    def tune(self, kind, budget):
        flags = list(KINDS[kind])
        if kind == "tflms":
            flags.append(f"--lms_autotune_gpu_mem={budget / 2**30}")
        return self.spillway("tune", f"--device_memory={budget}",
                             f"--profile={self.profile}",
                             f"--out={self.plan(kind)}", *flags)

    def bench(self, kind):
        result = self.spillway(
            "bench", f"--plan={self.plan(kind)}", f"--profile={self.profile}",
            "--num_warmup_batches=1", f"--num_batches={self.options.steps}")
        return result["step_ms"]["all"]

    def run(self):
        self.spillway("profile", f"--out={self.profile}")
        peak = self.spillway("simulate", "--weight_decay=4e-5",
                             f"--profile={self.profile}")["peak_device_bytes"]
        budget = int(peak * self.options.part)
        tuned = {kind: self.tune(kind, budget) for kind in KINDS}
        fits = [kind for kind in KINDS if tuned[kind]]
        steps = {kind: [] for kind in fits}
        for _ in range(self.options.rounds):
            for kind in fits:
                steps[kind] += self.bench(kind)
        rows = {}
        for kind in fits:
            rows[kind] = {
                "predicted_ms": tuned[kind]["chosen"]["predicted"]["step_ms"],
                "median_ms": statistics.median(steps[kind]),
                "steps_ms": steps[kind],
                "peak_device_bytes":
                    tuned[kind]["chosen"]["predicted"]["peak_device_bytes"]}
        return {"model": self.model, "batch_size": self.batch_size,
                "unconstrained_peak_bytes": peak, "budget_bytes": budget,
                "kinds": rows}


def ratio(row, kind):
    if kind not in row["kinds"]:
        return "does not fit"
    value = (row["kinds"][kind]["median_ms"] /
             row["kinds"]["tuned"]["median_ms"])
    return f"{value:.2f}x"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument(
        "--networks",
        default="resnet20:64,googlenet:4,resnet50:4,mobilenet_v2:4")
    parser.add_argument("--part", type=float, default=0.5,
                        help="budget, as part of the unconstrained peak")
    parser.add_argument("--link_gbps", type=float, default=1)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="write the results to this file")
    options = parser.parse_args()
    result = {"benchmark": "tuned_vs_tflms", **run_facts(2), "part": options.part,
              "link_gbps": options.link_gbps, "rows": []}
    print(f"{'model':<14}{'batch':>6}{'budget':>9}{'tuned ms':>10}"
          f"{'predicted':>11}{'tflms':>14}{'sync':>14}")
    with tempfile.TemporaryDirectory() as folder:
        for entry in options.networks.split(","):
            row = Network(options, entry, folder).run()
            result["rows"].append(row)
            tuned = row["kinds"].get("tuned")
            if tuned is None:
                print(f"{row['model']:<14}{row['batch_size']:>6}  fits no plan")
                continue
            print(f"{row['model']:<14}{row['batch_size']:>6}"
                  f"{row['budget_bytes'] / 1e6:>6.0f} MB"
                  f"{tuned['median_ms']:>10.1f}{tuned['predicted_ms']:>11.1f}"
                  f"{ratio(row, 'tflms'):>14}{ratio(row, 'sync'):>14}",
                  flush=True)
    if options.json:
        write_result(options.json, result)


if __name__ == "__main__":
    run_script(main)
