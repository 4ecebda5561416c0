#!/usr/bin/env python3
"""Peak memory and speed of a training step, here and in the newest PyTorch.

PyTorch runs by default and with its methods to save memory on a CPU; Spillway
runs without a budget, with `--lms auto` in fractions of that memory, and with
each policy of `--lms_recompute`. Each run is a separate process, in rounds,
alternately. In MB:
  step     the most that the step allocates, including parameters. Spillway: the
           arena, which would be GPU memory on a machine with a GPU; PyTorch:
           from its profiler, without oneDNN's own buffers, which are part of
           Spillway's arena
  host     the most that is swapped out: here it is the same RAM
  process  the most resident memory of the whole process, including libraries
Finally, for each of PyTorch's methods, our smallest step that is as fast.

Needs the virtual environment that peers/setup makes. Example:
  benchmarks/peers/setup
  benchmarks/peers/memory_vs_peers.py --model resnet50 --batch_size 16
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from network_facts import NETWORKS  # noqa: E402  (in the folder above)
from run_facts import run_facts, write_result  # noqa: E402
from script import last_line, run_script  # noqa: E402
from side_by_side import Failed  # noqa: E402
from step_program import LEARNING_RATE  # noqa: E402

PYTORCH = {
    "pytorch": [],
    "pytorch nchw": ["--layout=nchw"],
    "pytorch compile": ["--method=compile"],
    "pytorch save_on_cpu": ["--method=save_on_cpu"],
    "pytorch checkpoint": ["--method=checkpoint"],
}
PARTS = [0.75, 0.5, 0.35]
POLICIES = ["cheap", "sqrt"]
MB = 1_000_000


def run(command):
    """The JSON result of a program, and the peak memory of its process."""
    with tempfile.TemporaryDirectory() as folder:
        result, errors = (pathlib.Path(folder) / name for name in ("json", "err"))
        with errors.open("w", encoding="utf-8") as stderr:
            process = subprocess.Popen([*command, f"--json={result}"],
                                       stdout=subprocess.DEVNULL, stderr=stderr)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise Failed(last_line(errors.read_text(encoding="utf-8")))
        return (json.loads(result.read_text(encoding="utf-8")),
                usage.ru_maxrss * 1024)


def run_spillway(options, flags):
    result, process = run(
        [options.spillway, "bench", f"--model={options.model}",
         f"--batch_size={options.batch_size}", "--device=cpu",
         f"--num_warmup_batches={options.warmup}",
         f"--num_batches={options.steps}", "--optimizer=sgd",
         f"--learning_rate={LEARNING_RATE}", "--weight_decay=0",
         f"--threads={options.threads}", *flags])
    device, host = (result[f"peak_{space}_bytes"] for space in ("device", "host"))
    if device["predicted"] != device["measured"]:
        raise Failed(f"predicted and measured peak differ: {device}")
    return {"images_per_sec": result["images_per_sec"],
            "step_bytes": device["measured"], "host_bytes": host["measured"],
            "process_bytes": process}


def run_pytorch(options, flags):
    result, _ = run(
        [options.python, HERE.parent / "pytorch_step.py", "--device=cpu",
         f"--model={options.model}", f"--batch_size={options.batch_size}",
         f"--warmup={options.warmup}", f"--steps={options.steps}",
         f"--threads={options.threads}", "--count_memory", *flags])
    return {"images_per_sec": result["images_per_sec"],
            "step_bytes": result["allocated_bytes"], "host_bytes": 0,
            "process_bytes": result["resident_bytes"],
            "pytorch": result["pytorch"]}


def make_profile(options, path):
    """Measures the machine and the step's kernels, from which `auto`
    chooses."""
    subprocess.run(
        [options.spillway, "profile", f"--model={options.model}",
         f"--batch_size={options.batch_size}", "--device=cpu",
         "--num_warmup_batches=1", "--num_batches=3", "--optimizer=sgd",
         "--weight_decay=0", f"--threads={options.threads}", f"--out={path}"],
        check=True, capture_output=True, text=True)


def make_variants(options, profile):
    """The function and the flags of each variant's run, by name."""
    unconstrained = run_spillway(options, [])["step_bytes"]
    variants = {"spillway": (run_spillway, [])}
    for part in PARTS:
        budget = int(part * unconstrained)
        variants[f"spillway in {part:.0%}"] = (
            run_spillway, ["--lms=auto", f"--profile={profile}",
                           f"--device_memory={budget}"])
    for policy in POLICIES:
        variants[f"spillway {policy}"] = (
            run_spillway, [f"--lms_recompute={policy}"])
    variants |= {name: (run_pytorch, flags) for name, flags in PYTORCH.items()}
    return variants


