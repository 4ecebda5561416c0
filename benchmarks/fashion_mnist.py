#!/usr/bin/python3
"""Trains LeNet on Fashion-MNIST by each loop and each optimizer.

Each row is one `spillway train`; its test accuracy after so many epochs must
reach the goal. The last rows compare large-batch SGD (32 batches an update),
with warm-up and without, to the small batches that it replaces: its accuracy
should be as good, and clearly worse without the warm-up.

Example:
  benchmarks/fashion_mnist.py --json benchmarks/results/fashion_mnist_cpu.json
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

from run_facts import run_facts, write_result
from script import run_script

GOAL = 0.88
COMMON = ["--model=lenet", "--data=fashion_mnist", "--device=cpu", "--seed=1"]

# Name: epochs, flags.
LOOPS = {
    "minibatch, 64": (4, ["--batch_size=64"]),
    "looped_minibatch, 4 x 16": (4, [
        "--train_algo=looped_minibatch", "--parallel_batches=4",
        "--batch_size=16"]),
    "allreduce_parallel_batches, 4 x 16": (4, [
        "--train_algo=allreduce_parallel_batches", "--parallel_batches=4",
        "--batch_size=16"]),
    "allreduce, 16 rows": (3, ["--train_algo=allreduce", "--batch_size=16"]),
}
LOOP_OPTIMIZER = ["--optimizer=momentum", "--learning_rate=0.02"]

OPTIMIZERS = {
    "sgd": (6, ["--learning_rate=0.1"]),
    "momentum": (4, ["--learning_rate=0.02"]),
    "velocity": (4, ["--learning_rate=0.02"]),
    "nesterov": (4, ["--learning_rate=0.02"]),
    "adagrad": (4, ["--learning_rate=0.02"]),
    "rmsprop": (4, ["--learning_rate=0.001"]),
    "adam": (4, ["--learning_rate=0.001"]),
    "adamw": (4, ["--learning_rate=0.001", "--weight_decay=0.01"]),
    "lars": (6, ["--learning_rate=1"]),
}

LARGE_BATCH = {
    "small batches": (12, [
        "--optimizer=momentum", "--batch_size=32", "--learning_rate=0.02"]),
    "32 batches an update, warm-up": (12, [
        "--optimizer=lbsgd", "--batch_scale=32", "--batch_size=32",
        "--warmup_epochs=4", "--learning_rate=0.02"]),
    "32 batches an update, no warm-up": (12, [
        "--optimizer=lbsgd", "--batch_scale=32", "--batch_size=32",
        "--warmup_epochs=0", "--learning_rate=0.02"]),
}


def rows():
    for name, (epochs, flags) in LOOPS.items():
        yield "loop", name, epochs, flags + LOOP_OPTIMIZER
    for name, (epochs, flags) in OPTIMIZERS.items():
        yield ("optimizer", name, epochs,
               ["--batch_size=64", f"--optimizer={name}"] + flags)
    for name, (epochs, flags) in LARGE_BATCH.items():
        yield "large batch", name, epochs, flags


def train(program, epochs, flags, folder):
    result = folder / "result.json"
    subprocess.run(
        [program, "train", *COMMON, *flags, f"--num_epochs={epochs}",
         f"--json={result}"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(result.read_text())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument("--only", default="",
                        help="rows whose group or name has this text")
    parser.add_argument("--json", help="write the results to this file")
    options = parser.parse_args()
    results = []
    print(f"{'group':<13}{'row':<36}{'epochs':>7}{'accuracy':>10}"
          f"{'s an epoch':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for group, name, epochs, flags in rows():
            if options.only not in group and options.only not in name:
                continue
            run = train(options.program, epochs, flags, pathlib.Path(folder))
            accuracies = [epoch["test_accuracy"] for epoch in run["epochs"]]
            seconds = sum(epoch["seconds"] for epoch in run["epochs"])
            results.append({
                "group": group, "name": name, "flags": flags,
                "epochs": epochs, "test_accuracies": accuracies,
                "seconds_per_epoch": seconds / epochs,
                "peak_device_bytes": run["peak_device_bytes"]["measured"]})
            print(f"{group:<13}{name:<36}{epochs:>7}{accuracies[-1]:>10.4f}"
                  f"{seconds / epochs:>12.1f}", flush=True)
    missed = [row["name"] for row in results
              if row["group"] != "large batch"
              and max(row["test_accuracies"]) < GOAL]
    if missed:
        print(f"below {GOAL}: {', '.join(missed)}")
    if options.json:
        write_result(options.json, {"benchmark": "fashion_mnist",
                                    **run_facts(2), "goal": GOAL,
                                    "rows": results})


if __name__ == "__main__":
    run_script(main)
