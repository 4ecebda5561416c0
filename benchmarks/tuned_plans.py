#!/usr/bin/python3
"""Predicted steps of tuned swap plans, compared with their lower bound and TFLMS.

Runs nothing: every number is predicted by `spillway tune` for a device profile.
For each network, machine and fraction of the unconstrained memory:
  tuned   the plan that the tuner chooses
  bound   no plan of that order of kernels is faster (docs/tuning.md)
  tflms   the choice of TFLMS's own search, planned and simulated by Spillway
  sync    TFLMS swapping all it can with synchronous copies (sync_mode 3)
Finally, the published case: 1.33 times the largest batch that fits the machine.

Example:
  benchmarks/tuned_plans.py --json benchmarks/results/tuned_plans.json
"""

import argparse
import json
import pathlib
import subprocess

from run_facts import run_facts, write_result
from script import run_script

PROFILES = pathlib.Path(__file__).resolve().parent.parent / "simulator/profiles"
FITS, DOES_NOT_FIT = 0, 3


class Spillway:
    def __init__(self, program):
        self.program = program

    def json(self, command, *flags):
        """The JSON result, or None if the step does not fit."""
        done = subprocess.run(
            [self.program, command, "--device=cpu", *flags, "--json=-"],
            capture_output=True, text=True, check=False)
        if done.returncode not in (FITS, DOES_NOT_FIT):
            raise SystemExit(f"{command} {' '.join(flags)}: {done.stderr}")
        return json.loads(done.stdout) if done.returncode == FITS else None

    def tune(self, model, batch, profile, budget, *flags):
        return self.json("tune", f"--model={model}", f"--batch_size={batch}",
                         f"--profile={PROFILES / profile}.json",
                         f"--device_memory={budget}",
                         "--host_memory=1TB", *flags)


def step_ms(result):
    return result and result["chosen"]["predicted"]["step_ms"]


def row(spillway, model, batch, profile, part, peak):
    budget = int(peak * part)
    tuned = spillway.tune(model, batch, profile, budget)
    result = {"model": model, "batch_size": batch, "profile": profile,
              "part_of_peak": part, "budget_bytes": budget,
              "fits": tuned is not None}
    if tuned is None:
        return result
    tflms = spillway.tune(model, batch, profile, budget, "--strategy=tflms",
                          f"--lms_autotune_gpu_mem={budget / 2**30}")
    sync = spillway.tune(model, batch, profile, budget, "--lms=v2",
                         "--lms_swapout_threshold=1", "--lms_swapin_ahead=1",
                         "--lms_swapin_groupby=0", "--lms_sync_mode=3")
    return {**result,
            "tuned_ms": step_ms(tuned), "chosen": tuned["chosen"]["name"],
            "bound_ms": tuned["bound"]["step_ms"],
            "bound_reason": tuned["bound"]["reason"],
            "gap_percent": tuned["bound"]["gap_percent"],
            "tune_ms": tuned["tune_ms"],
            "tflms_ms": step_ms(tflms), "sync_ms": step_ms(sync)}


def show(result):
    head = (f"{result['model']:<12}{result['batch_size']:>6}  "
            f"{result['profile']:<14}{100 * result['part_of_peak']:>4.0f} %  ")
    if not result["fits"]:
        return head + "fits no plan"
    def other(name):
        ms = result[name]
        return f"{ms / result['tuned_ms']:>8.2f}" if ms else "       -"
    return (head + f"{result['tuned_ms']:>10.1f}{result['bound_ms']:>10.1f}"
            f"{result['gap_percent']:>7.1f} %{other('tflms_ms')}"
            f"{other('sync_ms')}{result['tune_ms']:>9.0f}")


def published(spillway, model, profile):
    """The fraction of the throughput that remains at 1.33 times the batch that
    fits without LMS."""
    memory = json.loads((PROFILES / f"{profile}.json").read_text())["memory_bytes"]
    fits = spillway.json("simulate", f"--model={model}",
                         "--find_max_batch", f"--device_memory={memory}",
                         "--schedule=creation", "--weight_decay=4e-5")
    small = fits["max_batch_size"]
    large = small * 4 // 3
    free = spillway.tune(model, small, profile, memory)
    tuned = spillway.tune(model, large, profile, memory)
    tflms = spillway.tune(model, large, profile, memory, "--strategy=tflms")

    def speed(result):
        return result and result["chosen"]["predicted"]["images_per_sec"]

    def kept(result):
        return result and speed(result) / speed(free)

    return {"model": model, "profile": profile, "batch_that_fits": small,
            "batch": large, "images_per_sec_that_fits": speed(free),
            "tuned_images_per_sec": speed(tuned), "tuned_kept": kept(tuned),
            "tflms_images_per_sec": speed(tflms), "tflms_kept": kept(tflms),
            "published_kept": 21 / 255}


def percent(part):
    return f"{100 * part:.1f} %" if part else "does not fit"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument("--models",
                        default="resnet50:64,vgg16:64,googlenet:64,inception3:64")
    parser.add_argument("--profiles", default="p100_pcie,p100_nvlink,h200_pcie5")
    parser.add_argument("--parts", default="0.75,0.5,0.35")
    parser.add_argument("--json", help="write the results to this file")
    options = parser.parse_args()
    spillway = Spillway(options.program)
    result = {"benchmark": "tuned_plans", **run_facts(1), "rows": [],
              "published_case": []}
    print(f"{'model':<12}{'batch':>6}  {'profile':<14}{'part':>6}  {'tuned ms':>10}"
          f"{'bound ms':>10}{'above':>9}{'tflms x':>8}{'sync x':>8}{'tune ms':>9}")
    for entry in options.models.split(","):
        model, batch = entry.split(":")
        unswapped = spillway.json("simulate", f"--model={model}",
                                  f"--batch_size={batch}",
                                  "--weight_decay=4e-5")
        for profile in options.profiles.split(","):
            for part in options.parts.split(","):
                each = row(spillway, model, int(batch), profile, float(part),
                           unswapped["peak_device_bytes"])
                result["rows"].append(each)
                print(show(each), flush=True)
    for profile in ("p100_nvlink", "p100_pcie"):
        case = published(spillway, "resnet50", profile)
        result["published_case"].append(case)
        print(f"resnet50 on {profile}: batch {case['batch']} (fits: "
              f"{case['batch_that_fits']}) keeps {percent(case['tuned_kept'])}, "
              f"TFLMS's choice {percent(case['tflms_kept'])}, published "
              f"{percent(case['published_kept'])}", flush=True)
    if options.json:
        write_result(options.json, result)


if __name__ == "__main__":
    run_script(main)
