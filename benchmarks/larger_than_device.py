#!/usr/bin/env python3
"""Training steps that do not fit their device memory, run with LMS.

For each case: without LMS the budget is refused before anything runs; the same
step without a budget and the step with LMS inside the budget then give bitwise
identical losses and variables, and the predicted memory is the measured memory.

Example:
  benchmarks/larger_than_device.py --json RESULT.json
"""

import argparse
import json
import subprocess
import sys

from run_facts import run_facts, write_result
from script import run_script

# Model, flags of the step, budget.
CASES = [
    ("googlenet", ["--image_size=2048", "--batch_size=1"], "720MiB"),
    ("unet3d", ["--image_size=64", "--batch_size=1"], "520MiB"),
    ("resnet50", ["--batch_size=32"], "1152MiB"),
]


def run(program, command, model, flags, expected=0):
    done = subprocess.run(
        [program, command, f"--model={model}", *flags, "--device=cpu",
         "--json=-"], capture_output=True, text=True, check=False)
    if done.returncode != expected:
        sys.exit(f"{command} {model} {' '.join(flags)}: exit status "
                 f"{done.returncode}, not {expected}\n{done.stderr}")
    return json.loads(done.stdout), done.stderr


def measure(program, case, steps):
    model, flags, budget = case
    limit = [f"--device_memory={budget}"]
    timing = ["--num_warmup_batches=1", f"--num_batches={steps}"]
    _, refusal = run(program, "simulate", model, [*flags, *limit], expected=3)
    free, _ = run(program, "bench", model, [*flags, *timing])
    swapped, _ = run(program, "bench", model,
                     [*flags, *timing, *limit, "--lms=v1"])
    assert swapped["losses"] == free["losses"], f"{model}: other losses"
    assert swapped["checksum"] == free["checksum"], f"{model}: other variables"
    for result in (free, swapped):
        for space in ("peak_device_bytes", "peak_host_bytes"):
            peak = result[space]
            assert peak["predicted"] == peak["measured"], f"{model}: {space}"
        assert result["device_allocations_in_steps"] == 0, model
    return {"model": model, "flags": flags, "budget": budget,
            "refused_without_lms": refusal.strip().split("\n")[-1],
            "peak_device_bytes": {"without_budget":
                                  free["peak_device_bytes"]["measured"],
                                  "with_lms":
                                  swapped["peak_device_bytes"]["measured"]},
            "peak_host_bytes": swapped["peak_host_bytes"]["measured"],
            "step_ms": {"without_budget": free["step_ms"]["median"],
                        "with_lms": swapped["step_ms"]["median"]},
            "swap": swapped["swap"], "checksum": swapped["checksum"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--json", help="write the result to this file")
    options = parser.parse_args()
    print(f"{'model':<12}{'budget':>9}{'free peak':>12}{'LMS peak':>12}"
          f"{'host':>12}{'free step':>11}{'LMS step':>11}")
    rows = []
    for case in CASES:
        row = measure(options.spillway, case, options.steps)
        rows.append(row)
        peak, step = row["peak_device_bytes"], row["step_ms"]
        print(f"{row['model']:<12}{row['budget']:>9}"
              f"{peak['without_budget'] / 2**20:>8.0f} MiB"
              f"{peak['with_lms'] / 2**20:>8.0f} MiB"
              f"{row['peak_host_bytes'] / 2**20:>8.0f} MiB"
              f"{step['without_budget']:>8.0f} ms{step['with_lms']:>8.0f} ms",
              flush=True)
    if options.json:
        write_result(options.json,
                     {"benchmark": "training larger than the device",
                      **run_facts(threads=None), "steps": options.steps,
                      "rows": rows})


if __name__ == "__main__":
    run_script(main)
