#!/usr/bin/env python3
"""Training steps with recomputation: bytes and time, predicted and measured.

For each network: measures a profile of its step, then runs the step without
recomputation and with each policy, in rounds, alternately. All runs give
bitwise identical losses and variables, and the predicted memory is the measured
memory. The added time is (step with the policy) / (step without) - 1, of
medians over the rounds, predicted and measured. Bytes are those above the
parameters, which no policy changes.

Example:
  benchmarks/recomputed_steps.py --models resnet50 --rounds 3 --json RESULT.json
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

from run_facts import run_facts, write_result
from same_results import check_results
from script import run_script

BATCHES = {"resnet50": 16, "mobilenet_v2": 16, "densenet40_k12": 16,
           "inception3": 8}
POLICIES = ["off", "cheap", "sqrt"]
MB = 1_000_000


def step_flags(model, options):
    return [f"--model={model}", f"--batch_size={BATCHES[model]}", "--device=cpu",
            f"--threads={options.threads}"]


def run(command):
    done = subprocess.run([*command, "--json=-"], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)


def measure(model, options):
    flags = step_flags(model, options)
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "profile.json"
        subprocess.run(
            [options.spillway, "profile", *flags, "--num_warmup_batches=1",
             f"--num_batches={options.profile_steps}", f"--out={profile}"],
            capture_output=True, text=True, check=True)
        runs = {policy: [] for policy in POLICIES}
        for _ in range(options.rounds):
            for policy in POLICIES:
                runs[policy].append(run(
                    [options.spillway, "bench", *flags, f"--profile={profile}",
                     f"--lms_recompute={policy}", "--num_warmup_batches=1",
                     f"--num_batches={options.steps}"]))
    return {"model": model, "batch_size": BATCHES[model],
            "policies": {policy: summarize(model, runs["off"][0], of_policy)
                         for policy, of_policy in runs.items()}}


def summarize(model, first, runs):
    """`first`: a run without recomputation."""
    for result in runs:
        check_results(result, first, model)
    # Parameters are float32, and SGD has no other state.
    parameters = 4 * first["parameters"]
    return {"peak_bytes": runs[0]["peak_device_bytes"]["measured"],
            "bytes_above_parameters":
            runs[0]["peak_device_bytes"]["measured"] - parameters,
            "recompute": runs[0]["recompute"],
            "predicted_step_ms": runs[0]["predicted_step_ms"],
            "step_ms": statistics.median(
                each["step_ms"]["median"] for each in runs)}


def added(policies, policy, field):
    return policies[policy][field] / policies["off"][field] - 1


def print_row(row):
    policies = row["policies"]
    for policy in POLICIES:
        of_policy = policies[policy]
        print(f"{row['model']:<16}{policy:<7}"
              f"{of_policy['bytes_above_parameters'] / MB:>10.0f}"
              f"{added(policies, policy, 'bytes_above_parameters'):>8.0%}"
              f"{of_policy['step_ms']:>10.1f}"
              f"{added(policies, policy, 'step_ms'):>8.1%}"
              f"{added(policies, policy, 'predicted_step_ms'):>10.1%}",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--models", default=",".join(BATCHES),
                        help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--profile_steps", type=int, default=10)
    parser.add_argument("--steps", type=int, default=5, help="timed, a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="write the result to this file")
    options = parser.parse_args()
    unknown = set(options.models.split(",")) - set(BATCHES)
    if unknown:
        parser.error(f"--models: {', '.join(sorted(unknown))}: only "
                     f"{', '.join(BATCHES)} have a batch here")
    print(f"{'model':<16}{'policy':<7}{'MB':>10}{'':>8}{'step ms':>10}"
          f"{'added':>8}{'predicted':>10}")
    rows = []
    for model in options.models.split(","):
        rows.append(measure(model, options))
        print_row(rows[-1])
    if options.json:
        write_result(options.json,
                     {"benchmark": "training steps with recomputation",
                      **run_facts(options.threads), "steps": options.steps,
                      "rounds": options.rounds, "rows": rows})


if __name__ == "__main__":
    run_script(main)
