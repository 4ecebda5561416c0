#!/usr/bin/python3
"""Bytes that each additional image adds to a training step, here and in PyTorch.

Each number is the growth of the peak from one batch size to another, divided by
the difference in images, so that parameters and libraries cancel out:
  spillway  the arena of `spillway inspect` (predicted; a run uses exactly that)
  needed    what the backward phase reads of the forward phase, each byte once
  pytorch   the process's peak resident memory over two steps (SGD, float32,
            channels_last and NCHW, each run in a separate process)
PyTorch's methods to save memory are in peers/memory_vs_peers.py.

Needs python3-torch. Example:
  benchmarks/memory_vs_pytorch.py --model resnet50 --batches 4,12
"""

import argparse
import json
import pathlib
import subprocess
import sys

from run_facts import run_facts, write_result
from script import run_script

STEP = pathlib.Path(__file__).with_name("pytorch_step.py")


def pytorch_peak(model, batch, layout):
    """The most resident bytes during two steps."""
    done = subprocess.run(
        [sys.executable, STEP, f"--model={model}", f"--batch_size={batch}",
         f"--layout={layout}", "--device=cpu", "--warmup=1", "--steps=1",
         "--json=-"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["resident_bytes"]


def inspect(program, model, batch):
    facts = subprocess.run(
        [program, "inspect", f"--model={model}", f"--batch_size={batch}",
         "--device=cpu", "--json=-"],
        check=True, capture_output=True, text=True).stdout
    return json.loads(facts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batches", default="4,12",
                        help="two batch sizes; default 4,12")
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--json", help="write the result to this file")
    options = parser.parse_args()
    import torch  # here: --help needs no PyTorch
    small, large = (int(batch) for batch in options.batches.split(","))

    def slope(peak):
        return (peak(large) - peak(small)) / (large - small)

    def ours(field):
        return slope(
            lambda b: inspect(options.spillway, options.model, b)[field])

    rows = {"spillway": ours("unconstrained_peak_bytes"),
            "needed": ours("saved_bytes")}
    for layout in ("channels_last", "nchw"):
        rows[f"pytorch {layout}"] = slope(
            lambda b, layout=layout: pytorch_peak(options.model, b, layout))
    print(f"{options.model}: bytes for each image from batch {small} to {large}")
    for name, value in rows.items():
        print(f"{name:<26}{value / 1e6:>9.2f} MB"
              f"{value / rows['spillway']:>8.2f} x spillway")
    if options.json:
        facts = run_facts(threads=None, versions={"pytorch": torch.__version__})
        write_result(options.json,
                     {"benchmark": "bytes of a training step for each image",
                      **facts, "model": options.model,
                      "batches": [small, large], "bytes_per_image": rows})


if __name__ == "__main__":
    run_script(main)
