#!/usr/bin/env python3
"""Fits the efficiencies of the shipped GPU profiles to published throughputs.

The table is published_throughputs.json: networks, batches and images/s, each
with its source. For every row, `spillway simulate` tells the flops, the bytes
and the arithmetic of each kernel: it predicts the step on machines on which
only one rate is finite. A coordinate search then changes the efficiencies until
the roofline's sums are as close as possible to the table. It minimises the sum
of the squares of log(predicted / published), in which every network has the
same weight in each precision, for any number of batches. Only rows of use "fit"
count; those of use "check" are other measurements, to which no number was
fitted.

The profiles of a family share their efficiencies. The search always begins with
the same values, so the same table and program give the same files. --check
compares the table with `spillway simulate` itself. In both, the images are on
the device from the start, as in the published runs: links are infinite.

Example:
  benchmarks/calibrate_profiles.py           # fit, write the profiles, check
  benchmarks/calibrate_profiles.py --check   # only compare with the table
"""

import argparse
import collections
import copy
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from script import comma_list

BENCHMARKS = pathlib.Path(__file__).resolve().parent
PROFILES = BENCHMARKS.parent / "simulator/profiles"
DTYPES = {"fp32": "float32", "fp16": "float16"}
ARITHMETIC = ("pointwise", "winograd", "other")
INFINITE = 1e18  # the highest rate that a profile allows

# Initial values of the search, with a weak pull back to them: a parameter that
# the table does not determine keeps its value.
START = {"compute_efficiency": 0.6, "memory_efficiency": 0.75,
         "float32.pointwise": 0.6, "float32.winograd": 1.2,
         "float32.other": 0.6, "16-bit.pointwise": 0.4,
         "16-bit.winograd": 0.4, "16-bit.other": 0.4}
PULL = 0.002
# Kernels reach no more than this of a peak; Winograd's algorithm does less
# work.
LEAST, MOST, MOST_WINOGRAD = 0.01, 0.9, 4
STEPS = (0.32, 0.16, 0.08, 0.04, 0.02, 0.01)  # in a parameter's logarithm


def fields_of(parameter, profile):
    """The places in a profile's JSON that a parameter sets."""
    if parameter.endswith("_efficiency"):
        return [(parameter,)]
    kind, _, arithmetic = parameter.partition(".")
    dtypes = ["float32"] if kind == "float32" else [
        dtype for dtype in ("bfloat16", "float16")
        if dtype in profile["flops_per_second"]]
    return [("convolution_efficiency", dtype, arithmetic) for dtype in dtypes]


def with_values(profile, values):
    """A copy of the profile with its fields in the order in which Spillway
    writes."""
    profile = copy.deepcopy(profile)
    parts = profile.pop("convolution_efficiency", {})
    for parameter, value in values.items():
        for field in fields_of(parameter, profile):
            if len(field) == 1:
                profile[field[0]] = value
            else:
                parts.setdefault(field[1], {})[field[2]] = value
    result = {}
    for name, value in profile.items():
        result[name] = value
        if name == "compute_efficiency" and parts:
            result["convolution_efficiency"] = {
                dtype: {each: parts[dtype][each] for each in ARITHMETIC}
                for dtype in ("float32", "bfloat16", "float16")
                if dtype in parts}
    return result


def text_of(profile):
    return json.dumps(profile, indent=2) + "\n"


def machine_of(row, profile):
    """The profile as the row's machine: its memory, no time for copies."""
    link = {"latency_ns": 0, "bytes_per_second": INFINITE,
            "shared_bytes_per_second": INFINITE}
    memory = row.get("memory_bytes_per_second",
                     profile["memory_bytes_per_second"])
    return {**profile, "memory_bytes_per_second": memory, "to_host": link,
            "to_device": link}


