#!/usr/bin/python3
"""Training from a folder of JPEG files, beside training from memory.

Each network is trained twice in turn, with the same batch, steps and threads:
from photographs of 375 x 500 pixels (image_folder: decoded, cropped and resized
on reader threads while steps run) and from a file of tensors that lies in
memory (safetensors). Their ratio is what reading costs where it shares the
cores with the steps; data_wait is how long steps waited for their batch.

Example:
  benchmarks/reading_beside_steps.py --json benchmarks/results/reading_beside_steps_cpu.json
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile

from run_facts import run_facts, write_result
from script import run_script

PHOTOGRAPHS = 256
SIZE = 224
BATCHES = {"alexnet": 32, "mobilenet_v2": 16, "googlenet": 16, "resnet50": 8}


def write_tensors(path, count):
    """A safetensors file of `count` random images, labels 0 and 1."""
    pixels = random.Random(1).randbytes(count * SIZE * SIZE * 3)
    labels = b"".join((i % 2).to_bytes(8, "little") for i in range(count))
    end = len(pixels)
    header = json.dumps(
        {"images": {"dtype": "U8", "shape": [count, SIZE, SIZE, 3],
                    "data_offsets": [0, end]},
         "labels": {"dtype": "I64", "shape": [count],
                    "data_offsets": [end, end + len(labels)]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + pixels + labels)


def make_data(folder, options):
    """The folders of both kinds, by the name of --data."""
    folders = {name: folder / name for name in ["image_folder", "safetensors"]}
    program = pathlib.Path(options.spillway).with_name("write_photographs")
    subprocess.run([program, folders["image_folder"], str(PHOTOGRAPHS)],
                   check=True, capture_output=True, text=True)
    folders["safetensors"].mkdir()
    for name, count in [("train", PHOTOGRAPHS), ("test", 2)]:
        write_tensors(folders["safetensors"] / f"{name}.safetensors", count)
    return folders


def train(model, steps, data, folder, options):
    """The JSON result of a training."""
    result = folder / "train.json"
    subprocess.run(
        [options.spillway, "train", f"--model={model}", f"--data={data}",
         f"--data_dir={folder / data}", f"--batch_size={BATCHES[model]}",
         f"--image_size={SIZE}", f"--num_steps={steps}", "--optimizer=sgd",
         "--learning_rate=0.0001", f"--threads={options.threads}",
         "--device=cpu", f"--json={result}"],
        check=True, capture_output=True, text=True)
    epochs = json.loads(result.read_text("utf-8"))["epochs"]
    return {key: sum(epoch[key] for epoch in epochs)
            for key in ["seconds", "data_wait_seconds"]}


def measure(model, folder, options):
    """The step of each kind of data: a long run less a short one, so that what
    happens once is in neither."""
    rounds = []
    few, many = options.steps, 3 * options.steps
    for _ in range(options.rounds):
        row = {}
        for data in ["image_folder", "safetensors"]:
            short, long = (train(model, steps, data, folder, options)
                           for steps in [few, many])
            row[data] = {key: (long[key] - short[key]) / (many - few)
                         for key in short}
        rounds.append(row)
        print(".", end="", flush=True)
    step_s = {data: statistics.median(r[data]["seconds"] for r in rounds)
              for data in rounds[0]}
    return {"model": model, "batch_size": BATCHES[model],
            "images_per_sec": {data: BATCHES[model] / seconds
                               for data, seconds in step_s.items()},
            "ratio": statistics.median(
                r["safetensors"]["seconds"] / r["image_folder"]["seconds"]
                for r in rounds),
            "data_wait_part": statistics.median(
                max(0, r["image_folder"]["data_wait_seconds"])
                / r["image_folder"]["seconds"] for r in rounds)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--model", action="append", choices=BATCHES,
                        help="default: all")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int,
                        default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", help="write the result to this file")
    options = parser.parse_args()
    if not pathlib.Path(options.spillway).exists():
        raise FileNotFoundError(2, "", options.spillway)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_data(folder, options)
        for model in options.model or BATCHES:
            row = measure(model, folder, options)
            rows.append(row)
            speeds = row["images_per_sec"]
            print(f" {model:<14}{row['batch_size']:>4}  from JPEG "
                  f"{speeds['image_folder']:.1f} images/s, from memory "
                  f"{speeds['safetensors']:.1f}: {row['ratio']:.2f}; waited for "
                  f"{100 * row['data_wait_part']:.1f} % of the time")
    if options.json:
        write_result(options.json, {"benchmark": "reading_beside_steps",
                                    **run_facts(options.threads), "rows": rows})


if __name__ == "__main__":
    run_script(main)
