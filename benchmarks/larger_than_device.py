#!/usr/bin/env python3
"""Training steps that do not fit their device memory, run with LMS.

For each case: without LMS the budget is refused before anything runs; the same
step without a budget and the steps with LMS inside the budget, by the tuner
with a profile measured here (--lms auto) and by TFLMS's first version (--lms
v1), then give bitwise identical losses and variables, and the predicted memory
is the measured memory. The steps run in turn, for several rounds; times are
medians over all steps.

Example:
  benchmarks/larger_than_device.py --json RESULT.json
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile

from run_facts import run_facts, write_result
from same_results import check_results
from script import comma_list, run_script

# By model: flags of the step, budget.
CASES = {
    "googlenet": (["--image_size=2048", "--batch_size=1"], "720MiB"),
    "unet3d": (["--image_size=64", "--batch_size=1"], "520MiB"),
    "resnet50": (["--batch_size=32"], "1152MiB"),
}

KINDS = {"free": [], "auto": ["--lms=auto"], "v1": ["--lms=v1"]}


def run(program, command, model, flags, expected=0):
    done = subprocess.run(
        [program, command, f"--model={model}", *flags, "--device=cpu",
         "--json=-"], capture_output=True, text=True, check=False)
    if done.returncode != expected:
        sys.exit(f"{command} {model} {' '.join(flags)}: exit status "
                 f"{done.returncode}, not {expected}\n{done.stderr}")
    return json.loads(done.stdout), done.stderr


def measure(options, model, profile):
    flags, budget = CASES[model]
    limit = [f"--device_memory={budget}"]
    _, refusal = run(options.spillway, "simulate", model, [*flags, *limit],
                     expected=3)
    run(options.spillway, "profile", model,
        [*flags, "--num_warmup_batches=1",
         f"--num_batches={options.profile_steps}", f"--out={profile}"])
    results = {}
    steps = {kind: [] for kind in KINDS}
    for _ in range(options.rounds):
        for kind, lms in KINDS.items():
            result, _ = run(
                options.spillway, "bench", model,
                [*flags, f"--profile={profile}", "--num_warmup_batches=1",
                 f"--num_batches={options.steps}", *lms,
                 *(limit if lms else [])])
            check_results(result, results.setdefault("free", result), model)
            assert result["device_allocations_in_steps"] == 0, model
            results[kind] = result
            steps[kind] += result["step_ms"]["all"]
    return {"model": model, "flags": flags, "budget": budget,
            "refused_without_lms": refusal.strip().split("\n")[-1],
            "checksum": results["free"]["checksum"],
            "kinds": {kind: {
                "step_ms": statistics.median(steps[kind]),
                "steps_ms": steps[kind],
                "predicted_step_ms": results[kind]["predicted_step_ms"],
                "peak_device_bytes":
                    results[kind]["peak_device_bytes"]["measured"],
                "peak_host_bytes": results[kind]["peak_host_bytes"]["measured"],
                "swap": results[kind]["swap"],
                "recompute": results[kind]["recompute"]} for kind in KINDS}}


def print_row(row):
    free = row["kinds"]["free"]["step_ms"]
    for kind, result in row["kinds"].items():
        print(f"{row['model']:<12}{row['budget'] if kind != 'free' else '-':>9}"
              f"  {kind:<6}{result['peak_device_bytes'] / 2**20:>8.0f} MiB"
              f"{result['peak_host_bytes'] / 2**20:>8.0f} MiB"
              f"{result['step_ms']:>9.0f} ms"
              f"{100 * free / result['step_ms']:>8.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--models", type=comma_list(CASES),
                        default=",".join(CASES))
    parser.add_argument("--profile_steps", type=int, default=3,
                        help="steps to measure kernels in")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", help="write the result to this file")
    options = parser.parse_args()
    print(f"{'model':<12}{'budget':>9}  {'LMS':<6}{'device':>12}{'host':>12}"
          f"{'step':>12}{'speed':>10}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            rows.append(measure(options, model, f"{folder}/profile.json"))
            print_row(rows[-1])
    if options.json:
        write_result(options.json,
                     {"benchmark": "training larger than the device",
                      **run_facts(threads=None), "steps": options.steps,
                      "rounds": options.rounds, "rows": rows})


if __name__ == "__main__":
    run_script(main)