def simulate(row, profile, options):
    """The result, and the microseconds of each kernel, by name."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "profile.json"
        trace = pathlib.Path(folder) / "trace.json"
        file.write_text(text_of(profile), encoding="utf-8")
        done = subprocess.run(
            [options.program, "simulate", "--device=cpu",
             f"--model={row['network']}", f"--batch_size={row['batch_size']}",
             f"--precision={row['precision']}", f"--profile={file}",
             "--device_memory=4TB", f"--trace={trace}", "--json=-"],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"simulate {row['network']}: {done.stderr}")
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    lanes = {event["tid"]: event["args"]["name"] for event in events
             if event["name"] == "thread_name"}
    return json.loads(done.stdout), {
        event["name"]: event["dur"] for event in events
        if event["ph"] == "X" and lanes[event["tid"]] == "compute"}


Kernel = collections.namedtuple("Kernel", ["flops", "bytes", "arithmetic"])


def kernels_of(row, profile, options):
    """The work of each kernel of a step, found by three simulations."""
    rate = 1e9
    parts = dict(zip(ARITHMETIC, (1 / 2, 1 / 4, 1 / 8)))
    names = {1: None, **{round(1 / part): name for name, part in parts.items()}}

    def times(flops, memory, convolutions):
        dtypes = {"float32": flops, "float16": flops}
        machine = {**machine_of(row, profile), "kernel_ns": 0, "issue_ns": 0,
                   "flops_per_second": dtypes, "compute_efficiency": 1,
                   "convolution_efficiency": dict.fromkeys(dtypes,
                                                           convolutions),
                   "memory_bytes_per_second": memory, "memory_efficiency": 1}
        return simulate(row, machine, options)[1]

    direct = times(rate, INFINITE, dict.fromkeys(ARITHMETIC, 1))
    slower = times(rate, INFINITE, parts)
    moved = times(INFINITE, rate, dict.fromkeys(ARITHMETIC, 1))
    micro = rate / 1e6
    return [Kernel(flops=us * micro, bytes=moved[name] * micro,
                   arithmetic=names[round(slower[name] / us) if us > 1 else 1])
            for name, us in direct.items()]


def roofline_seconds(kernels, row, profile):
    """The sum of the times of simulator/cost_model.cc."""
    dtype = DTYPES[row["precision"]]
    peak = profile["flops_per_second"][dtype]
    general = profile["compute_efficiency"]
    parts = {None: general,
             **profile.get("convolution_efficiency", {}).get(
                 dtype, dict.fromkeys(ARITHMETIC, general))}
    memory = (machine_of(row, profile)["memory_bytes_per_second"]
              * profile["memory_efficiency"])
    least = profile["kernel_ns"] / 1e9
    return sum(max(least, kernel.flops / (peak * parts[kernel.arithmetic]),
                   kernel.bytes / memory) for kernel in kernels)


class Fit:
    """The coordinate search for one family."""

    def __init__(self, family, rows, profiles, options):
        self.rows = rows
        self.profiles = profiles
        self.kernels = [kernels_of(row, profiles[row["profile"]], options)
                        for row in rows]
        self.values = {name: START[name] for name in family["parameters"]}
        counts = collections.Counter(map(self.network, rows))
        self.weights = [1 / counts[self.network(row)] for row in rows]

    @staticmethod
    def network(row):
        return row["network"], row["precision"]

    def loss(self, values):
        profiles = {name: with_values(profile, values)
                    for name, profile in self.profiles.items()}
        loss = PULL * sum(math.log(value / START[name]) ** 2
                          for name, value in values.items())
        for row, kernels, weight in zip(self.rows, self.kernels, self.weights):
            seconds = roofline_seconds(kernels, row, profiles[row["profile"]])
            images = row["batch_size"] / seconds
            loss += weight * math.log(images / row["images_per_sec"]) ** 2
        return loss

    def moved(self, name, step):
        most = MOST_WINOGRAD if name.endswith(".winograd") else MOST
        value = self.values[name] * math.exp(step)
        return {**self.values,
                name: float(f"{min(most, max(LEAST, value)):.3g}")}

    def run(self):
        best = self.loss(self.values)
        for step in STEPS:
            improved = True
            while improved:
                improved = False
                for name in self.values:
                    for values in (self.moved(name, step),
                                   self.moved(name, -step)):
                        loss = self.loss(values)
                        if loss < best:
                            best, self.values, improved = loss, values, True
                            break
        return self.values


def read_profiles(names, options):
    return {name: json.loads((options.profiles / f"{name}.json").read_text(
        encoding="utf-8")) for name in names}


def calibrate(family, table, options):
    profiles = read_profiles(family["profiles"], options)
    rows = [row for row in table["rows"]
            if row["profile"] in profiles and row["use"] == "fit"]
    values = Fit(family, rows, profiles, options).run()
    print(f"{family['name']}: {len(rows)} rows, {len(values)} parameters: "
          + ", ".join(f"{name} {value:g}" for name, value in values.items()),
          flush=True)
    for name, profile in profiles.items():
        path = options.profiles / f"{name}.json"
        path.write_text(text_of(with_values(profile, values)),
                        encoding="utf-8")


def print_row(row, images, error):
    print(f"{row['profile']:<18}{row['network']:<15}{row['batch_size']:>5}"
          f"{row['precision']:>6}{row['images_per_sec']:>11g}{images:>11.1f}"
          f"{100 * error:>+8.1f} %  {row['use']:<6}{row['source']}")


def check(family, table, options):
    """Prints the family's rows; returns whether all are within the stated
    error."""
    profiles = read_profiles(family["profiles"], options)
    rows = [row for row in table["rows"] if row["profile"] in profiles]
    errors = {"fit": [], "check": []}
    for row in rows:
        machine = machine_of(row, profiles[row["profile"]])
        images = simulate(row, machine, options)[0]["images_per_sec"]
        error = images / row["images_per_sec"] - 1
        errors[row["use"]].append(abs(error))
        print_row(row, images, error)
    for use, sizes in errors.items():
        if sizes:
            print(f"{family['name']}, {use}: {len(sizes)} rows, |error| median "
                  f"{100 * statistics.median(sizes):.1f} %, worst "
                  f"{100 * max(sizes):.1f} %, stated "
                  f"{100 * family['stated_error'][use]:.0f} %")
    return all(size <= family["stated_error"][use]
               for use, sizes in errors.items() for size in sizes)


def parse_options(names):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument("--check", action="store_true",
                        help="fit nothing; exit status 1 if a row is further "
                        "off than the table states")
    parser.add_argument("--families", type=comma_list(names),
                        default=",".join(names),
                        help="default: all of " + ", ".join(names))
    parser.add_argument("--profiles", type=pathlib.Path, default=PROFILES,
                        help="folder of the profiles")
    return parser.parse_args()


def main():
    table = json.loads((BENCHMARKS / "published_throughputs.json").read_text(
        encoding="utf-8"))
    options = parse_options([family["name"] for family in table["families"]])
    families = [family for family in table["families"]
                if family["name"] in options.families]
    if not options.check:
        for family in families:
            if family["parameters"]:
                calibrate(family, table, options)
    print(f"{'profile':<18}{'network':<15}{'batch':>5}{'':>6}{'published':>11}"
          f"{'predicted':>11}{'error':>10}  {'use':<6}source   (images/s)")
    within = [check(family, table, options) for family in families]
    if options.check and not all(within):
        sys.exit("a prediction is further off than the table states")


if __name__ == "__main__":
    main()
