"""Training within a fraction of the memory: the remaining speed, the distance
to the lower bound and to the prediction, and PyTorch's methods within the same
bytes."""

import functools

import pytorch_runs
from programs import read_json
from sections import Case
from throughput import profiled

GIB = 1 << 30
MODEL, PRECISION = "resnet50", "tf32"

# Budget in GiB, multiples of the batch that fits it without swapping; most
# important first. 4/3 of 16 GiB is the case that TFLMS's authors published.
WANTED = [(16, [1, 2, 4, 4 / 3]), (8, [1, 4 / 3, 2, 4, 8]), (12, [1, 2, 8]),
          (24, [1, 2, 4]), (16, [8]), (12, [4 / 3, 4]), (24, [4 / 3, 8])]
QUICK_WANTED = [(8 / 1024, [1, 2])]
QUICK_MODEL, QUICK_PRECISION = "resnet20", "fp32"

PEER_METHODS = ["checkpoint", "activation_budget", "save_on_cpu"]
PEER_WANTED = [(16, 2), (16, 4 / 3), (16, 4), (8, 2), (8, 4), (12, 2), (24, 2),
               (8, 8)]
QUICK_PEER = {"model": "resnet20", "precision": "fp32", "batch_size": 8}
QUICK_PEER_BUDGET = GIB // 4

# Published: model, image size, batch, GiB, and the published result.
DEMONSTRATIONS = [
    ("googlenet", 8192, 1, 16, "TFLMS 0.21 to 0.23 images/s on a P100"),
    ("resnet50", 224, 200, 16, "TFLMS 21.1 images/s on a P100"),
    ("cifar10_full", 32, 24_000, 16, "TFLMS completes where 22,000 fit")]
QUICK_DEMONSTRATIONS = [("lenet", 28, 2, 3.5 / 1024, "nothing")]


class BudgetRuns:
    """Steps of one model within budgets; shares the runs that several rows
    need."""

    def __init__(self, bundle):
        self.bundle = bundle
        self.model = QUICK_MODEL if bundle.quick else MODEL
        self.precision = QUICK_PRECISION if bundle.quick else PRECISION
        self.images_per_sec = {}  # by budget, of the batch that fits

    def wanted(self):
        return [(gib, multiple)
                for gib, multiples in (QUICK_WANTED if self.bundle.quick else WANTED)
                for multiple in multiples]

    def facts(self, gib, multiple):
        return {"model": self.model, "precision": self.precision,
                "budget_gib": gib, "multiple": round(multiple, 2)}

    @functools.cache
    def fitting_batch(self, gib):
        """The largest batch without swapping, if possible a multiple of 8."""
        found = self.bundle.result(
            "simulate", f"fits_{gib}",
            *self.bundle.step_flags(self.model, 8, self.precision),
            f"--device_memory={round(gib * GIB)}", "--find_max_batch")
        batch = found["max_batch_size"]
        return batch // 8 * 8 if batch >= 8 else batch

    def run(self, gib, multiple):
        batch = round(self.fitting_batch(gib) * multiple)
        row = {"batch_size": batch}
        row |= run_within(self.bundle, f"{self.model}_{gib}_{batch}",
                          self.bundle.step_flags(self.model, batch, self.precision),
                          round(gib * GIB), batch)
        if multiple == 1:
            self.images_per_sec[gib] = row["images_per_sec"]
        if gib in self.images_per_sec:
            row["kept_percent"] = (100 * row["images_per_sec"]
                                   / self.images_per_sec[gib])
        return row


def host_memory():
    """Nearly all of the free host memory."""
    with open("/proc/meminfo", encoding="utf-8") as file:
        kib = {line.split(":")[0]: int(line.split()[1]) for line in file}
    return kib["MemAvailable"] * 1024 * 85 // 100


def link_percent(run, direction, lane, bytes_copied, profile):
    """Percent of the link's rate while that lane copies; None: it copied
    nothing."""
    busy_ms = run["lanes"][lane]["busy_ms"]
    if busy_ms == 0 or bytes_copied == 0:
        return None
    return 1e5 * bytes_copied / busy_ms / profile[direction]["bytes_per_second"]


