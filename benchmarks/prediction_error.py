#!/usr/bin/env python3
"""Compares predicted with measured step times, with and without swapping.

Every round measures the machine and the network's kernels (`spillway profile`).
It then runs the step without LMS and swapped by v1, over a link so slow that
copies matter; each run of `spillway bench` predicts its own step from that
profile before it measures it. Predicted and measured are the medians over the
rounds; a round's measured step is the median of one process's steps. The error
is the median of the rounds' errors: a machine may change its speed between two
rounds, but hardly between the profile and the steps of one.

A run during which other programs took more than --foreign of the cores says
nothing about the prediction; it is repeated, at most --tries times.

Example:
  benchmarks/prediction_error.py --models resnet20,googlenet --rounds 5
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

from run_facts import run_facts, write_result
from script import comma_list, run_script

# Model: flags for a step of 0.02 to 0.3 s on two cores.
CASES = {
    "lenet": ["--batch_size=128"],
    "cifar10_full": ["--batch_size=64"],
    "alexnet_cifar": ["--batch_size=64"],
    "resnet20": ["--batch_size=32"],
    "resnet56_v2": ["--batch_size=16"],
    "densenet40_k12": ["--batch_size=8"],
    "nasnet_cifar": ["--batch_size=4"],
    "googlenet": ["--batch_size=4", "--image_size=112"],
    "mobilenet_v2": ["--batch_size=8", "--image_size=96"],
    "resnet50": ["--batch_size=4", "--image_size=96"],
    "vgg11": ["--batch_size=4", "--image_size=64"],
    "unet2d": ["--batch_size=1", "--image_size=64"],
}
VARIANTS = {"off": ["--lms=off"], "v1": ["--lms=v1"]}


def used_seconds():
    """CPU seconds of all programs, and of the ended children of this one."""
    with open("/proc/stat", encoding="ascii") as file:
        # user, nice, system, idle, iowait, irq, softirq, steal
        ticks = [int(word) for word in file.readline().split()[1:9]]
    del ticks[3:5]
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (sum(ticks) / os.sysconf("SC_CLK_TCK"),
            children.ru_utime + children.ru_stime)


class Runner:
    """Runs the program, again if other programs disturbed it."""

    def __init__(self, options):
        self.options = options
        self.foreign = []  # of the runs that were kept: fraction of the cores

    def run_once(self, arguments):
        all_before, own_before = used_seconds()
        wall_before = os.times().elapsed
        done = subprocess.run(
            [self.options.spillway, *arguments, "--device=cpu",
             f"--threads={self.options.threads}", "--json=-"],
            capture_output=True, text=True, check=False)
        wall = os.times().elapsed - wall_before
        all_after, own_after = used_seconds()
        if done.returncode != 0:
            sys.exit(f"{' '.join(arguments)}: {done.stderr}")
        others = (all_after - all_before) - (own_after - own_before)
        return json.loads(done.stdout), max(0, others) / wall / os.cpu_count()

    def run(self, arguments):
        runs = []
        for _ in range(self.options.tries):
            runs.append(self.run_once(arguments))
            if runs[-1][1] <= self.options.foreign:
                break
        result, foreign = min(runs, key=lambda run: run[1])
        self.foreign.append(foreign)
        return result


def measure(runner, name, options):
    """The rows of one network, one per variant."""
    flags = [f"--model={name}", *CASES[name],
             f"--link_gbps={options.link_gbps}"]
    rows = {variant: {"model": name, "flags": CASES[name], "lms": variant,
                      "predicted_ms": [], "measured_ms": []}
            for variant in VARIANTS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            profile = os.path.join(folder, f"{number}.json")
            runner.run(["profile", *flags, f"--out={profile}",
                        f"--num_batches={options.steps}"])
            for variant, lms in VARIANTS.items():
                bench = runner.run(
                    ["bench", *flags, *lms, f"--profile={profile}",
                     "--num_warmup_batches=3",
                     f"--num_batches={options.steps}"])
                row = rows[variant]
                row["predicted_ms"].append(bench["predicted_step_ms"])
                row["measured_ms"].append(bench["step_ms"]["median"])
                row["swapped_bytes"] = (bench["swap"]["out_bytes"]
                                        + bench["swap"]["in_bytes"])
    return [summarize(row) for row in rows.values()]


def summarize(row):
    measured = row["measured_ms"]
    errors = [predicted_ms / measured_ms - 1 for predicted_ms, measured_ms
              in zip(row["predicted_ms"], measured)]
    return {**row,
            "error": statistics.median(errors),
            "spread": (max(measured) - min(measured))
                      / statistics.median(measured)}


def print_row(row):
    print(f"{row['model']:<16}{row['lms']:>4}"
          f"{row['swapped_bytes'] / 2**20:>10.0f} MiB"
          f"{statistics.median(row['predicted_ms']):>11.2f}"
          f"{statistics.median(row['measured_ms']):>11.2f}"
          f"{100 * row['error']:>+8.1f} %{100 * row['spread']:>8.1f} %",
          flush=True)


def percentile(values, part):
    """The smallest value such that at least `part` of all values do not exceed
    it."""
    ordered = sorted(values)
    return ordered[max(0, -int(-part * len(ordered) // 1) - 1)]


def summary(rows):
    errors = [abs(row["error"]) for row in rows]
    return {"median": statistics.median(errors), "p95": percentile(errors, 0.95)}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--models", type=comma_list(CASES),
                        default=",".join(CASES),
                        help="default: all of " + ", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30, help="timed, a run")
    parser.add_argument("--link_gbps", type=float, default=2)
    parser.add_argument("--threads", type=int,
                        default=len(os.sched_getaffinity(0)))
    parser.add_argument("--foreign", type=float, default=0.02,
                        help="fraction of the cores that other programs may "
                        "take; default 0.02")
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--json", help="write the result to this file")
    return parser.parse_args()


def main():
    options = parse_options()
    runner = Runner(options)
    print(f"{'model':<16}{'lms':>4}{'swapped':>14}{'predicted':>11}"
          f"{'measured':>11}{'error':>10}{'spread':>10}   (ms a step)")
    rows = []
    for name in options.models:
        for row in measure(runner, name, options):
            rows.append(row)
            print_row(row)
    errors = {variant: summary([row for row in rows if row["lms"] == variant])
              for variant in VARIANTS}
    errors["all"] = summary(rows)
    for variant, error in errors.items():
        print(f"|error| {variant:<4} median {100 * error['median']:.1f} %, "
              f"p95 {100 * error['p95']:.1f} %")
    disturbed = sum(part > options.foreign for part in runner.foreign)
    print(f"{disturbed} of {len(runner.foreign)} runs were disturbed by other "
          "programs")
    if options.json:
        write_result(options.json,
                     {"benchmark": "predicted against measured step time",
                      **run_facts(options.threads),
                      "rounds": options.rounds, "steps": options.steps,
                      "link_gbps": options.link_gbps, "rows": rows,
                      "absolute_error": errors,
                      "disturbed_runs": disturbed,
                      "runs": len(runner.foreign)})


if __name__ == "__main__":
    run_script(main)
