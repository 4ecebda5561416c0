"""Checks that have to pass before the speed of a device matters."""

import shutil
import tempfile

from programs import Failed, read_json
from sections import Case

# Model, batch size and budget, in tenths of the step's peak; below, for quick
# tries.
BITS = [("resnet20", 64, 8), ("googlenet", 16, 8), ("resnet50", 16, 8)]
QUICK_BITS = [("resnet20", 8, 8)]
BESIDE = [("lenet", 64), ("resnet50", 8), ("googlenet", 8), ("inception3", 4),
          ("vgg16", 4), ("mobilenet", 8)]
QUICK_BESIDE = [("lenet", 4)]

SANITIZER_TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
SANITIZER_SECONDS = 120  # of one tool

# Two devices add float32 numbers in different orders. One step with the higher
# rate shows the gradients, as changes of the variables. With the lower rate,
# the variables stay so close during ten steps that the losses can be compared.
# A last bit that makes one Relu's input negative removes its gradient: in a
# deep network such differences add up, so that two sets of instructions of one
# CPU differ by 2 % in the gradients of ResNet-50 (and by 1e-7 in LeNet's). So a
# device may differ from the CPU by FACTOR times what the CPU with its widest
# instructions differs from itself with the narrowest, or by the tolerances
# below. All relative.
FACTOR = 2
CHANGE_TOLERANCE = 1e-3  # root mean square over the variables
WORST_CHANGE_TOLERANCE = 1e-2  # of a single variable
LOSS_TOLERANCE = 1e-3  # largest of ten steps
NARROW = {"DNNL_MAX_CPU_ISA": "SSE41"}  # oneDNN's variable
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
    cases = "*Relu*" if bundle.quick else "*.ComputesWhat*:-*onv*"
    sanitizer = shutil.which("compute-sanitizer")

    def run(tool):
        if sanitizer is None:
            return {"skipped": "compute-sanitizer is not installed"}
        done = bundle.process(
            [sanitizer, "--tool", tool, "--error-exitcode", "99",
             bundle.programs / "ops_gpu_device_test", "--gtest_brief=1",
             f"--gtest_filter={cases}"], log=f"sanitizer_{tool}.log",
            seconds=SANITIZER_SECONDS)
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

    def run(model, batch, tenths):
        kept = bench(model, batch, "off")
        budget = int(kept["peak_device_bytes"]["predicted"] * tenths / 10)
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
                 lambda m=model, b=batch, t=tenths: run(m, b, t), 8)
            for model, batch, tenths in
            (QUICK_BITS if bundle.quick else BITS)]


def beside_cases(bundle):
    """Compares losses and variables of a device with those of a reference."""
    reference = "inline" if bundle.device == "cpu" else "cpu"

    def train(model, batch, device, rate, steps, narrow=False):
        import variables  # here: the rest of the suite runs without numpy
        name = f"{device.replace(':', '_')}{'_narrow' if narrow else ''}"
        with tempfile.NamedTemporaryFile() as file:
            run = bundle.result(
                "bench", f"beside_{model}_{name}_{rate}",
                *bundle.step_flags(model, batch), f"--learning_rate={rate}",
                "--num_warmup_batches=0", f"--num_batches={steps}",
                "--algorithms=first", f"--checkpoint={file.name}",
                device=device, environment=NARROW if narrow else None)
            return run["losses"], variables.read(file.name)

    def run(model, batch):
        import variables
        _, start = train(model, batch, reference, **NO_STEP)
        _, want = train(model, batch, reference, **ONE_STEP)
        _, got = train(model, batch, bundle.device, **ONE_STEP)
        change = variables.compare_changes(start, want, got)
        _, narrow = train(model, batch, reference, **ONE_STEP, narrow=True)
        own = variables.compare_changes(start, want, narrow)
        want_losses, _ = train(model, batch, reference, **TEN_STEPS)
        losses, _ = train(model, batch, bundle.device, **TEN_STEPS)
        loss_error = max(abs(a / b - 1) for a, b in zip(losses, want_losses))
        return {"reference": reference, "losses": losses,
                "loss_error": loss_error, **change,
                "own_change_error": own["change_error"],
                "own_worst_change_error": own["worst_change_error"],
                "ok": (loss_error <= LOSS_TOLERANCE
                       and change["change_error"]
                       <= max(CHANGE_TOLERANCE, FACTOR * own["change_error"])
                       and change["worst_change_error"]
                       <= max(WORST_CHANGE_TOLERANCE,
                              FACTOR * own["worst_change_error"]))}
    return [Case({"model": model, "batch_size": batch},
                 lambda m=model, b=batch: run(m, b), 12)
            for model, batch in (QUICK_BESIDE if bundle.quick else BESIDE)]
