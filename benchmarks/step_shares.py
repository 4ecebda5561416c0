#!/usr/bin/python3
"""Where the time of training steps goes on this machine: by network and op, with
the part of the machine's arithmetic and memory peak that each reaches.

Every row is one run of `spillway profile`, which measures the peaks and the
kernels in steps of the network. Nothing else should run.

Examples:
  benchmarks/step_shares.py --models resnet50,googlenet --precisions fp32
  benchmarks/step_shares.py --table benchmarks/results/step_shares_cpu.json
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


def convolutions(row):
    """Convolutions and their gradients as one op."""
    ops = [op for op in row["ops"] if op["op"].startswith("Conv")]
    ms = sum(op["ms"] for op in ops)
    return {"of_time": sum(op["of_time"] for op in ops),
            "of_flops_peak": sum(op["ms"] * op["of_flops_peak"]
                                 for op in ops) / max(ms, 1e-9)}


def others(row, count=4):
    """The ops that take longest beside the convolutions."""
    ops = [op for op in row["ops"]
           if op["op"] != "all" and not op["op"].startswith("Conv")]
    return ", ".join(f"{op['op']} {100 * op['of_time']:.1f} "
                     f"({100 * op['of_memory_peak']:.0f})"
                     for op in ops[:count])


def print_table(path):
    """The table of docs/benchmarks.md."""
    print("| network | precision | images/s | of flops, % | of memory, % | "
          "convolutions: of time, % | of flops, % | next: of time (of memory), % "
          "|\n|---|---|---|---|---|---|---|---|")
    for row in json.loads(pathlib.Path(path).read_text("utf-8"))["rows"]:
        step, conv = row["ops"][0], convolutions(row)
        print(f"| {row['model']}, {row['batch_size']} | {row['precision']} "
              f"| {1000 * row['batch_size'] / row['step_ms']:.1f} "
              f"| {100 * step['of_flops_peak']:.0f} "
              f"| {100 * step['of_memory_peak']:.0f} "
              f"| {100 * conv['of_time']:.0f} "
              f"| {100 * conv['of_flops_peak']:.0f} | {others(row)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--models", default=",".join(BATCHES))
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--steps", type=int, default=10,
                        help="timed steps of each network; default 10")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--json", help="write the result to this file")
    parser.add_argument("--table", metavar="RESULT",
                        help="run nothing: print a result as a Markdown table")
    options = parser.parse_args()
    if options.table:
        print_table(options.table)
        return
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
