#!/usr/bin/env python3
"""How much of the communication of two ranks the backward phase hides.

Two ranks of this machine, one process and one thread each, train a network over
a network that is slowed down (train --comm_gbps) until adding the gradients of
an update takes as long as the backward phase. Printed is the part of the
communication that is exposed, in which no kernel runs: measured, and predicted
from the profile of a rank and the speed of the network, which are measured just
before.

Example:
  benchmarks/communication_overlap.py --json benchmarks/results/communication_overlap_cpu.json
"""

import argparse
import json
import os
import pathlib
import statistics
import tempfile

from reading_beside_steps import SIZE, write_tensors
from run_facts import run_facts, write_result
from scaling import Program, beside_each_other, measure_network
from script import run_script

RANKS = 2
BATCHES = {"resnet50": 4, "vgg16": 2}
IMAGES = 64


def step_flags(model):
    return [f"--model={model}", f"--batch_size={BATCHES[model]}", "--threads=1",
            "--device=cpu", f"--image_size={SIZE}", "--num_classes=2",
            "--optimizer=sgd"]


def measure_profile(program, model, folder):
    """Of one rank, while another one computes the same."""
    paths = [folder / f"{model}_{rank}.json" for rank in range(RANKS)]
    beside_each_other([[program.path, "profile", *step_flags(model),
                        "--num_batches=5", f"--out={path}"] for path in paths])
    return paths[0]


def backward_ms(program, model, profile):
    step, forward = (program.json("simulate", *step_flags(model), *only,
                                  f"--profile={profile}")["step_ms"]
                     for only in [[], ["--forward_only=true"]])
    return step - forward


def slowed(link, bytes_per_second):
    """The link, and one of the rate after it."""
    rate = 1 / (1 / link["bytes_per_second"] + 1 / bytes_per_second)
    return {**link, "bytes_per_second": rate}


def predict(program, model, profile, network):
    facts = json.loads(profile.read_text("utf-8"))
    path = profile.with_name("with_network.json")
    path.write_text(json.dumps({**facts, "network": network}), "utf-8")
    result = program.json("simulate", *step_flags(model), f"--profile={path}",
                          "--schedule=creation", f"--workers={RANKS}")
    point = result["scaling"][-1]
    return {"step_ms": point["step_ms"],
            "communication_ms": point["communication_ms"],
            "exposed_ms": point["exposed_ms"]}


def run(program, model, gbps, steps, folder):
    result = folder / "train.json"
    flags = [flag for flag in step_flags(model)
             if not flag.startswith("--num_classes")]
    program.run("launch", "-n", str(RANKS), "--", "train", *flags,
                "--data=safetensors", f"--data_dir={folder}",
                f"--num_steps={steps}", "--learning_rate=0.0001",
                f"--comm_gbps={gbps}", f"--json={result}")
    comm = json.loads(result.read_text("utf-8"))["comm"]
    return {"exposed_ms": comm["exposed_ms"],
            "communication_ms": comm["exposed_ms"] + comm["hidden_ms"],
            "bytes": sum(comm["buckets"])}


def measure(program, model, real, options, folder):
    profile = measure_profile(program, model, folder)
    phase_ms = backward_ms(program, model, profile)
    gradient_bytes = run(program, model, 1e3, 1, folder)["bytes"]
    # A ring of two ranks sends as many bytes as there are.
    rate = gradient_bytes / (phase_ms * 1e-3)
    network = {**real, "between_hosts": slowed(real["between_hosts"], rate),
               "contention": 0}
    network["within_host"] = network["between_hosts"]
    predicted = predict(program, model, profile, network)
    runs = [run(program, model, rate * 1e-9, options.steps, folder)
            for _ in range(options.rounds)]
    measured = {key: statistics.median(each[key] for each in runs)
                for key in ["exposed_ms", "communication_ms"]}
    row = {"model": model, "batch_size": BATCHES[model], "backward_ms": phase_ms,
           "comm_gbps": rate * 1e-9, "predicted": predicted, "measured": measured}
    for each in [predicted, measured]:
        each["exposed_part"] = each["exposed_ms"] / each["communication_ms"]
    print(f"{model:<10}{BATCHES[model]:>6}{phase_ms:>13.0f}"
          f"{predicted['communication_ms']:>12.0f}"
          f"{measured['communication_ms']:>10.0f}"
          f"{100 * predicted['exposed_part']:>10.1f} %"
          f"{100 * measured['exposed_part']:>10.1f} %", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument("--model", action="append", choices=BATCHES,
                        help="default: all")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="write the result to this file")
    options = parser.parse_args()
    program = Program(options.program)
    print(f"{'model':<10}{'batch':>6}{'backward ms':>13}{'comm ms':>12}"
          f"{'measured':>10}{'exposed':>12}{'measured':>12}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for split in ["train", "test"]:
            write_tensors(folder / f"{split}.safetensors", IMAGES)
        _, network = measure_network(program, RANKS, name)
        rows = [measure(program, model, network, options, folder)
                for model in options.model or BATCHES]
    if options.json:
        write_result(options.json, {
            "benchmark": "communication_overlap", **run_facts(1),
            "cores": len(os.sched_getaffinity(0)), "network": network,
            "rows": rows})


if __name__ == "__main__":
    run_script(main)
