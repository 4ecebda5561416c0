#!/usr/bin/env python3
"""Runs a Google Benchmark program and writes the data of a committed result.

usage: benchmarks/micro_results.py PROGRAM RESULT.json [--benchmark_... ARGUMENTS]

Keeps the name, the times in milliseconds and the counters of each benchmark.
"""

import json
import subprocess
import sys
import tempfile

from run_facts import run_facts, write_result
from script import run_script

MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
# Fields of Google Benchmark's output that are not counters.
NOT_COUNTERS = {"name", "run_name", "run_type", "family_index",
                "per_family_instance_index", "repetitions", "repetition_index",
                "threads", "iterations", "real_time", "cpu_time", "time_unit"}


def row(run):
    scale = MILLISECONDS[run["time_unit"]]
    return {"name": run["name"],
            "real_ms": run["real_time"] * scale,
            "cpu_ms": run["cpu_time"] * scale,
            "iterations": run["iterations"],
            **{key: value for key, value in run.items()
               if key not in NOT_COUNTERS}}


def main():
    if sys.argv[1:] in [["-h"], ["--help"]]:
        print(__doc__)
        return
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, result, *arguments = sys.argv[1:]
    with tempfile.NamedTemporaryFile(suffix=".json") as raw:
        subprocess.run([program, f"--benchmark_out={raw.name}",
                        "--benchmark_out_format=json", *arguments], check=True)
        runs = json.load(raw)["benchmarks"]
    facts = run_facts(threads=1)
    rows = [row(run) for run in runs if run["run_type"] == "iteration"]
    write_result(result, {**facts, "benchmarks": rows})


if __name__ == "__main__":
    run_script(main)
