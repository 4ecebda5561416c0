#!/usr/bin/env python3
"""Everything worth knowing of a machine with a GPU, in one command.

From the folder that `./dev gpu-bundle` makes, which has this file too: runs the tests that want a GPU,
runs some under compute-sanitizer where that is installed, trains with and
without swapping and compares the variables bit for bit, profiles the machine
and compares predicted with measured steps, and measures throughput beside
PyTorch. What fails is noted, and the rest goes on. Prints a
table and leaves all results in --out.

Examples:
  benchmarks/gpu_check.py --out /tmp/results
  benchmarks/gpu_check.py --device cpu --quick --out /tmp/results  # tries it out
"""

import argparse
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from run_facts import run_facts, write_result

# Model, batch size: what is trained with and without swapping, what is timed.
BITS = [("lenet", 64), ("resnet20", 64), ("googlenet", 16), ("resnet50", 16)]
SPEED = [("resnet50", 64), ("vgg16", 32), ("googlenet", 64), ("inception3", 32)]
PRECISIONS = {"resnet50": ["fp32", "tf32", "bf16", "fp16"]}  # of the others:
USUAL_PRECISIONS = ["fp32", "bf16"]
QUICK_BITS = [("lenet", 256)]
QUICK_SPEED = [("lenet", 32)]


def library_folders():
    """Where CUDA's libraries lie that came as Python packages."""
    folders = []
    for path in sys.path:
        folders += glob.glob(os.path.join(path, "nvidia", "*", "lib"))
    return folders


