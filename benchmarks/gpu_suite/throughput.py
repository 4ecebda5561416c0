"""Training speed with all of the memory, compared with PyTorch."""

import pytorch_runs
from sections import Case

# Model, precision, batch sizes; most important first.
SPEEDS = [("resnet50", "bf16", [256, 128, 64]), ("resnet50", "tf32", [256, 64]),
          ("vgg16", "bf16", [128]), ("inception3", "bf16", [128]),
          ("resnet152", "bf16", [128]), ("resnet50", "tf32", [128]),
          ("vgg16", "tf32", [64]), ("inception3", "tf32", [128]),
          ("resnet152", "tf32", [64])]
QUICK_SPEEDS = [("lenet", "fp32", [2])]
QUICK_PEERS = [("resnet20", "fp32", 8)]


def speeds(bundle):
    return [(model, precision, batch)
            for model, precision, batches in
            (QUICK_SPEEDS if bundle.quick else SPEEDS) for batch in batches]


def facts(model, precision, batch):
    return {"model": model, "precision": precision, "batch_size": batch}


def profiled(bundle, name, flags, *more):
    """Measures a profile with the kernels of a step; returns its path."""
    path = bundle.out / f"profile_{name}.json"
    steps = 1 if bundle.quick else 4
    bundle.spillway("profile", *flags, "--num_warmup_batches=2",
                    f"--num_batches={steps}", f"--out={path}", *more)
    return path


def cases(bundle):
    """Cases with the libraries' first algorithms, with the algorithms measured
    as fastest, and with these as a CUDA graph."""
    counts = (["--num_warmup_batches=2", "--num_batches=5"] if bundle.quick
              else ["--num_warmup_batches=10", "--num_batches=40"])

    def run(model, precision, batch):
        flags = bundle.step_flags(model, batch, precision)
        name = f"{model}_{precision}_{batch}"
        profile = profiled(bundle, name, flags)

        def bench(way, *arguments):
            return bundle.result("bench", f"speed_{name}_{way}", *flags, *counts,
                                 f"--profile={profile}", *arguments)
        first = bench("first", "--algorithms=first")
        best = bench("measured", f"--trace={bundle.out / f'trace_{name}.json'}")
        row = {"first_images_per_sec": first["images_per_sec"],
               "images_per_sec": best["images_per_sec"],
               "jitter": best["jitter"], "algorithms": best["algorithms"],
               "predicted_ms": best["predicted_step_ms"],
               "measured_ms": best["step_ms"]["median"],
               "compute_busy_ms": best["lanes"]["compute"]["busy_ms"],
               "peak_bytes": best["peak_device_bytes"]}
        if bundle.on_gpu:
            row["graph_images_per_sec"] = bench(
                "graph", "--cuda_graph")["images_per_sec"]
        row["ok"] = (row["peak_bytes"]["predicted"]
                     == row["peak_bytes"]["measured"])
        return row
    return [Case(facts(*speed), lambda s=speed: run(*s), 5 if bundle.quick else 60)
            for speed in speeds(bundle)]


def peer_cases(bundle):
    """The same in PyTorch, eager and compiled."""
    return [pytorch_runs.case(bundle, facts(*speed), method,
                              steps=3 if bundle.quick else 40)
            for speed in (QUICK_PEERS if bundle.quick else speeds(bundle))
            for method in ["eager", "compile"]]
