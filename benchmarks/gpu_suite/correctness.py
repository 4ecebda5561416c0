"""Checks that have to pass before the speed of a device matters."""

import shutil
import tempfile

from programs import Failed, read_json
from sections import Case

# Model and batch size; below, for quick tries.
BITS = [("lenet", 64), ("resnet20", 64), ("googlenet", 16), ("resnet50", 16)]
QUICK_BITS = [("lenet", 40)]
BESIDE = [("lenet", 64), ("resnet50", 8), ("googlenet", 8), ("inception3", 4),
          ("vgg16", 4), ("mobilenet", 8)]
QUICK_BESIDE = [("lenet", 4)]

SANITIZER_TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]

# Two devices add float32 numbers in different orders. One step with the higher
# rate shows the gradients, as changes of the variables. With the lower rate,
# the variables stay so close during ten steps that the losses can be compared.
# (One and two threads of a CPU differ by at most 5e-6 and 5e-6, single
# variables by 5e-5.) Relative.
CHANGE_TOLERANCE = 1e-3  # root mean square over the variables
WORST_CHANGE_TOLERANCE = 1e-2  # of a single variable
LOSS_TOLERANCE = 1e-3  # largest of ten steps
ONE_STEP = {"rate": 1e-2, "steps": 1}
TEN_STEPS = {"rate": 1e-6, "steps": 10}
NO_STEP = {"rate": 0, "steps": 1}  # batch statistics change even so


def test_cases(bundle):
    def run(program):
        report = bundle.out / f"{program.name}.json"
        bundle.process([program, "--gtest_brief=1",
                        f"--gtest_output=json:{report}"],
                       log=f"{program.name}.log")
        if not report.exists():
            raise Failed(f"{program.name} died; see its log")
        counts = read_json(report)
        tests = [case for suite in counts["testsuites"]
                 for case in suite["testsuite"]]
        failed = [f"{case['classname']}.{case['name']}" for case in tests
                  if "failures" in case]
        return {"tests": counts["tests"], "failed": len(failed),
                "skipped": sum(case.get("result") == "SKIPPED"
                               for case in tests),
                "failed_names": failed[:20], "ok": not failed}
    return [Case({"program": program.name}, lambda p=program: run(p), 5)
            for program in sorted(bundle.programs.glob("*_test"))]


def sanitizer_cases(bundle):
    """A few hundred cases of the ops under each of compute-sanitizer's tools."""
    cases = "*Relu*" if bundle.quick else "*:-*onv*"
    sanitizer = shutil.which("compute-sanitizer")

    def run(tool):
        if sanitizer is None:
            return {"skipped": "compute-sanitizer is not installed"}
        done = bundle.process(
            [sanitizer, "--tool", tool, "--error-exitcode", "99",
             bundle.programs / "ops_gpu_device_test", "--gtest_brief=1",
             f"--gtest_filter={cases}"], log=f"sanitizer_{tool}.log")
        return {"exit_status": done.returncode, "ok": done.returncode == 0}
    return [Case({"tool": tool}, lambda t=tool: run(t), 5)
            for tool in SANITIZER_TOOLS]


def ways_of_swapping(bundle, budget):
    ways = {"v1": ["--lms=v1"],
            "v2": ["--lms=v2", "--lms_swapout_threshold=1",
                   "--lms_swapin_ahead=2", "--lms_swapin_groupby=0"],
            "auto": ["--lms=auto", f"--device_memory={budget}"]}
    if bundle.on_gpu:
        ways["graph"] = ["--cuda_graph"]
        ways["v1 graph"] = ["--lms=v1", "--cuda_graph"]
    return ways


def bits_cases(bundle):
    """Compares variables after some steps, swapped or as a graph, bit for
    bit."""
    # The same algorithms for every budget.
    steps = ["--num_warmup_batches=1", "--algorithms=first",
             f"--num_batches={2 if bundle.quick else 4}"]

    def bench(model, batch, way, *arguments):
        return bundle.result("bench", f"bits_{model}_{way.replace(' ', '_')}",
                             *bundle.step_flags(model, batch), *steps, *arguments)

    def run(model, batch):
        kept = bench(model, batch, "off")
        budget = kept["peak_device_bytes"]["predicted"] * 8 // 10
        row = {"ways": {}, "ok": True}
        for way, arguments in ways_of_swapping(bundle, budget).items():
            swapped = bench(model, batch, way, *arguments)
            peak = swapped["peak_device_bytes"]
            found = {"same_bits": swapped["checksum"] == kept["checksum"],
                     "swapped_bytes": swapped["swap"]["out_bytes"],
                     "exact_memory": peak["predicted"] == peak["measured"]}
            row["ways"][way] = found
            row["ok"] &= found["same_bits"] and found["exact_memory"]
        return row
    return [Case({"model": model, "batch_size": batch},
                 lambda m=model, b=batch: run(m, b), 8)
            for model, batch in (QUICK_BITS if bundle.quick else BITS)]


def beside_cases(bundle):
    """Compares losses and variables of a device with those of a reference."""
    reference = "inline" if bundle.device == "cpu" else "cpu"

    def train(model, batch, device, rate, steps):
        import variables  # here: the rest of the suite runs without numpy
        with tempfile.NamedTemporaryFile() as file:
            run = bundle.result(
                "bench", f"beside_{model}_{device.replace(':', '_')}_{rate}",
                *bundle.step_flags(model, batch), f"--learning_rate={rate}",
                "--num_warmup_batches=0", f"--num_batches={steps}",
                "--algorithms=first", f"--checkpoint={file.name}",
                device=device)
            return run["losses"], variables.read(file.name)

    def run(model, batch):
        import variables
        _, start = train(model, batch, reference, **NO_STEP)
        _, want = train(model, batch, reference, **ONE_STEP)
        _, got = train(model, batch, bundle.device, **ONE_STEP)
        change = variables.compare_changes(start, want, got)
        want_losses, _ = train(model, batch, reference, **TEN_STEPS)
        losses, _ = train(model, batch, bundle.device, **TEN_STEPS)
        loss_error = max(abs(a / b - 1) for a, b in zip(losses, want_losses))
        return {"reference": reference, "losses": losses,
                "loss_error": loss_error, **change,
                "ok": (loss_error <= LOSS_TOLERANCE
                       and change["change_error"] <= CHANGE_TOLERANCE
                       and change["worst_change_error"]
                       <= WORST_CHANGE_TOLERANCE)}
    return [Case({"model": model, "batch_size": batch},
                 lambda m=model, b=batch: run(m, b), 15)
            for model, batch in (QUICK_BESIDE if bundle.quick else BESIDE)]
