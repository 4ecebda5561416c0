#!/usr/bin/env python3
"""Writes the tables of measurements on GPUs into docs/benchmarks.md.

Their sources are benchmarks/results/gpu_*.json, in the order of their names;
each is the results.json of a run of the suite. --check writes nothing, and
exits with 1 if the document differs.
"""

import argparse
import pathlib
import sys

import tables
from programs import read_json

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BEGIN = "<!-- GPU results: written by benchmarks/gpu_suite/publish.py -->\n"
END = "<!-- end of GPU results -->\n"
NONE_YET = "Nothing has been measured on a GPU yet.\n"


def format_results(results):
    """`results`: those of the suite. Headings are one level lower."""
    text = "\n".join(map(tables.format_report, results)) or NONE_YET
    return text.replace("\n### ", "\n#### ")


def with_results(document, text):
    """`document` with `text` between the two marks."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document has no {BEGIN}and {END}")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    results = map(read_json, sorted(ROOT.glob("benchmarks/results/gpu_*.json")))
    path = ROOT / "docs/benchmarks.md"
    old = path.read_text(encoding="utf-8")
    new = with_results(old, format_results(results))
    if options.check and new != old:
        sys.exit("docs/benchmarks.md: not as the results are; run "
                 "benchmarks/gpu_suite/publish.py")
    if not options.check:
        path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
