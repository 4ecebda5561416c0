#!/usr/bin/python3
"""The tables of docs/benchmarks.md about published overheads, as Markdown.

Reads the result of published_overheads.py. Of more than three rows for one network,
the table has the first, the middle and the last.

Example:
  benchmarks/published_table.py benchmarks/results/published_overheads.json
"""

import argparse
import itertools
import json
import pathlib

from published_overheads import percent
from published_rows import WAYS
from script import run_script

MARKS = {"missed": " †", "barred": " ‡"}
PUBLISHED = {"POFO": "< 20", "HiRemate": "10 to 15"}
RESULT = pathlib.Path(__file__).resolve().parent / "results/published_overheads.json"


def number(value):
    return percent(value).removesuffix(" %")


def cell(plan):
    mark = MARKS.get(plan["goal"], "")
    if not plan["fits"]:
        return "no plan" + mark
    return f"{number(plan['overhead_percent'])} ({number(plan['bound_percent'])}){mark}"


def some(rows):
    """Three rows at most of each network of each work."""
    for _, group in itertools.groupby(rows, lambda row: (row["work"], row["network"])):
        group = list(group)
        yield from (group if len(group) <= 3 else
                    (group[0], group[len(group) // 2], group[-1]))


def overheads(rows):
    yield "| | network, batch | GB | published | recompute | PCIe 3 | NVLink |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: |"
    for row in some(row for row in rows if row["ways"]):
        allowed, peak = row["budget_bytes"] / 1e9, row["our_peak_bytes"] / 1e9
        published = PUBLISHED.get(row["work"], number(row["published_percent"]))
        yield (f"| {row['work']} | {row['network']}, {row['batch_size']} "
               f"| {allowed:.2f} of {peak:.1f} | {published} | "
               + " | ".join(cell(row["ways"][way]) for way in WAYS) + " |")


def multiplier(result):
    head = f"{result['multiple']:g}x "
    goal = result["goal_percent"]
    mark = MARKS.get(result["goal"], "")
    if not result["fits"]:
        return f"{head}needs {result['smallest_budget_bytes'] / 1e9:.1f} GB{mark}"
    return (f"{head}{percent(result['lost_percent'])} "
            f"({number(result['at_least_percent'])}){mark}"
            + (f", goal {goal:.0f}" if mark else ""))


def multipliers(results):
    profiles = list(dict.fromkeys(each["profile"] for each in results))
    yield "| | P100, PCIe 3 | V100, NVLink |"
    yield "| --- " * (1 + len(profiles)) + "|"
    for network in dict.fromkeys(each["network"] for each in results):
        yield f"| {network} | " + " | ".join(
            "; ".join(multiplier(each) for each in results
                      if (each["network"], each["profile"]) == (network, profile))
            for profile in profiles) + " |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", nargs="?", default=RESULT)
    result = json.loads(pathlib.Path(parser.parse_args().result).read_text("utf-8"))
    print(*overheads(result["rows"]), "", *multipliers(result["multipliers"]), sep="\n")


if __name__ == "__main__":
    run_script(main)
