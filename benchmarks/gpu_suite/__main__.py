#!/usr/bin/env python3
"""Tests and measures Spillway on a GPU, in one command of nine minutes.

Runs the tests that need a GPU, compares training with that on the CPU and with
swapped training, and measures: speed compared with PyTorch, training within 8
to 24 GiB, and published steps. Writes results.json, results.md and raw.tar.gz
to --out. The sections share the time; a row without enough time says so, and
--only gives a section all of the time. Exit status 1: a check failed.

Examples, from the folder that `./dev gpu-bundle` makes or from a checkout:
  python3 benchmarks/gpu_suite --out /tmp/results
  python3 benchmarks/gpu_suite --out /tmp/results --only budgets --only pytorch_budgets
  python3 benchmarks/gpu_suite --out /tmp/results --device cpu --quick
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import budgets
import correctness
import tables
import throughput
from programs import Bundle, Failed, read_json
from run_facts import run_facts, write_result
from script import run_script
from sections import Section, run_sections

HERE = pathlib.Path(__file__).resolve().parent.parent.parent


# Name, title, share of the time, cases.
SECTIONS = [Section(*fields) for fields in [
    ("tests", "Tests", 14, correctness.test_cases),
    ("bits", "Swapping and graphs change no bit", 7, correctness.bits_cases),
    ("beside", "Ten steps compared with the CPU", 16, correctness.beside_cases),
    ("throughput", "Speed without a budget, images/s", 19,
     throughput.cases),
    ("budgets", "Within a budget", 21, budgets.cases),
    ("pytorch", "PyTorch without a budget", 18, throughput.peer_cases),
    ("pytorch_budgets", "PyTorch within a budget", 5, budgets.peer_cases),
    ("demonstrations", "Published demonstrations", 0,
     budgets.demonstration_cases),
    ("sanitizer", "compute-sanitizer", 0, correctness.sanitizer_cases)]]
NAMES = [section.name for section in SECTIONS]


def gpu_facts(on_gpu):
    """Name, driver and memory; empty without a GPU."""
    if not on_gpu or shutil.which("nvidia-smi") is None:
        return ""
    asked = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
         "--format=csv,noheader"], capture_output=True, text=True, check=False)
    return asked.stdout.strip()


def versions(bundle, folder):
    """The commit of a bundle, and the versions of the libraries whose kernels
    its program runs."""
    path = bundle.out / "profile_of_versions.json"
    bundle.spillway("profile", "--model=lenet", "--batch_size=1",
                    "--num_batches=1", f"--out={path}")
    found = {"libraries": read_json(path).get("libraries", "")}
    commit = pathlib.Path(folder) / "COMMIT"  # written by ./dev gpu-bundle
    if commit.exists():
        found["spillway"] = commit.read_text(encoding="utf-8").strip()
    return found


def packed(folder, path):
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, arcname="raw")


def holds(rows_by_section):
    """Whether no case failed, and all that must hold does."""
    return all("error" not in row and row.get("ok", True)
               for rows in rows_by_section.values() for row in rows)


def find_bundle():
    places = [HERE, HERE / "build/gpu-bundle/bundle"]
    return next((place for place in places if (place / "bin").is_dir()),
                HERE / "build/release")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bundle", default=find_bundle(), metavar="FOLDER",
                        help="folder with bin/spillway and tests; default: "
                        "the folder of this file, else the result of "
                        "./dev gpu-bundle, else the release build")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", required=True, help="folder for the results")
    parser.add_argument("--seconds", type=float, default=530)
    parser.add_argument("--only", choices=NAMES, action="append",
                        metavar="SECTION",
                        help=f"may be repeated: {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true",
                        help="tiny steps, to try the command out")
    return parser.parse_args()


def show(item):
    print(item if isinstance(item, str) else f"  {item}", flush=True)


def main():
    options = parse_options()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as raw:
        bundle = Bundle(options.bundle, options.device, raw, options.seconds,
                        options.quick)
        wanted = [section for section in SECTIONS
                  if not options.only or section.name in options.only]
        result = {"benchmark": "GPU suite", "gpu": gpu_facts(bundle.on_gpu),
                  **run_facts(len(os.sched_getaffinity(0)),
                              versions(bundle, options.bundle)),
                  "device": options.device, "quick": options.quick,
                  "titles": {section.name: section.title for section in wanted}}

        def save(rows):
            result["sections"] = rows
            write_result(out / "results.json", result)
            report = tables.format_report(result)
            (out / "results.md").write_text(report, encoding="utf-8")
            packed(raw, out / "raw.tar.gz")
        rows = run_sections(wanted, bundle, show, save)
    print((out / "results.md").read_text(encoding="utf-8"))
    if not holds(rows):
        sys.exit("gpu_suite: a check failed; see the tables")


if __name__ == "__main__":
    try:
        run_script(main)
    except Failed as error:
        sys.exit(f"gpu_suite: {error}")
