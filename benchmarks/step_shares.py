#!/usr/bin/python3
"""Where the time of training steps goes on this machine: by network and op, with
the part of the machine's arithmetic and memory peak that each reaches.

Every row is one run of `spillway profile`, which measures the peaks and the
kernels in steps of the network. Nothing else should run.

Example:
  benchmarks/step_shares.py --models resnet50,googlenet --precisions fp32
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

from run_facts import run_facts, write_result
from script import run_script
from side_by_side import BATCHES

LEAST = 0.02  # of the step: smaller ops have no line


def profile(options, model, precision):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [options.spillway, "profile", f"--model={model}",
             f"--batch_size={BATCHES[model]}", f"--precision={precision}",
             f"--threads={options.threads}", "--device=cpu",
             f"--num_batches={options.steps}", "--algorithms=first",
             f"--out={pathlib.Path(folder) / 'profile.json'}", "--json=-"],
            check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    return {"model": model, "precision": precision,
            "batch_size": BATCHES[model],
            **{field: result[field] for field in
               ("step_ms", "flops_per_second", "memory_bytes_per_second",
                "ops")}}


def print_row(row):
    print(f"{row['model']} {row['precision']} batch {row['batch_size']}: "
          f"{row['step_ms']:.1f} ms, "
          f"{1000 * row['batch_size'] / row['step_ms']:.1f} images/s")
    for op in row["ops"]:
        if op["of_time"] < LEAST:
            continue
        print(f"  {op['op']:<28}{op['nodes']:>5}{op['ms']:>10.2f} ms"
              f"{100 * op['of_time']:>7.1f} % of time"
              f"{100 * op['of_flops_peak']:>7.1f} % of flops"
              f"{100 * op['of_memory_peak']:>7.1f} % of memory", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--models", default=",".join(BATCHES))
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--steps", type=int, default=10,
                        help="timed steps of each network; default 10")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--json", help="write the result to this file")
    options = parser.parse_args()
    models = options.models.split(",")
    for model in models:
        if model not in BATCHES:
            parser.error(f"--models: {model} is none of {', '.join(BATCHES)}")
    rows = []
    for model in models:
        for precision in options.precisions.split(","):
            rows.append(profile(options, model, precision))
            print_row(rows[-1])
    if options.json:
        write_result(options.json,
                     {"benchmark": "share of each op in a training step",
                      **run_facts(options.threads or None), "rows": rows})


if __name__ == "__main__":
    run_script(main)
