#!/usr/bin/env python3
"""Several ranks on this machine, trained on Fashion-MNIST.

Three tables:
  threads  rows per second of two ranks with one thread each, beside one rank
           with two threads and the same rows an update, run in turn
  reduce   the four ways of --reduce by two ranks: bytes that a rank gives to
           collectives in an update, time of an update, test accuracy
  singa    the settings of Apache SINGA's MNIST example (batch 64, rate 0.005,
           momentum 0.9, weight decay 1e-5) by four ranks, beside one rank with
           four micro-batches: losses and accuracies of each epoch

Example:
  benchmarks/ranks.py --json benchmarks/results/ranks.json
"""

import argparse
import json
import os
import statistics
import tempfile

from run_facts import run_facts, write_result
from scaling import Program
from script import run_script

DATA = ["--data=fashion_mnist", "--device=cpu", "--seed=1"]

# Of one rank.
THREADS_CASES = [("mnist_deep", 50), ("alexnet_cifar", 32), ("resnet20", 16),
                 ("lenet", 64)]

REDUCE = {
    "plain": [],
    "half, float16": ["--reduce=half"],
    "half, bfloat16": ["--reduce=half", "--wire=bf16"],
    "sparse, 1 %": ["--reduce=sparse", "--topk=true", "--spars=0.01"],
    "partial": ["--reduce=partial"],
}
REDUCE_FLAGS = ["--model=lenet", "--batch_size=32", "--threads=1",
                "--optimizer=momentum", "--learning_rate=0.02", "--num_epochs=2"]

SINGA_FLAGS = ["--model=lenet", "--batch_size=64", "--optimizer=momentum",
               "--learning_rate=0.005", "--weight_decay=1e-5", "--tail=drop"]
SINGA_RANKS = 4


def train(program, ranks, flags, folder):
    path = os.path.join(folder, "train.json")
    launch = ["launch", "-n", str(ranks), "--"] if ranks > 1 else []
    program.run(*launch, "train", *DATA, *flags, f"--json={path}")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def rows_per_second(program, ranks, threads, case, steps, folder):
    """From two lengths, so that what happens once does not count."""
    model, batch = case
    seconds = []
    for updates in [5, 5 + steps]:
        result = train(program, ranks, [
            f"--model={model}", f"--batch_size={2 * batch // ranks}",
            f"--threads={threads}", "--optimizer=sgd", "--test_iter=1",
            "--test_interval=1000000", f"--num_steps={updates}"], folder)
        seconds.append(result["epochs"][-1]["seconds"])
    return 2 * batch * steps / (seconds[1] - seconds[0])


def threads_rows(program, options, folder):
    rows = []
    print(f"{'model':<15}{'batch':>6}{'1 rank x 2':>12}{'2 ranks x 1':>13}"
          f"{'ratio':>8}")
    for case in THREADS_CASES:
        pairs = []
        for _ in range(options.rounds):
            one = rows_per_second(program, 1, 2, case, options.steps, folder)
            two = rows_per_second(program, 2, 1, case, options.steps, folder)
            pairs.append((one, two, two / one))
        one, two, ratio = (statistics.median(column) for column in zip(*pairs))
        rows.append({"model": case[0], "batch_size": case[1],
                     "one_rank_rows_per_sec": one,
                     "two_ranks_rows_per_sec": two, "ratio": ratio,
                     "ratios": [pair[2] for pair in pairs]})
        print(f"{case[0]:<15}{case[1]:>6}{one:>12.0f}{two:>13.0f}{ratio:>8.2f}",
              flush=True)
    return rows


def reduce_rows(program, folder):
    rows = []
    print(f"\n{'reduce':<16}{'bytes an update':>16}{'ms':>8}{'exposed':>9}"
          f"{'accuracy':>10}")
    for name, flags in REDUCE.items():
        result = train(program, 2, [*REDUCE_FLAGS, *flags], folder)
        epochs = result["epochs"]
        updates = result["steps_done"]
        row = {"reduce": name, "bytes": result["comm"]["bytes"] / updates,
               "update_ms": 1e3 * sum(each["seconds"] for each in epochs)
                            / updates,
               "exposed_ms": result["comm"]["exposed_ms"],
               "test_accuracy": epochs[-1]["test_accuracy"]}
        rows.append(row)
        print(f"{name:<16}{row['bytes']:>16.0f}{row['update_ms']:>8.1f}"
              f"{row['exposed_ms']:>9.1f}{row['test_accuracy']:>10.4f}",
              flush=True)
    return rows


def singa_rows(program, epochs, folder):
    length = f"--num_epochs={epochs}"
    runs = {
        "one rank": train(program, 1, [
            *SINGA_FLAGS, length, "--threads=2", "--train_algo=looped_minibatch",
            f"--parallel_batches={SINGA_RANKS}"], folder),
        "four ranks": train(program, SINGA_RANKS, [
            *SINGA_FLAGS, length, "--threads=1"], folder)}
    print(f"\n{'epoch':>5}" + "".join(f"{name + ': loss':>18}{'test':>9}"
                                      for name in runs))
    rows = []
    for epoch in range(epochs):
        row = {"epoch": epoch + 1}
        for name, result in runs.items():
            row[name] = {key: result["epochs"][epoch][key]
                         for key in ["loss", "accuracy", "test_accuracy"]}
        rows.append(row)
        print(f"{epoch + 1:>5}" + "".join(
            f"{row[name]['loss']:>18.4f}{row[name]['test_accuracy']:>9.4f}"
            for name in runs), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=10, help="of singa")
    parser.add_argument("--only", choices=["threads", "reduce", "singa"])
    parser.add_argument("--json", help="write the results to this file")
    options = parser.parse_args()
    program = Program(options.program)
    result = {"benchmark": "ranks", **run_facts(2)}
    with tempfile.TemporaryDirectory() as folder:
        if options.only in [None, "threads"]:
            result["threads"] = threads_rows(program, options, folder)
        if options.only in [None, "reduce"]:
            result["reduce"] = reduce_rows(program, folder)
        if options.only in [None, "singa"]:
            result["singa"] = singa_rows(program, options.epochs, folder)
    if options.json:
        write_result(options.json, result)


if __name__ == "__main__":
    run_script(main)
