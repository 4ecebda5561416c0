"""Runs the cases of the suite's sections, each section within its share of time."""

import dataclasses
from typing import Callable

from programs import Failed


@dataclasses.dataclass
class Case:
    """One row of a section.

    facts: the row's description, present in every outcome.
    run: returns the rest of the row; raises Failed.
    seconds: the expected time; the case does not start with less time left.
    """
    facts: dict
    run: Callable[[], dict]
    seconds: float = 10


@dataclasses.dataclass
class Section:
    """name, title of its table, its share of the time, and its cases."""
    name: str
    title: str
    share: float
    cases: Callable  # takes the bundle


def run_case(case, clock):
    begin = clock.taken()
    try:
        row = case.facts | case.run()
    except (Failed, ImportError, OSError, KeyError, ValueError) as error:
        row = case.facts | {"error": f"{type(error).__name__}: {error}"}
    return row | {"seconds": round(clock.taken() - begin, 1)}


def run_section(cases, until, clock, show):
    """The cases' rows; `until`: the end of the section's time."""
    rows = []
    for case in cases:
        if until - clock.taken() < case.seconds:
            row = case.facts | {"not_reached": True}
        else:
            row = run_case(case, clock)
        rows.append(row)
        show(row)
    return rows


def run_sections(sections, bundle, show, save):
    """All rows by section. Later sections get the time that a section leaves.

    show: called with each name and row; save: with all rows, after each section.
    """
    clock = bundle.clock
    begin, left = clock.taken(), clock.left()
    part = 0
    results = {}
    for section in sections:
        show(section.name)
        part += section.share / sum(each.share for each in sections)
        results[section.name] = run_section(
            section.cases(bundle), begin + part * left, clock, show)
        save(results)
    return results
