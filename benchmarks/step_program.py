"""The shared parts of the programs that train one network in one framework:
flags, clock, and JSON result. Needs only Python."""

import argparse
import json
import os
import pathlib
import sys
import time

from network_facts import NETWORKS

LEARNING_RATE = 1e-4


def step_parser(description):
    """A parser with the flags that all of these programs share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", choices=NETWORKS, required=True)
    parser.add_argument("--precision", default="fp32",
                        choices=["fp32", "tf32", "bf16", "fp16"])
    parser.add_argument("--batch_size", type=int, required=True)
    parser.add_argument("--warmup", type=int, default=10,
                        help="steps before the timed ones")
    parser.add_argument("--steps", type=int, default=40, help="timed")
    parser.add_argument("--threads", type=int,
                        default=len(os.sched_getaffinity(0)),
                        help="of the CPU; default: all cores")
    parser.add_argument("--json", required=True,
                        help="write the result here; -: print it")
    return parser


def peak_resident_bytes():
    """The peak memory of this process."""
    for line in pathlib.Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise ValueError("/proc/self/status has no VmHWM")


def timed_steps(step, wait, options):
    """Speed of `step`. `wait`: returns when all steps so far have ended."""
    for _ in range(options.warmup):
        step()
    wait()
    begin = time.perf_counter()
    for _ in range(options.steps):
        step()
    wait()
    seconds = (time.perf_counter() - begin) / options.steps
    return {"images_per_sec": options.batch_size / seconds,
            "step_ms": 1e3 * seconds}


def write_step(options, result):
    text = json.dumps(result) + "\n"
    if options.json == "-":
        sys.stdout.write(text)
        return
    pathlib.Path(options.json).write_text(text, encoding="utf-8")