class Bundle:
    """Runs the programs of a bundle, each within a time limit."""

    def __init__(self, options):
        self.programs = pathlib.Path(options.bundle) / "bin"
        self.device = options.device
        self.out = pathlib.Path(options.out)
        self.environment = dict(os.environ)
        paths = [self.environment.get("LD_LIBRARY_PATH"), *library_folders()]
        self.environment["LD_LIBRARY_PATH"] = ":".join(filter(None, paths))

    def run(self, program, *arguments, limit=240):
        done = subprocess.run(
            [self.programs / program, *arguments], env=self.environment,
            capture_output=True, text=True, timeout=limit, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{program} {' '.join(arguments)}: exit status "
                               f"{done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def result(self, command, name, *arguments, **options):
        """The JSON that `spillway COMMAND` leaves."""
        path = self.out / f"{name}.json"
        self.run("spillway", command, *arguments, "--json", str(path), **options)
        return json.loads(path.read_text(encoding="utf-8"))

    def bench(self, name, model, batch, *arguments):
        return self.result("bench", name, f"--model={model}",
                           f"--batch_size={batch}", f"--device={self.device}",
                           *arguments)


def check_tests(bundle, _):
    rows = []
    for program in sorted(bundle.programs.glob("*_test")):
        report = bundle.out / f"{program.name}.json"
        done = subprocess.run(
            [program, "--gtest_brief=1", f"--gtest_output=json:{report}"],
            env=bundle.environment, capture_output=True, text=True, timeout=500,
            check=False)
        (bundle.out / f"{program.name}.log").write_text(done.stdout + done.stderr)
        counts = json.loads(report.read_text(encoding="utf-8"))
        skipped = sum(case.get("result") == "SKIPPED"
                      for suite in counts["testsuites"]
                      for case in suite["testsuite"])
        rows.append({"program": program.name, "tests": counts["tests"],
                     "failed": counts["failures"], "skipped": skipped})
        print(f"  {program.name}: {counts['tests']} tests, "
              f"{counts['failures']} failed, {skipped} skipped", flush=True)
    return rows


def check_sanitizer(bundle, options):
    """A few hundred cases of the ops under each of compute-sanitizer's tools."""
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        print("  compute-sanitizer is not installed", flush=True)
        return "not installed"
    rows = []
    cases = "*Relu*" if options.quick else "*:-*onv*"
    for tool in ["memcheck", "racecheck", "initcheck", "synccheck"]:
        done = subprocess.run(
            [sanitizer, "--tool", tool, "--error-exitcode", "99",
             bundle.programs / "ops_gpu_device_test", "--gtest_brief=1",
             f"--gtest_filter={cases}"],
            env=bundle.environment, capture_output=True, text=True, timeout=240,
            check=False)
        (bundle.out / f"sanitizer_{tool}.log").write_text(
            done.stdout[-100_000:] + done.stderr[-100_000:])
        rows.append({"tool": tool, "clean": done.returncode == 0})
        print(f"  {rows[-1]}", flush=True)
    return rows


def check_bits(bundle, options):
    """The variables after some steps, with and without swapping and graphs."""
    rows = []
    # The same algorithms, whatever the budget.
    steps = ["--num_warmup_batches=1", "--num_batches=4", "--algorithms=first"]
    for model, batch in QUICK_BITS if options.quick else BITS:
        kept = bundle.bench(f"bits_{model}_off", model, batch, *steps)
        budget = kept["peak_device_bytes"]["predicted"] * 8 // 10
        ways = {"v1": ["--lms=v1"],
                "v2": ["--lms=v2", "--lms_swapout_threshold=1",
                       "--lms_swapin_ahead=2", "--lms_swapin_groupby=0"],
                "auto": ["--lms=auto", f"--device_memory={budget}"]}
        if bundle.device.startswith("cuda"):
            ways["graph"] = ["--cuda_graph"]
            ways["v1_graph"] = ["--lms=v1", "--cuda_graph"]
        for way, arguments in ways.items():
            row = {"model": model, "batch_size": batch, "lms": way}
            try:
                run = bundle.bench(f"bits_{model}_{way}", model, batch, *steps,
                                   *arguments)
                row["same_bits"] = run["checksum"] == kept["checksum"]
                row["swapped_bytes"] = run["swap"]["out_bytes"]
                row["exact_memory"] = (run["peak_device_bytes"]["predicted"] ==
                                       run["peak_device_bytes"]["measured"])
            except RuntimeError as error:
                row["error"] = str(error)
            rows.append(row)
            print(f"  {row}", flush=True)
    return rows


def check_prediction(bundle, options):
    rows = []
    for model, batch in QUICK_SPEED if options.quick else SPEED[:2]:
        profile = str(bundle.out / f"profile_{model}.json")
        bundle.run("spillway", "profile", f"--device={bundle.device}",
                   f"--model={model}", f"--batch_size={batch}",
                   f"--out={profile}")
        run = bundle.bench(f"predicted_{model}", model, batch,
                           f"--profile={profile}")
        predicted, measured = run["predicted_step_ms"], run["step_ms"]["mean"]
        rows.append({"model": model, "batch_size": batch,
                     "predicted_ms": predicted, "measured_ms": measured,
                     "error_percent": 100 * (predicted / measured - 1)})
        print(f"  {rows[-1]}", flush=True)
    return rows


class PyTorchStep:
    """A training step of the same network, plain SGD, batch in memory."""

    def __init__(self, model, batch, precision, device):
        # Imported here, since the other checks run without PyTorch.
        import torch
        import pytorch_networks
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = True
        torch.manual_seed(1)
        self.torch = torch
        self.device = device
        self.half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        side = pytorch_networks.NETWORKS[model][1]
        self.network = pytorch_networks.build(model).to(
            device, memory_format=torch.channels_last).train()
        self.images = torch.randn(batch, 3, side, side, device=device).to(
            memory_format=torch.channels_last)
        self.labels = torch.randint(0, 999, (batch,), device=device)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=1e-4)

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.torch.autocast(self.device, self.half or self.torch.bfloat16,
                                 enabled=self.half is not None):
            logits = self.network(self.images)
        loss = self.torch.nn.functional.cross_entropy(logits.float(), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def pytorch_speed(model, batch, precision, device):
    step = PyTorchStep(model, batch, precision, device)
    for _ in range(10):
        step()
    begin = time.perf_counter()
    steps = 30
    for _ in range(steps):
        step()
    return steps * batch / (time.perf_counter() - begin)


def our_speed(bundle, model, batch, precision):
    """Images a second with the libraries' first algorithms, with those that
    were measured to be the fastest, and with these as a graph."""
    step = [f"--precision={precision}", "--optimizer=sgd", "--weight_decay=0"]
    profile = bundle.out / f"profile_{model}_{precision}.json"
    bundle.run("spillway", "profile", f"--device={bundle.device}",
               f"--model={model}", f"--batch_size={batch}", *step,
               "--num_batches=6", f"--out={profile}")
    step += [f"--profile={profile}", "--num_batches=30"]
    ways = {"first_algorithms": ["--algorithms=first"], "images_per_sec": []}
    if bundle.device.startswith("cuda"):
        ways["as_graph"] = ["--cuda_graph"]
    return {way: bundle.bench(f"speed_{model}_{precision}_{way}", model, batch,
                              *step, *arguments)["images_per_sec"]
            for way, arguments in ways.items()}


def check_speed(bundle, options):
    rows = []
    for model, batch in QUICK_SPEED if options.quick else SPEED:
        for precision in PRECISIONS.get(model, USUAL_PRECISIONS):
            row = {"model": model, "batch_size": batch, "precision": precision}
            rows.append(row)
            try:
                row |= our_speed(bundle, model, batch, precision)
                if not options.quick:
                    row["pytorch"] = pytorch_speed(model, batch, precision,
                                                   options.device)
                    row["ratio"] = row["images_per_sec"] / row["pytorch"]
            except (RuntimeError, ImportError) as error:
                row["error"] = str(error)
            print(f"  {row}", flush=True)
    return rows


CHECKS = {"tests": check_tests, "sanitizer": check_sanitizer,
          "bits": check_bits, "prediction": check_prediction,
          "speed": check_speed}


def gpu_facts():
    try:
        asked = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
             "--format=csv,noheader"], capture_output=True, text=True,
            check=False)
        return asked.stdout.strip() or asked.stderr.strip()
    except FileNotFoundError:
        return "no nvidia-smi"


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--bundle", default=here if (here / "bin").is_dir()
                        else "build/gpu-bundle/bundle",
                        help="default: the one that this file is in, if any")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", required=True, help="folder for the results")
    parser.add_argument("--only", choices=CHECKS, action="append",
                        help="this check; may be repeated; default: all")
    parser.add_argument("--quick", action="store_true",
                        help="LeNet alone, without PyTorch")
    return parser.parse_args()


def main():
    options = parse_options()
    bundle = Bundle(options)
    bundle.out.mkdir(parents=True, exist_ok=True)
    result = {"benchmark": "GPU check", "gpu": gpu_facts(),
              **run_facts(len(os.sched_getaffinity(0)))}
    failed = []
    for name in options.only or CHECKS:
        print(f"{name}", flush=True)
        try:
            result[name] = CHECKS[name](bundle, options)
        except (RuntimeError, OSError, KeyError, ValueError,
                subprocess.TimeoutExpired) as error:
            failed.append(name)
            result[name] = {"error": f"{type(error).__name__}: {error}"}
            print(f"  failed: {result[name]['error']}", flush=True)
        write_result(bundle.out / "gpu_check.json", result)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
