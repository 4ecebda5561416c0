#!/usr/bin/python3
"""Predicted steps in a part of their memory: swaps and recomputation together.

Runs nothing: every number is predicted by `spillway tune` for a device profile.
For each network, machine and fraction of the unconstrained memory:
  kept    time without a budget / time of the tuned plan
  at most time without a budget / lower bound: no plan of that order of kernels
          keeps more, whatever it keeps, swaps or recomputes (docs/tuning.md)
  above   the plan's time above the bound
  swaps   what the best plan with swaps alone keeps

Example:
  benchmarks/joint_plans.py --json benchmarks/results/joint_plans.json
"""

import argparse
import statistics

from run_facts import run_facts, write_result
from script import run_script
from tuned_plans import Spillway, step_ms

MODELS = "resnet50:256,googlenet:64,inception3:64,mobilenet_v2:64,vgg16:64,densenet40_k12:64"
PROFILES = "p100_pcie,p100_nvlink,v100_16gb_nvlink,h200_pcie5"


def row(spillway, case, profile, part, peak, free_ms):
    model, batch, flags = case
    budget = int(peak * part)
    result = {"model": model, "batch_size": batch, "flags": flags,
              "profile": profile, "part_of_peak": part, "budget_bytes": budget}
    joint = spillway.tune(model, batch, profile, budget, *flags)
    swaps = spillway.tune(model, batch, profile, budget, "--lms_recompute=off", *flags)
    result["fits"] = joint is not None
    result["swaps_kept"] = swaps and free_ms / step_ms(swaps)
    if joint is None:
        return result
    return {**result, "free_ms": free_ms, "step_ms": step_ms(joint),
            "bound_ms": joint["bound"]["step_ms"],
            "bound_reason": joint["bound"]["reason"],
            "gap_percent": joint["bound"]["gap_percent"],
            "kept": free_ms / step_ms(joint),
            "kept_at_most": free_ms / joint["bound"]["step_ms"],
            "recomputed_nodes": joint["chosen"]["predicted"]["recompute"]["nodes"],
            "chosen": joint["chosen"]["name"], "tune_ms": joint["tune_ms"]}


def percent(part):
    return f"{100 * part:.1f} %" if part else "-"


def show(result):
    head = (f"{result['model']:<15}{result['batch_size']:>5}  {result['profile']:<17}"
            f"{100 * result['part_of_peak']:>5.1f} %")
    if not result["fits"]:
        return f"{head}  no plan was found"
    return (f"{head}{percent(result['kept']):>9}{percent(result['kept_at_most']):>9}"
            f"{result['gap_percent']:>8.1f} %{percent(result['swaps_kept']):>9}"
            f"{result['tune_ms']:>9.0f}")


def summary(rows):
    gaps = sorted(each["gap_percent"] for each in rows if each["fits"])
    return {"cells": len(rows), "fit": len(gaps), "median": statistics.median(gaps),
            "p90": gaps[min(len(gaps) - 1, len(gaps) * 9 // 10)], "most": gaps[-1]}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--profiles", default=PROFILES)
    parser.add_argument("--parts", default="0.5,0.25,0.1333")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--json", help="write the results to this file")
    options = parser.parse_args()
    spillway = Spillway(options.program)
    flags = [f"--precision={options.precision}"]
    rows = []
    print(f"{'model':<15}{'batch':>5}  {'profile':<17}{'part':>7}{'kept':>9}"
          f"{'at most':>9}{'above':>10}{'swaps':>9}{'tune ms':>9}")
    for entry in options.models.split(","):
        model, batch = entry.split(":")
        case = (model, int(batch), flags)
        for profile in options.profiles.split(","):
            free = spillway.tune(model, int(batch), profile, 2**40, *flags)
            peak = free["chosen"]["predicted"]["peak_device_bytes"]
            for part in options.parts.split(","):
                rows.append(row(spillway, case, profile, float(part), peak,
                                step_ms(free)))
                print(show(rows[-1]), flush=True)
    total = summary(rows)
    print(f"\nabove the bound: median {total['median']:.1f} %, "
          f"9 of 10 at most {total['p90']:.1f} %, most {total['most']:.1f} % "
          f"({total['fit']} of {total['cells']} fit)")
    if options.json:
        write_result(options.json, {"benchmark": "joint_plans", **run_facts(1),
                                    "precision": options.precision,
                                    "rows": rows, "summary": total})


if __name__ == "__main__":
    run_script(main)
