#!/usr/bin/python3
"""Predicted overheads beside those that others have published, in the same bytes.

Runs nothing: every number of ours is predicted by `spillway tune` for a P100. Each
published step (published_rows.py) is planned in three ways:
  recompute  nothing is swapped: the faster of the plans for a device whose copies
             to the host take forever, and for a host without memory
  pcie       each tensor is kept, swapped or recomputed, over PCIe 3
  nvlink     the same over NVLink
and for each way the table has
  ours       time of the plan / time without a budget - 1
  bound      the same for the lower bound: no plan of that order of kernels is
             faster (docs/tuning.md)
  goal       "met", "missed", or "barred": the bound is above the goal, or the
             bytes are less than one kernel needs (the floor)
Then the largest batch with at most one additional forward pass, and images/s at
multiples of the largest batch that fits.

Example:
  benchmarks/published_overheads.py --json benchmarks/results/published_overheads.json
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile

from published_rows import (GIB, LARGEST_BATCHES, MULTIPLIERS, ROWS, WAYS)
from run_facts import run_facts, write_result
from script import last_line, run_script
from tuned_plans import DOES_NOT_FIT, FITS, PROFILES

UNLIMITED = 2**42
DEVICE_BYTES = 16 * GIB


class Tuner:
    """`spillway tune` and `spillway simulate`, with each way's profile."""

    def __init__(self, program, folder):
        self.program = program
        self.profiles = {"recompute": self.without_link(folder),
                         "pcie": PROFILES / "p100_pcie.json",
                         "nvlink": PROFILES / "p100_nvlink.json"}
        self.free_plans = {}
        self.parameters = {each["name"]: each["parameters"]
                           for each in self.json("models")[0]["models"]}

    @staticmethod
    def without_link(folder):
        """The profile of the P100 behind PCIe 3, with copies to the host that take
        longer than any step: 1000 bytes per second. Images come in as before."""
        profile = json.loads((PROFILES / "p100_pcie.json").read_text())
        profile["name"] += ", no copies to the host"
        for rate in ("bytes_per_second", "shared_bytes_per_second"):
            profile["to_host"][rate] = 1000.0
        path = pathlib.Path(folder) / "without_link.json"
        path.write_text(json.dumps(profile), encoding="utf-8")
        return path

    def json(self, command, *flags):
        """The JSON result, or None and the reason why the step does not fit."""
        done = subprocess.run([self.program, command, *flags, "--json=-"],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (FITS, DOES_NOT_FIT):
            raise subprocess.CalledProcessError(done.returncode, done.args,
                                                stderr=done.stderr)
        if done.returncode == DOES_NOT_FIT:
            return None, last_line(done.stderr).removeprefix("spillway: ")
        return json.loads(done.stdout), ""

    def tune(self, profile, model, batch_size, budget, *flags, host="1TB"):
        return self.json("tune", "--device=cpu", f"--model={model}",
                         f"--batch_size={batch_size}", f"--profile={profile}",
                         f"--device_memory={budget}", f"--host_memory={host}", *flags)

    def recompute(self, *step):
        """The faster plan without swaps, or None and the reason. Neither profile nor
        host memory is enough: the first allows swaps that take hours, and with the
        second alone the bound does not know that there are no swaps."""
        tried = [self.tune(self.profiles["recompute"], *step, host=host)
                 for host in ("1TB", "0")]
        plans = [plan for plan, _ in tried
                 if plan and not plan["chosen"]["predicted"]["swap"]["out_bytes"]]
        if plans:
            return min(plans, key=step_ms), ""
        return None, tried[0][1] or "no plan without swaps was found"

    def plan(self, way, *step):
        if way == "recompute":
            return self.recompute(*step)
        return self.tune(self.profiles[way], *step)

    def free(self, profile, model, batch_size, *flags):
        """The plan without a budget."""
        key = (profile, model, batch_size, flags)
        if key not in self.free_plans:
            self.free_plans[key] = self.tune(profile, model, batch_size, UNLIMITED,
                                             *flags)[0]
        return self.free_plans[key]

    def largest_batch(self, model, *flags):
        """That fits DEVICE_BYTES without LMS."""
        return self.json("simulate", "--device=cpu", f"--model={model}",
                         "--find_max_batch", f"--device_memory={DEVICE_BYTES}",
                         *flags)[0]["max_batch_size"]


def step_ms(plan):
    return plan["chosen"]["predicted"]["step_ms"]


def added_percent(ms, free_ms):
    return 100 * (ms / free_ms - 1)


def smallest_budget(reason):
    """The smallest budget that an error names, in bytes, or None."""
    found = re.search(r"smallest budget with these options is (\d+) bytes", reason)
    return int(found.group(1)) if found else None


def verdict(goal, overhead, bound):
    """How an overhead compares with its goal."""
    if goal is None:
        return None
    if bound > goal:
        return "barred"
    return "met" if overhead <= goal else "missed"


def verdict_unfit(goal, budget, floor):
    """The same where no plan was found."""
    if goal is None:
        return None
    return "barred" if budget < floor else "missed"


def budget_of(row, peak, parameters):
    """The bytes that a row allows; `peak`: ours without a budget."""
    if row.budget_bytes is not None:
        return row.budget_bytes
    if row.part_of_peak is not None:
        return int(peak * row.part_of_peak)
    variables = 4 * parameters
    return int(variables + (peak - variables) * row.part_of_activations)


def plan_way(tuner, row, budget, way, goal):
    """The plan of one way for one row."""
    free = tuner.free(tuner.profiles[way], row.model, row.batch_size, *row.flags)
    free_ms = step_ms(free)
    plan, reason = tuner.plan(way, row.model, row.batch_size, budget, *row.flags)
    if plan is None:
        return {"fits": False, "reason": reason,
                "smallest_budget_bytes": smallest_budget(reason),
                "goal_percent": goal,
                "goal": verdict_unfit(goal, budget, free["floor"]["bytes"])}
    predicted = plan["chosen"]["predicted"]
    overhead = added_percent(step_ms(plan), free_ms)
    bound = added_percent(plan["bound"]["step_ms"], free_ms)
    return {"fits": True, "free_ms": free_ms, "step_ms": step_ms(plan),
            "overhead_percent": overhead, "bound_percent": bound,
            "bound_reason": plan["bound"]["reason"],
            "goal_percent": goal, "goal": verdict(goal, overhead, bound),
            "below_published": overhead <= row.published_percent,
            "peak_bytes": predicted["peak_device_bytes"],
            "swapped_bytes": predicted["swap"]["out_bytes"],
            "fed_again_bytes": predicted["swap"]["fed_again_bytes"],
            "recomputed_nodes": predicted["recompute"]["nodes"],
            "host_memory": plan["host_memory"],
            "chosen": plan["chosen"]["name"], "tune_ms": plan["tune_ms"]}


def plan_row(tuner, row):
    """A row of the result."""
    result = {"work": row.work, "source": row.source, "network": row.network,
              "model": row.model or None, "batch_size": row.batch_size,
              "flags": list(row.flags), "note": row.note,
              "published_percent": row.published_percent,
              "their_peak_bytes": row.their_peak_bytes}
    if not row.model:
        return {**result, "budget_bytes": row.budget_bytes,
                "note": "not in the zoo", "ways": {}}
    free = tuner.free(tuner.profiles["pcie"], row.model, row.batch_size, *row.flags)
    peak = free["chosen"]["predicted"]["peak_device_bytes"]
    parameters = tuner.parameters[row.model]
    budget = budget_of(row, peak, parameters)
    return {**result, "parameters": parameters, "our_peak_bytes": peak,
            "budget_bytes": budget, "floor_bytes": free["floor"]["bytes"],
            "ways": {way: plan_way(tuner, row, budget, way, goal)
                     for way, goal in zip(WAYS, row.goals)}}


def percent(value):
    return f"{round(value, 1) + 0.0:.1f} %"  # + 0.0: no -0.0


def show_way(way):
    if not way:
        return f"{'-':>27}"
    if not way["fits"]:
        smallest = way["smallest_budget_bytes"]
        needs = f"needs {smallest / 1e9:.2f} GB" if smallest else "no plan"
        return f"{needs:>19}{way['goal'] or '':>8}"
    return (f"{percent(way['overhead_percent']):>11}{percent(way['bound_percent']):>8}"
            f"{way['goal'] or '':>8}")


def show(result):
    """A line of the table."""
    ways = result["ways"]
    tail = "".join(show_way(ways.get(way)) for way in WAYS) if ways else \
        "  not in the zoo"
    return (f"{result['work']:<9}{result['network']:<21}{result['batch_size']:>4}"
            f"{result['budget_bytes'] / 1e9:>7.2f}"
            f"{percent(result['published_percent']):>11}{tail}")


def forward_percent(tuner, case, batch_size):
    """Time of a forward pass, in percent of a training step."""
    profile = tuner.profiles["pcie"]
    forward = tuner.json("simulate", "--device=cpu", f"--model={case.model}",
                         f"--batch_size={batch_size}", f"--profile={profile}",
                         f"--device_memory={UNLIMITED}", "--forward_only",
                         *case.flags)[0]
    step = tuner.free(profile, case.model, batch_size, *case.flags)
    return 100 * forward["step_ms"] / step_ms(step)


def with_forward_pass(tuner, case, allowed, batch_size):
    """A step of `batch_size` in DEVICE_BYTES with recomputation only; `allowed`: the
    overhead in percent."""
    free = tuner.free(tuner.profiles["recompute"], case.model, batch_size, *case.flags)
    floor = free["floor"]["bytes"]
    plan, reason = tuner.recompute(case.model, batch_size, DEVICE_BYTES, *case.flags)
    result = {"batch_size": batch_size, "floor_bytes": floor}
    if plan is None:
        return {**result, "fits": False, "reason": reason,
                "goal": verdict_unfit(allowed, DEVICE_BYTES, floor)}
    overhead = added_percent(step_ms(plan), step_ms(free))
    bound = added_percent(plan["bound"]["step_ms"], step_ms(free))
    return {**result, "fits": True, "overhead_percent": overhead,
            "bound_percent": bound, "goal": verdict(allowed, overhead, bound)}


def largest_with_forward_pass(tuner, case):
    """The largest batch in DEVICE_BYTES that adds at most one forward pass to each
    step, with recomputation only; by bisection in eighths of the batch that fits."""
    base = tuner.largest_batch(case.model, *case.flags)
    allowed = forward_percent(tuner, case, base)

    def step(multiple):
        return with_forward_pass(tuner, case, allowed, int(base * multiple))

    good, bad, best = 8, 8 * 16, None
    while bad - good > 1:
        middle = (good + bad) // 2
        here = step(middle / 8)
        if here["goal"] == "met":
            good, best = middle, here
        else:
            bad = middle
    at_goal = step(case.goal)
    return {"network": case.network, "model": case.model, "flags": list(case.flags),
            "parameters": tuner.parameters[case.model],
            "device_memory": DEVICE_BYTES, "batch_that_fits": base,
            "forward_percent": allowed, "multiple": good / 8, "largest": best,
            "published_multiple": case.published, "goal_multiple": case.goal,
            "at_goal": at_goal,
            "goal": "met" if good / 8 >= case.goal else at_goal["goal"]}


def multiplier_rows(tuner, case):
    """Images/s lost at multiples of the largest batch that fits."""
    profile = PROFILES / f"{case.profile}.json"
    base = tuner.largest_batch(case.model)
    free_ms = step_ms(tuner.free(profile, case.model, base)) / base  # per image
    for multiple, goal in case.points:
        batch_size = int(base * multiple)
        result = {"network": case.network, "model": case.model,
                  "profile": case.profile, "device_memory": DEVICE_BYTES,
                  "batch_that_fits": base, "multiple": multiple,
                  "batch_size": batch_size, "goal_percent": goal}
        plan, reason = tuner.tune(profile, case.model, batch_size, DEVICE_BYTES)
        if plan is None:
            floor = tuner.free(profile, case.model, batch_size)["floor"]["bytes"]
            yield {**result, "fits": False, "reason": reason,
                   "smallest_budget_bytes": smallest_budget(reason),
                   "floor_bytes": floor,
                   "goal": "barred" if floor > DEVICE_BYTES else "missed"}
            continue
        lost = 100 * (1 - free_ms * batch_size / step_ms(plan))
        at_least = 100 * (1 - free_ms * batch_size / plan["bound"]["step_ms"])
        yield {**result, "fits": True, "lost_percent": lost,
               "at_least_percent": at_least, "step_ms": step_ms(plan),
               "tune_ms": plan["tune_ms"],
               "goal": verdict(goal, lost, at_least) or "met"}


def show_largest(result):
    return (f"{result['network']:<13}{result['multiple']:.1f} times "
            f"{result['batch_that_fits']} (published {result['published_multiple']}; "
            f"goal {result['goal_multiple']:.0f}: {result['goal']})")


def show_multiplier(result):
    head = (f"{result['network']:<13}{result['profile']:<17}"
            f"{result['multiple']:>5.1f}{result['batch_size']:>7}")
    if not result["fits"]:
        smallest = result["smallest_budget_bytes"] or 0
        return f"{head}  needs {smallest / 1e9:.2f} GB  {result['goal']}"
    goal = result["goal_percent"]
    return (f"{head}{percent(result['lost_percent']):>10}"
            f"{percent(result['at_least_percent']):>10}"
            f"{f'{goal:.0f} %' if goal else 'fits':>9}  {result['goal']}")


def summary(rows):
    """How many goals of each way are met, and how many plans are not slower than
    published."""
    counts = {}
    for way in WAYS:
        plans = [row["ways"][way] for row in rows if way in row["ways"]]
        goals = collections.Counter(plan["goal"] for plan in plans if plan["goal"])
        counts[way] = {"rows": len(plans),
                       "fit": sum(plan["fits"] for plan in plans),
                       "below_published": sum(plan.get("below_published", False)
                                              for plan in plans),
                       **{name: goals[name] for name in ("met", "missed", "barred")}}
    return counts


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument("--only", help="one of the works: MONeT, Rotor, ...")
    parser.add_argument("--quick", action="store_true",
                        help="a few rows, which take some seconds")
    parser.add_argument("--json", help="write the results to this file")
    options = parser.parse_args()
    rows, batches, multipliers = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        tuner = Tuner(options.program, folder)
        print(f"{'work':<9}{'network':<20}{'batch':>5}{'GB':>7}{'published':>11}"
              + "".join(f"{way:>11}{'bound':>8}{'goal':>8}" for way in WAYS))
        for row in ROWS:
            if (options.only in (None, row.work)
                    and (row.quick or not options.quick)):
                rows.append(plan_row(tuner, row))
                print(show(rows[-1]), flush=True)
        if not options.quick and options.only is None:
            print("\nlargest batch in 16 GiB with at most one more forward pass")
            for case in LARGEST_BATCHES:
                batches.append(largest_with_forward_pass(tuner, case))
                print(show_largest(batches[-1]), flush=True)
            print(f"\n{'network':<13}{'profile':<16}{'times':>6}{'batch':>7}"
                  f"{'lost':>10}{'at least':>10}{'goal':>9}")
            for case in MULTIPLIERS:
                for each in multiplier_rows(tuner, case):
                    multipliers.append(each)
                    print(show_multiplier(each), flush=True)
    total = summary(rows)
    for way, count in total.items():
        print(f"{way}: {count['fit']} of {count['rows']} fit, "
              f"{count['below_published']} not slower than published; goals: "
              f"{count['met']} met, {count['missed']} missed, "
              f"{count['barred']} barred by the bound")
    if options.json:
        write_result(options.json, {"benchmark": "published_overheads",
                                    **run_facts(1), "rows": rows,
                                    "largest_batches": batches,
                                    "multipliers": multipliers, "summary": total})


if __name__ == "__main__":
    run_script(main)
