#!/usr/bin/python3
"""One epoch of mnist_deep on Fashion-MNIST, here and in PyTorch, alternately.

Both train the same network with the same batch, optimizer and number of
threads, on the same cores; images are in memory before the clock starts, and
each program times its own training steps of an epoch. Prints both times of
every round, the medians and their ratio.

Needs python3-torch. Example:
  benchmarks/train_vs_pytorch.py --spillway build/release/bin/spillway
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import tempfile
import time

from run_facts import run_facts, write_result
from script import run_script


def read_idx(folder, name, header):
    import numpy
    with gzip.open(os.path.join(folder, name)) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


class PyTorchRun:
    """Imports PyTorch only here, since --help does not need it."""

    def __init__(self, options):
        import torch
        import pytorch_networks
        torch.set_num_threads(options.threads)
        torch.manual_seed(1)
        images = read_idx(options.data_dir, "train-images-idx3-ubyte.gz", 16)
        labels = read_idx(options.data_dir, "train-labels-idx1-ubyte.gz", 8)
        scaled = images.reshape(-1, 1, 28, 28).astype("float32") / 255
        self.images = torch.from_numpy(scaled)
        self.labels = torch.from_numpy(labels.astype("int64"))
        self.batch = options.batch_size
        self.model = pytorch_networks.build("mnist_deep")
        if options.channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.version = torch.__version__

    def epoch_seconds(self):
        import torch
        from torch.nn import functional
        self.model.train()
        order = torch.randperm(len(self.images))
        steps = len(self.images) // self.batch
        start = time.perf_counter()
        for step in range(steps):
            index = order[step * self.batch:(step + 1) * self.batch]
            self.optimizer.zero_grad(set_to_none=True)
            logits = self.model(self.images[index])
            functional.cross_entropy(logits, self.labels[index]).backward()
            self.optimizer.step()
        return time.perf_counter() - start


def spillway_epoch_seconds(options):
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "train.json")
        subprocess.run(
            [options.spillway, "train", "--model=mnist_deep",
             "--data=fashion_mnist", f"--data_dir={options.data_dir}",
             "--num_epochs=1", f"--batch_size={options.batch_size}",
             "--optimizer=sgd", "--learning_rate=0.05", "--device=cpu",
             f"--threads={options.threads}", f"--json={result}"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(result, encoding="utf-8") as file:
            return json.load(file)["epochs"][0]["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--data_dir", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--batch_size", type=int, default=128)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--channels_last", action="store_true",
                        help="let PyTorch use NHWC, as Spillway does")
    parser.add_argument("--json", help="write the result here")
    options = parser.parse_args()

    pytorch = PyTorchRun(options)
    ours, theirs = [], []
    print(f"{'round':>5} {'spillway s':>11} {'pytorch s':>10}")
    for round_number in range(1, options.rounds + 1):
        ours.append(spillway_epoch_seconds(options))
        theirs.append(pytorch.epoch_seconds())
        print(f"{round_number:>5} {ours[-1]:>11.2f} {theirs[-1]:>10.2f}", flush=True)
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(f"median {statistics.median(ours):>10.2f} {statistics.median(theirs):>10.2f}"
          f"   pytorch / spillway {ratio:.2f}")
    if options.json:
        write_result(options.json,
                     {"benchmark": "mnist_deep, one epoch of Fashion-MNIST",
                      **run_facts(options.threads,
                                  {"pytorch": pytorch.version}),
                      "batch_size": options.batch_size,
                      "channels_last": options.channels_last,
                      "spillway_seconds": ours, "pytorch_seconds": theirs,
                      "pytorch_over_spillway": ratio})


if __name__ == "__main__":
    run_script(main)
