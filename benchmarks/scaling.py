#!/usr/bin/env python3
"""Predicted scaling over ranks, beside published and measured scaling.

Three tables:
  predicted  training steps of networks on 1 to 4,096 ranks of a machine with
             P100s; one tuned plan each, priced for every number of ranks
  published  efficiencies that others have measured, and the prediction for
             their machine, network, batch and number of GPUs
  measured   steps of 1 to 4 ranks on this machine, one thread and one process
             each: `spillway launch ... train`, and the prediction

For the third, the profile of a rank and the numbers of the network are measured
just before, with as many processes at the same time as there are ranks; so is
how much a rank's steps scatter, since all wait for the last rank. The step of a
run is the difference of two runs of different lengths, so that what happens
once is not in it. --without_runs leaves the third table out.

Example:
  benchmarks/scaling.py --json benchmarks/results/scaling.json
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from run_facts import run_facts, write_result
from script import run_script

RANKS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]

# Profile, and flags of the network. Latencies, and rates within a host, are
# assumed; rates between hosts are those of the sources.
MACHINES = {
    "4 x P100, 25 Gbit/s": ("p100_pcie", {
        "network_gbps": 3.125, "network_latency_us": 5, "ranks_per_host": 4,
        "intra_host_gbps": 10, "intra_host_latency_us": 5}),
    "4 x P100 NVLink, 100 Gbit/s": ("p100_nvlink", {
        "network_gbps": 12.5, "network_latency_us": 3, "ranks_per_host": 4,
        "intra_host_gbps": 30, "intra_host_latency_us": 5}),
    "8 x P100 NVLink, 50 Gbit/s": ("p100_nvlink", {
        "network_gbps": 6.25, "network_latency_us": 5, "ranks_per_host": 8,
        "intra_host_gbps": 30, "intra_host_latency_us": 5}),
}
HOROVOD, DDL, BIG_BASIN = MACHINES

NETWORKS = [("resnet50", 64), ("vgg16", 64), ("nasnetlarge", 16)]

HOROVOD_SOURCE = "Horovod, docs/benchmarks.rst: 128 servers with 4 Pascal GPUs"
PUBLISHED = [
    {"model": "inception3", "batch_size": 64, "machine": HOROVOD, "ranks": 512,
     "efficiency": 0.90, "source": HOROVOD_SOURCE},
    {"model": "resnet101", "batch_size": 64, "machine": HOROVOD, "ranks": 512,
     "efficiency": 0.90, "source": HOROVOD_SOURCE},
    {"model": "vgg16", "batch_size": 64, "machine": HOROVOD, "ranks": 512,
     "efficiency": 0.68, "source": HOROVOD_SOURCE},
    {"model": "vgg16", "batch_size": 64, "machine": HOROVOD, "ranks": 128,
     "efficiency": 0.79,
     "source": "Horovod, earlier README: 32 servers with 4 Pascal GPUs"},
    {"model": "resnet50", "batch_size": 32, "machine": DDL, "ranks": 256,
     "efficiency": 0.95, "source": "Cho et al., PowerAI DDL (2017), Caffe"},
    {"model": "resnet50", "batch_size": 32, "machine": BIG_BASIN, "ranks": 256,
     "over": 8, "efficiency": 0.90,
     "source": "Goyal et al., ImageNet in 1 Hour (2017), over 8 GPUs"},
    {"model": "inception3", "batch_size": 64, "machine": BIG_BASIN, "ranks": 8,
     "efficiency": 7.99 / 8, "source": "TensorFlow benchmarks (2017), DGX-1"},
    {"model": "resnet50", "batch_size": 64, "machine": BIG_BASIN, "ranks": 8,
     "efficiency": 7.91 / 8, "source": "TensorFlow benchmarks (2017), DGX-1"},
]

# Trained on Fashion-MNIST.
MEASURED = [("mnist_deep", 50), ("alexnet_cifar", 32), ("resnet20", 16)]


class Program:
    """The program, and the one that measures all-reduces."""

    def __init__(self, path):
        self.path = path
        if not pathlib.Path(path).exists():
            raise FileNotFoundError(2, "", path)
        self.speed = str(pathlib.Path(path).with_name("all_reduce_speed"))

    def json(self, *arguments):
        done = subprocess.run([self.path, *arguments, "--json=-"],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def run(self, *arguments):
        subprocess.run([self.path, *arguments], capture_output=True, text=True,
                       check=True)


def as_flags(values):
    return [f"--{name}={value}" for name, value in values.items()]


def tune(program, model, batch, machine, ranks):
    profile, network = MACHINES[machine]
    return program.json(
        "tune", f"--model={model}", f"--batch_size={batch}", "--device=cpu",
        f"--profile={profile}", f"--workers={','.join(map(str, ranks))}",
        *as_flags(network))


def predicted_rows(program):
    rows = []
    for model, batch in NETWORKS:
        result = tune(program, model, batch, HOROVOD, RANKS)
        rows.append({"model": model, "batch_size": batch, "machine": HOROVOD,
                     "bucket_bytes": result["buckets"]["chosen"],
                     "chosen": result["chosen"]["name"],
                     "scaling": result["scaling"]})
        print(f"\n{model}, batch {batch}, {HOROVOD}, buckets of "
              f"{result['buckets']['chosen'] >> 20} MiB")
        for point in result["scaling"]:
            print(f"{point['workers']:>6}{point['step_ms']:>12.1f} ms"
                  f"{point['images_per_sec']:>12.0f} images/s"
                  f"{100 * point['efficiency']:>8.1f} %"
                  f"{point['exposed_ms']:>10.1f} ms exposed", flush=True)
    return rows


def published_rows(program):
    rows = []
    print(f"\n{'model':<12}{'batch':>6}{'GPUs':>6}{'published':>11}"
          f"{'predicted':>11}  source")
    for case in PUBLISHED:
        over = case.get("over", 1)
        result = tune(program, case["model"], case["batch_size"],
                      case["machine"], [over, case["ranks"]])
        first, last = result["scaling"]
        predicted = first["step_ms"] / last["step_ms"]
        if over == 1:
            predicted = last["efficiency"]
        rows.append({**case, "predicted": predicted})
        print(f"{case['model']:<12}{case['batch_size']:>6}{case['ranks']:>6}"
              f"{100 * case['efficiency']:>9.0f} %{100 * predicted:>9.1f} %  "
              f"{case['source']}", flush=True)
    return rows


def beside_each_other(commands, environments=None):
    """Runs them at the same time."""
    environments = environments or [None] * len(commands)
    running = [subprocess.Popen(command, env=environment,
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
               for command, environment in zip(commands, environments)]
    for command, process in zip(commands, running):
        _, errors = process.communicate()
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command,
                                                stderr=errors)


def measure_network(program, ranks, folder):
    """The network of so many ranks on this host, for a profile."""
    result = os.path.join(folder, f"network_{ranks}.json")
    environments = [
        {**os.environ, "SPILLWAY_RANK": str(rank),
         "SPILLWAY_WORLD_SIZE": str(ranks), "SPILLWAY_RUN_ID": f"speed {ranks}",
         "SPILLWAY_RENDEZVOUS": folder} for rank in range(ranks)]
    beside_each_other([[program.speed, result]] * ranks, environments)
    measured = json.loads(pathlib.Path(result).read_text("utf-8"))
    # A ring: 2 (W - 1) rounds of latency + bytes / W / rate. Large ones say the
    # rate, the others the latency, whose measurements scatter.
    rounds = 2 * (ranks - 1)
    times = {each["bytes"]: each["ns"] for each in measured["all_reduces"]}
    less, most = sorted(times)[-2:]
    ns_of_byte = (times[most] - times[less]) / (most - less)
    latency = statistics.median(
        max(0, ns - bytes_ * ns_of_byte)
        for bytes_, ns in times.items() if bytes_ < less) / rounds
    rate = rounds / ranks / ns_of_byte
    contention = (measured["all_reduce_slowdown"]
                  + measured["compute_slowdown"]) / 2
    link = {"latency_ns": round(latency),
            "bytes_per_second": 1e9 * rate}
    return measured, {"between_hosts": link, "ranks_per_host": ranks,
                      "allreduce": "ring",
                      "contention": min(10, max(0, contention))}


def model_flags(model, batch):
    return [f"--model={model}", f"--batch_size={batch}", "--threads=1",
            "--device=cpu", "--optimizer=sgd"]


def measure_profiles(program, model, batch, ranks, folder):
    """Of each rank, while the others compute the same."""
    paths = [os.path.join(folder, f"{model}_{ranks}_{i}.json")
             for i in range(ranks)]
    beside_each_other([
        [program.path, "profile", *model_flags(model, batch), "--image_size=28",
         "--channels=1", "--num_classes=10", "--num_batches=20",
         f"--out={path}"]
        for path in paths])
    return paths


def measure_jitter(program, model, batch, ranks, folder):
    """The standard deviation of a rank's steps, in parts of their mean, while
    the others compute the same: by the median deviation, which single steps do
    not move."""
    paths = [os.path.join(folder, f"jitter_{i}.json") for i in range(ranks)]
    beside_each_other([
        # With the model's own images: only the spread counts.
        [program.path, "bench", *model_flags(model, batch), "--num_batches=60",
         f"--json={path}"]
        for path in paths])
    deviations = []
    for path in paths:
        steps = json.loads(pathlib.Path(path).read_text("utf-8"))["step_ms"]["all"]
        median = statistics.median(steps)
        deviation = statistics.median(abs(step - median) for step in steps)
        deviations.append(1.4826 * deviation / median)
    return statistics.median(deviations)


def predict(program, model, batch, ranks, network, path):
    """The step with the profile of the file."""
    profile = json.loads(pathlib.Path(path).read_text("utf-8"))
    if network:
        profile["network"] = network
    pathlib.Path(path).write_text(json.dumps(profile), "utf-8")
    return program.json(
        "simulate", *model_flags(model, batch), "--image_size=28",
        "--channels=1", "--num_classes=10", f"--profile={path}",
        # A budget is no reason for another order, since the run has none.
        "--schedule=creation", f"--workers={ranks}")


def epoch_seconds(program, model, batch, ranks, steps, folder):
    path = os.path.join(folder, "train.json")
    program.run("launch", "-n", str(ranks), "--", "train",
                *model_flags(model, batch), "--data=fashion_mnist",
                f"--num_steps={steps}", "--test_iter=1", "--test_interval=1000000",
                f"--json={path}")
    result = json.loads(pathlib.Path(path).read_text("utf-8"))
    return result["epochs"][-1]["seconds"], result.get("comm", {})


def measured_step_ms(program, model, batch, ranks, options, folder):
    """Medians over the rounds: of the step, and of exposed communication."""
    steps, exposed = [], []
    for _ in range(options.rounds):
        few, _ = epoch_seconds(program, model, batch, ranks, 5, folder)
        many, comm = epoch_seconds(program, model, batch, ranks,
                                   5 + options.steps, folder)
        steps.append(1e3 * (many - few) / options.steps)
        exposed.append(comm.get("exposed_ms", 0))
    return statistics.median(steps), statistics.median(exposed)


def measured_rows(program, options):
    rows, networks = [], []
    print(f"\n{'model':<15}{'batch':>6}{'ranks':>6}{'predicted ms':>14}"
          f"{'measured ms':>13}{'error':>9}{'exposed ms':>12}{'measured':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for ranks in options.ranks:
            network = None
            if ranks > 1:
                measured, network = measure_network(program, ranks, folder)
                networks.append({"ranks": ranks, "measured": measured,
                                 "network": network})
            for model, batch in MEASURED:
                rows.append(measured_row(program, (model, batch), ranks, network,
                                         options, folder))
    return rows, networks


def measured_row(program, case, ranks, network, options, folder):
    model, batch = case
    # Ranks that share a core are not late independently: one that waits leaves
    # its core to the others.
    if network and ranks <= len(os.sched_getaffinity(0)):
        network = {**network, "jitter": measure_jitter(program, model, batch,
                                                       ranks, folder)}
    predictions = [predict(program, model, batch, ranks, network, path)
                   for path in measure_profiles(program, model, batch, ranks,
                                                folder)]
    predicted_ms = statistics.median(each["step_ms"] for each in predictions)
    step_ms, exposed_ms = measured_step_ms(program, model, batch, ranks, options,
                                           folder)
    row = {"model": model, "batch_size": batch, "ranks": ranks,
           "predicted_ms": predicted_ms, "measured_ms": step_ms,
           "error": predicted_ms / step_ms - 1,
           "predicted_exposed_ms": statistics.median(
               each["scaling"][-1]["exposed_ms"] for each in predictions)
           if network else 0,
           "measured_exposed_ms": exposed_ms,
           "jitter": (network or {}).get("jitter", 0)}
    print(f"{model:<15}{batch:>6}{ranks:>6}{row['predicted_ms']:>14.2f}"
          f"{step_ms:>13.2f}{100 * row['error']:>8.1f} %"
          f"{row['predicted_exposed_ms']:>12.2f}{exposed_ms:>10.2f}", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in
                                                      text.split(",")],
                        default=[1, 2, 3, 4], help="of the measured runs")
    parser.add_argument("--only_runs", action="store_true")
    parser.add_argument("--without_runs", action="store_true")
    parser.add_argument("--json", help="write the results to this file")
    options = parser.parse_args()
    program = Program(options.program)
    result = {"benchmark": "scaling", **run_facts(1)}
    if not options.only_runs:
        result["machines"] = {name: {"profile": profile, **network}
                              for name, (profile, network) in MACHINES.items()}
        result["predicted"] = predicted_rows(program)
        result["published"] = published_rows(program)
    if not options.without_runs:
        result["measured"], result["networks"] = measured_rows(program, options)
        errors = sorted(abs(row["error"]) for row in result["measured"])
        result["median_error"] = statistics.median(errors)
        print(f"\nerror: median {100 * result['median_error']:.1f} %, "
              f"most {100 * errors[-1]:.1f} %")
    if options.json:
        write_result(options.json, result)


if __name__ == "__main__":
    run_script(main)
