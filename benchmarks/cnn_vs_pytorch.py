#!/usr/bin/python3
"""Training throughput of whole networks, here and in PyTorch, alternately.

Both train the same network with the same batch, plain SGD and number of threads
on the same cores and on synthetic images that lie in memory before the clock
starts; every round runs all variants once, each with its own warm-up. A speed
is batch / mean step time, as `spillway bench` defines it. PyTorch's rival for
float32 is the faster of its two layouts (NCHW and channels_last); its bfloat16
is autocast in channels_last.

Needs python3-torch. Example:
  benchmarks/cnn_vs_pytorch.py --models resnet50 --batch_size 16
"""

import argparse
import contextlib
import gc
import json
import os
import statistics
import subprocess
import tempfile
import time

import torch
from torch.nn import functional

import pytorch_networks
from run_facts import run_facts, write_result

BATCHES = {"resnet50": 16, "vgg16": 8, "googlenet": 32, "inception3": 8,
           "mobilenet_v2": 16}
LEARNING_RATE = 1e-4

# Precision: PyTorch's variants of it, as (name, memory format, autocast).
VARIANTS = {
    "fp32": [("pytorch nchw", torch.contiguous_format, False),
             ("pytorch channels_last", torch.channels_last, False)],
    "bf16": [("pytorch autocast", torch.channels_last, True)],
}


class PyTorchTraining:
    """One network, its optimizer and one batch."""

    def __init__(self, name, batch, memory_format, autocast):
        torch.manual_seed(1)
        side = pytorch_networks.NETWORKS[name][1]
        network = pytorch_networks.build(name)
        self.network = network.to(memory_format=memory_format).train()
        images = torch.empty(batch, 3, side, side)
        torch.nn.init.trunc_normal_(images, 127, 60, 7, 247)
        self.images = images.contiguous(memory_format=memory_format)
        self.labels = torch.randint(0, 999, (batch,))
        self.optimizer = torch.optim.SGD(
            (p for p in network.parameters() if p.requires_grad),
            lr=LEARNING_RATE)
        self.autocast = autocast

    def step(self):
        """Trains once; returns the seconds it took, the loss read back."""
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        context = (torch.autocast("cpu", torch.bfloat16) if self.autocast
                   else contextlib.nullcontext())
        with context:
            logits = self.network(self.images)
        loss = functional.cross_entropy(logits.float(), self.labels)
        loss.backward()
        self.optimizer.step()
        loss.item()
        return time.perf_counter() - start


def pytorch_speed(name, batch, memory_format, autocast, options):
    training = PyTorchTraining(name, batch, memory_format, autocast)
    for _ in range(options.warmup):
        training.step()
    seconds = [training.step() for _ in range(options.steps)]
    del training
    gc.collect()
    return batch / statistics.mean(seconds)


def spillway_speed(name, batch, precision, options):
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "bench.json")
        subprocess.run(
            [options.spillway, "bench", f"--model={name}",
             f"--batch_size={batch}", f"--precision={precision}",
             f"--num_warmup_batches={options.warmup}",
             f"--num_batches={options.steps}", "--optimizer=sgd",
             f"--learning_rate={LEARNING_RATE}", "--weight_decay=0",
             "--device=cpu", f"--threads={options.threads}",
             f"--json={result}"],
            check=True, stdout=subprocess.DEVNULL)
        with open(result, encoding="utf-8") as file:
            bench = json.load(file)
    expected = pytorch_networks.NETWORKS[name][2]
    assert bench["parameters"] == expected, f"{name}: another network"
    return bench["images_per_sec"]


def measure(name, precision, options):
    """Speeds of every round by variant, and the ratio of the medians."""
    batch = options.batches[name]
    speeds = {"spillway": []}
    for _ in range(options.rounds):
        speeds["spillway"].append(spillway_speed(name, batch, precision, options))
        for variant, memory_format, autocast in VARIANTS[precision]:
            speeds.setdefault(variant, []).append(
                pytorch_speed(name, batch, memory_format, autocast, options))
    medians = {variant: statistics.median(of) for variant, of in speeds.items()}
    rival = max((v for v in medians if v != "spillway"), key=medians.get)
    rounds = [ours / theirs for ours, theirs
              in zip(speeds["spillway"], speeds[rival])]
    return {"model": name, "precision": precision, "batch_size": batch,
            "images_per_sec": speeds, "medians": medians, "rival": rival,
            "ratio": medians["spillway"] / medians[rival],
            "ratio_least": min(rounds), "ratio_most": max(rounds)}


def print_row(row):
    theirs = row["medians"][row["rival"]]
    print(f"{row['model']:<13}{row['precision']:>6}{row['batch_size']:>7}"
          f"{row['medians']['spillway']:>11.2f}{theirs:>10.2f}"
          f"{row['ratio']:>8.2f}  {row['ratio_least']:.2f} to "
          f"{row['ratio_most']:.2f}  {row['rival']}", flush=True)


def comma_list(known):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"{name!r} is none of {', '.join(known)}")
        return names
    return parse


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


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--models", type=comma_list(BATCHES),
                        default=list(BATCHES), help="default: all")
    parser.add_argument("--precisions", type=comma_list(VARIANTS),
                        default=["fp32"], help="fp32 (default), bf16 or both")
    parser.add_argument("--batch_size", type=parse_batches, dest="batches",
                        default=BATCHES, metavar="N|MODEL=N,...")
    parser.add_argument("--steps", type=int, default=10, help="timed, a round")
    parser.add_argument("--warmup", type=int, default=2, help="steps before them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int,
                        default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", help="write the result here")
    return parser.parse_args()


def main():
    options = parse_options()
    torch.set_num_threads(options.threads)
    print("images a second, medians of the rounds; ratio: spillway / pytorch\n"
          f"{'model':<13}{'':>6}{'batch':>7}{'spillway':>11}{'pytorch':>10}"
          f"{'ratio':>8}  rounds        rival")
    rows = []
    for name in options.models:
        for precision in options.precisions:
            rows.append(measure(name, precision, options))
            print_row(rows[-1])
    if options.json:
        facts = {"benchmark": "CNN training throughput, synthetic images",
                 **run_facts(options.threads,
                             {"pytorch": torch.__version__}),
                 "steps": options.steps,
                 "warmup": options.warmup, "rounds": options.rounds,
                 "rows": rows}
        write_result(options.json, facts)


if __name__ == "__main__":
    main()
