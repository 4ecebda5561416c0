"""Training speed of networks here and in other frameworks, measured alternately.

All train the same network with the same batch, plain SGD, and the same number
of threads on the same cores, on synthetic images that are in memory before the
clock starts. Each run is a separate process with its own warm-up, and every
round runs all variants once. A speed is batch / mean step time, as `spillway
bench` defines it. A variant that fails is not tried again; the others continue.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from network_facts import check_parameters
from run_facts import run_facts, write_result
from script import comma_list, last_line
from step_program import LEARNING_RATE

BATCHES = {"resnet50": 16, "vgg16": 8, "googlenet": 32, "inception3": 8,
           "inception4": 4, "densenet40_k12": 64, "mobilenet_v2": 16,
           "nasnet_cifar": 32, "unet2d": 2, "resnet20": 128, "mnist_deep": 128}
OURS = "spillway"


class Failed(Exception):
    """A run failed; the message has the reason."""


def run_step(command, folder, options):
    """The JSON result of a program that trains steps."""
    result = pathlib.Path(folder) / "step.json"
    try:
        done = subprocess.run(
            [*command, f"--json={result}"], capture_output=True, text=True,
            check=False, timeout=options.timeout)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"took more than {options.timeout} s") from error
    if done.returncode != 0:
        raise Failed(last_line(done.stderr))
    return json.loads(result.read_text(encoding="utf-8"))


def spillway_command(model, precision, options):
    return [options.spillway, "bench", f"--model={model}",
            f"--batch_size={options.batches[model]}",
            f"--precision={precision}",
            f"--num_warmup_batches={options.warmup}",
            f"--num_batches={options.steps}", "--optimizer=sgd",
            f"--learning_rate={LEARNING_RATE}", "--weight_decay=0",
            "--device=cpu", f"--threads={options.threads}"]


def peer_command(variant, model, precision, options):
    """`variant`: the command of a program with step_program.py's flags."""
    return [*variant, f"--model={model}", f"--precision={precision}",
            f"--batch_size={options.batches[model]}",
            f"--warmup={options.warmup}", f"--steps={options.steps}",
            f"--threads={options.threads}"]


class Comparison:
    """One network in one precision, in several rounds."""

    def __init__(self, model, precision, variants, options):
        self.model, self.precision, self.options = model, precision, options
        self.commands = {OURS: spillway_command(model, precision, options)}
        for name, variant in variants.items():
            self.commands[name] = peer_command(variant, model, precision, options)
        self.speeds, self.errors, self.versions = {}, {}, {}

    def run_variant(self, name):
        with tempfile.TemporaryDirectory() as folder:
            result = run_step(self.commands[name], folder, self.options)
        if name == OURS:
            check_parameters(self.model, result["parameters"])
        self.speeds.setdefault(name, []).append(result["images_per_sec"])
        self.versions |= {key: result[key] for key in
                          ("pytorch", "tensorflow", "jax") if key in result}

    def run_round(self):
        for name in self.commands:
            if name in self.errors or OURS in self.errors:
                continue
            try:
                self.run_variant(name)
            except Failed as error:
                self.errors[name] = str(error)

    def run(self):
        """The row of the result."""
        for _ in range(self.options.rounds):
            self.run_round()
        speeds = {name: of for name, of in self.speeds.items()
                  if name not in self.errors}
        return {"model": self.model, "precision": self.precision,
                "batch_size": self.options.batches[self.model],
                "images_per_sec": speeds, "errors": self.errors,
                **compare(speeds)}


def compare(speeds):
    """Spillway compared with the fastest other, by the medians of the
    rounds."""
    medians = {name: statistics.median(of) for name, of in speeds.items()}
    others = [name for name in medians if name != OURS]
    if OURS not in medians or not others:
        return {"medians": medians}
    rival = max(others, key=medians.get)
    rounds = [ours / theirs for ours, theirs in zip(speeds[OURS], speeds[rival])]
    return {"medians": medians, "rival": rival,
            "ratio": medians[OURS] / medians[rival],
            "ratio_least": min(rounds), "ratio_most": max(rounds)}


def header(names):
    cells = "".join(f"{name:>{width(name)}}" for name in names)
    return (f"images/s, medians of the rounds; ratio: {OURS} / the best of "
            f"the others\n{'model':<13}{'batch':>6}{cells}{'ratio':>7}  rounds")


def width(name):
    return max(len(name), 7) + 2


def format_row(row, names):
    """A line of the table, and one for each variant that failed."""
    cells = "".join(
        f"{row['medians'][name]:>{width(name)}.2f}" if name in row["medians"]
        else f"{'-':>{width(name)}}" for name in names)
    line = f"{row['model']:<13}{row['batch_size']:>6}{cells}"
    if "ratio" in row:
        line += (f"{row['ratio']:>7.2f}  {row['ratio_least']:.2f} to "
                 f"{row['ratio_most']:.2f}")
    return "\n".join([line, *(f"  {name}: {error}"
                              for name, error in row["errors"].items())])


def parse_batches(text):
    """"16" for all, or "resnet50=16,vgg16=8" for some."""
    batches = dict(BATCHES)
    for item in text.split(","):
        name, _, number = item.rpartition("=")
        if not number.isdigit() or int(number) < 1 or name not in ["", *BATCHES]:
            raise argparse.ArgumentTypeError(f"{item!r} is neither N nor MODEL=N")
        names = [name] if name else BATCHES
        batches.update(dict.fromkeys(names, int(number)))
    return batches


def make_parser(description, precisions):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--models", type=comma_list(BATCHES),
                        default=list(BATCHES), help="default: all of "
                        + ", ".join(BATCHES))
    parser.add_argument("--precisions", type=comma_list(precisions),
                        default=["fp32"], help="fp32 (default), bf16 or both")
    parser.add_argument("--batch_size", type=parse_batches, dest="batches",
                        default=BATCHES, metavar="N|MODEL=N,...")
    parser.add_argument("--steps", type=int, default=10, help="timed, a round")
    parser.add_argument("--warmup", type=int, default=2, help="steps before them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int,
                        default=len(os.sched_getaffinity(0)),
                        help="of every program, on as many cores; default: all")
    parser.add_argument("--timeout", type=float, default=900,
                        help="timeout of one run, in seconds")
    parser.add_argument("--json", help="write the result here")
    return parser


def run_comparisons(variants, options):
    """Measures, prints and writes all rows. `variants`: the command of each, by
    precision and name."""
    if not pathlib.Path(options.spillway).exists():
        raise FileNotFoundError(2, "no such program", options.spillway)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:options.threads])  # inherited by children
    rows, versions = [], {}
    for precision in options.precisions:
        names = [OURS, *variants[precision]]
        print(f"{precision}: {header(names)}", flush=True)
        for model in options.models:
            comparison = Comparison(model, precision, variants[precision], options)
            rows.append(comparison.run())
            versions |= comparison.versions
            print(format_row(rows[-1], names), flush=True)
    if options.json:
        write_result(options.json, {
            "benchmark": "CNN training throughput, synthetic images",
            **run_facts(options.threads, versions), "steps": options.steps,
            "warmup": options.warmup, "rounds": options.rounds, "rows": rows})