def run_within(bundle, name, flags, budget, batch):
    """Profiles, tunes and benchmarks a step within `budget` bytes."""
    profile = profiled(bundle, name, flags, "--algorithms=first")
    plan = bundle.out / f"plan_{name}.json"
    memory = [f"--device_memory={budget}", f"--host_memory={host_memory()}"]
    tuned = bundle.result("tune", f"tune_{name}", *flags, *memory,
                          f"--profile={profile}", f"--out={plan}")
    counts = (["--num_warmup_batches=1", "--num_batches=3"] if bundle.quick else
              ["--num_warmup_batches=2", "--num_batches=8"])
    run = bundle.result("bench", f"within_{name}", *flags, *counts,
                        f"--plan={plan}", f"--profile={profile}",
                        f"--trace={bundle.out / f'trace_{name}.json'}")
    measured = run["step_ms"]["median"]
    bound = tuned["bound"]["step_ms"]
    peak, swap = run["peak_device_bytes"], run["swap"]
    rates = read_json(profile)
    feeds = 4 * run["image_size"] ** 2 * 3 * batch
    row = {"swaps": tuned["necessary"], "images_per_sec": run["images_per_sec"],
           "measured_ms": measured, "predicted_ms": run["predicted_step_ms"],
           "prediction_error_percent":
               100 * (run["predicted_step_ms"] / measured - 1),
           "bound_ms": bound, "bound_reason": tuned["bound"]["reason"],
           "above_bound_percent": 100 * (measured / bound - 1),
           "peak_bytes": peak, "swapped_bytes": swap["out_bytes"],
           "out_link_percent": link_percent(
               run, "to_host", "copy_out", swap["out_bytes"], rates),
           "in_link_percent": link_percent(
               run, "to_device", "copy_in", swap["in_bytes"] + feeds, rates),
           "compute_idle_ms": run["lanes"]["compute"]["idle_ms"],
           "tune_ms": tuned["tune_ms"]}
    row["ok"] = peak["predicted"] == peak["measured"] <= budget
    return row


@functools.cache
def runs_of(bundle):
    return BudgetRuns(bundle)


def cases(bundle):
    runs = runs_of(bundle)
    return [Case(runs.facts(gib, multiple),
                 lambda g=gib, m=multiple: runs.run(g, m),
                 5 if bundle.quick else 15 + 4 * multiple)
            for gib, multiple in runs.wanted()]


def peer_cases(bundle):
    """PyTorch with the same batch, limited to the same bytes of the GPU."""
    if bundle.quick:
        return [pytorch_runs.case(bundle, QUICK_PEER, method, 3, QUICK_PEER_BUDGET)
                for method in PEER_METHODS]
    if not bundle.on_gpu:
        return []  # PyTorch can only limit the memory of GPUs
    runs = runs_of(bundle)

    def case(gib, multiple, method):
        facts = runs.facts(gib, multiple)

        def run():
            batch = round(runs.fitting_batch(gib) * multiple)
            row = facts | {"batch_size": batch}
            return {"batch_size": batch} | pytorch_runs.run(
                runs.bundle, row, method, 8, round(gib * GIB))
        return Case(facts | {"method": method}, run,
                    pytorch_runs.SECONDS.get(method, 15))
    return [case(gib, multiple, method) for method in PEER_METHODS
            for gib, multiple in PEER_WANTED]


def demonstration_cases(bundle):
    """Steps that others have published, in tf32."""
    def run(model, side, batch, gib):
        name = f"{model}_{side}_{batch}"
        precision = QUICK_PRECISION if bundle.quick else PRECISION
        flags = bundle.step_flags(model, batch, precision, side)
        return run_within(bundle, name, flags, round(gib * GIB), batch)
    return [Case({"model": model, "image_size": side, "batch_size": batch,
                  "budget_gib": gib, "published": published},
                 lambda m=model, s=side, b=batch, g=gib: run(m, s, b, g),
                 5 if bundle.quick else 25)
            for model, side, batch, gib, published in
            (QUICK_DEMONSTRATIONS if bundle.quick else DEMONSTRATIONS)]