def measure(options):
    """A row for each variant."""
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "profile.json"
        make_profile(options, profile)
        return run_rounds(make_variants(options, profile), options)


def run_rounds(variants, options):
    """Does not repeat a variant that failed; the others continue."""
    runs, errors = {name: [] for name in variants}, {}
    for _ in range(options.rounds):
        for name, (function, flags) in variants.items():
            if name in errors:
                continue
            try:
                runs[name].append(function(options, flags))
            except Failed as error:
                errors[name] = str(error)
    return [summarize(name, runs[name], errors.get(name)) for name in variants]


def summarize(name, runs, error):
    """The median speed and the most bytes."""
    if error is not None:
        return {"variant": name, "error": error}
    return {"variant": name, "runs": runs,
            "images_per_sec": statistics.median(
                each["images_per_sec"] for each in runs),
            **{field: max(each[field] for each in runs) for field in
               ("step_bytes", "host_bytes", "process_bytes")}}


def as_fast(rows):
    """For each of PyTorch's variants: our smallest step that is not slower."""
    measured = [row for row in rows if "error" not in row]
    ours = [row for row in measured if row["variant"].startswith("spillway")]
    found = {}
    for row in measured:
        if row in ours:
            continue
        faster = [each for each in ours
                  if each["images_per_sec"] >= row["images_per_sec"]]
        if faster:
            least = min(faster, key=lambda each: each["step_bytes"])
            found[row["variant"]] = {
                "variant": least["variant"],
                "bytes_ratio": least["step_bytes"] / row["step_bytes"],
                "speed_ratio": least["images_per_sec"] / row["images_per_sec"]}
    return found


def format_row(row):
    if "error" in row:
        return f"{row['variant']:<22}{row['error']}"
    return (f"{row['variant']:<22}{row['images_per_sec']:>9.2f}"
            + "".join(f"{row[field] / MB:>9.0f}" for field in
                      ("step_bytes", "host_bytes", "process_bytes")))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--python", default="build/peers/bin/python",
                        help="of the virtual environment; default: %(default)s")
    parser.add_argument("--model", choices=NETWORKS, default="resnet50")
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=5, help="timed, a round")
    parser.add_argument("--warmup", type=int, default=2, help="steps before them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int,
                        default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", help="write the result here")
    options = parser.parse_args()
    if not pathlib.Path(options.python).exists():
        sys.exit(f"memory_vs_peers.py: there is no {options.python}; make it with "
                 "benchmarks/peers/setup")
    return options


def main():
    options = parse_options()
    rows = measure(options)
    print(f"{options.model}, batch {options.batch_size}\n"
          f"{'':<22}{'images/s':>9}{'step':>9}{'host':>9}{'process':>9}")
    for row in rows:
        print(format_row(row))
    same_speed = as_fast(rows)
    for theirs, ours in same_speed.items():
        print(f"{ours['variant']}: {ours['bytes_ratio']:.2f} of the bytes of "
              f"{theirs}, {ours['speed_ratio']:.2f} of its speed")
    if options.json:
        versions = {"pytorch": run["pytorch"] for row in rows
                    for run in row.get("runs", []) if "pytorch" in run}
        write_result(options.json, {
            "benchmark": "peak memory and speed of a training step",
            **run_facts(options.threads, versions), "model": options.model,
            "batch_size": options.batch_size, "steps": options.steps,
            "warmup": options.warmup, "rounds": options.rounds, "rows": rows,
            "as_fast": same_speed})


if __name__ == "__main__":
    run_script(main)
