"""Markdown tables of the suite's results."""

THROUGHPUT_GOAL = 1.0  # relative to PyTorch's best
PREDICTION_GOAL = 3  # percent
BOUND_GOAL = 5  # percent
# Percent of the speed that must remain, by (GiB, multiple of what fits).
KEPT_GOALS = {(16, 1.33): 80}


def number(value, digits=1):
    return "-" if value is None else f"{value:,.{digits}f}"


def with_goal(value, is_met, digits=1):
    """`value`, and whether it meets its goal; "-" without a value."""
    if value is None:
        return "-"
    return f"{number(value, digits)}{'' if is_met(value) else ' (missed)'}"


def table(columns, rows):
    """`columns`: titles. `rows`: lists of cells. Empty if there are no rows."""
    if not rows:
        return ""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def what_is_missing(row):
    """The reason why a row has no results; None if it has results."""
    if row.get("not_reached"):
        return "not reached"
    if "error" in row:
        return row["error"].replace("|", "/")
    return row.get("skipped") if isinstance(row.get("skipped"), str) else None


def result_cell(row, cell):
    return what_is_missing(row) or cell(row)


def verdict(row):
    return what_is_missing(row) or ("holds" if row["ok"] else "DOES NOT HOLD")


def tests_table(rows):
    def cell(row):
        names = f": {', '.join(row['failed_names'])}" if row["failed"] else ""
        return (f"{row['tests']} run, {row['failed']} failed{names}, "
                f"{row['skipped']} skipped")
    return table(["program", "tests"],
                 [[row["program"], result_cell(row, cell)] for row in rows])


def sanitizer_table(rows):
    return table(["tool", "result"], [[row["tool"], verdict(row)] for row in rows])


def bits_table(rows):
    def cell(row):
        return ", ".join(
            f"{way}: {'same' if found['same_bits'] else 'OTHER'} bits"
            f"{'' if found['exact_memory'] else ', MEMORY NOT AS PREDICTED'}"
            for way, found in row["ways"].items())
    return table(["network", "batch", "compared with the step without swaps"],
                 [[row["model"], row["batch_size"], result_cell(row, cell)]
                  for row in rows])


def beside_table(rows):
    def cell(row):
        return (f"loss {row['loss_error']:.1e}, changes of variables "
                f"{row['change_error']:.1e}, worst {row['worst_change_error']:.1e} "
                f"({row['worst_variable']}); of the CPU from itself: "
                f"{row['own_change_error']:.1e}, worst "
                f"{row['own_worst_change_error']:.1e}")
    return table(["network", "batch", "relative differences", "tolerance"],
                 [[row["model"], row["batch_size"], result_cell(row, cell),
                   verdict(row)] for row in rows])


def find(rows, **facts):
    for row in rows:
        if all(row.get(key) == value for key, value in facts.items()):
            return row
    return {"skipped": "-"}


def peer_speed(row):
    return row.get("images_per_sec")


def peer_cell(row):
    if row.get("out_of_memory"):
        return "out of memory"
    return result_cell(row, lambda r: number(r["images_per_sec"]))


def throughput_table(rows, peers):
    lines = []
    for row in rows:
        key = {name: row[name] for name in ["model", "precision", "batch_size"]}
        eager = find(peers, **key, method="eager")
        compiled = find(peers, **key, method="compile")
        best = max((s for s in map(peer_speed, [eager, compiled]) if s),
                   default=None)
        ours = max((row[name] for name in ["images_per_sec", "graph_images_per_sec"]
                    if name in row), default=None)
        ratio = ours / best if ours and best else None
        lines.append([
            row["model"], row["precision"], row["batch_size"],
            result_cell(row, lambda r: number(r["first_images_per_sec"])),
            number(row.get("images_per_sec")),
            number(row.get("graph_images_per_sec")),
            peer_cell(eager), peer_cell(compiled),
            with_goal(ratio, lambda r: r >= THROUGHPUT_GOAL, 2)])
    return table(["network", "precision", "batch", "first algorithms",
                  "measured ones", "as a graph", "PyTorch eager",
                  "PyTorch compiled", "ratio"], lines)


def step_cells(row):
    """Cells for a step within a budget: measurements next to predictions."""
    missing = what_is_missing(row)
    if missing:
        return [missing, *["-"] * 7]
    peak = row["peak_bytes"]
    return [number(row["images_per_sec"]), number(row["measured_ms"], 2),
            with_goal(row["prediction_error_percent"],
                      lambda e: abs(e) <= PREDICTION_GOAL),
            with_goal(row["above_bound_percent"], lambda e: e <= BOUND_GOAL),
            number(peak["measured"] - peak["predicted"], 0),
            f"{number(row['out_link_percent'], 0)} / "
            f"{number(row['in_link_percent'], 0)}",
            number(row["compute_idle_ms"]),
            number(row["swapped_bytes"] / 1e9, 2)]


STEP_COLUMNS = ["images/s", "step, ms", "predicted, % off", "above the bound, %",
                "peak off, bytes", "link out / in, %", "compute waits, ms",
                "swapped, GB"]


def budgets_table(rows, peers):
    methods = ["save_on_cpu", "checkpoint", "activation_budget"]

    def line(row):
        found = [find(peers, budget_gib=row["budget_gib"],
                      multiple=row["multiple"], method=method)
                 for method in methods]
        goal = KEPT_GOALS.get((row["budget_gib"], row["multiple"]), 0)
        return [f"{row['budget_gib']:g}", row["multiple"],
                row.get("batch_size", "-"),
                with_goal(row.get("kept_percent"), lambda p: p >= goal, 0),
                *step_cells(row), *map(peer_cell, found)]
    return table(["budget, GiB", "times what fits", "batch", "speed kept, %",
                  *STEP_COLUMNS, *(f"PyTorch {method}" for method in methods)],
                 [line(row) for row in rows])


def demonstrations_table(rows):
    return table(["step", "GiB", "needs swaps", *STEP_COLUMNS, "published"],
                 [[f"{row['model']} at {row['image_size']}, "
                   f"batch {row['batch_size']:,}", f"{row['budget_gib']:g}",
                   "yes" if row.get("swaps") else "no",
                   *step_cells(row), row["published"]] for row in rows])


def format_report(result):
    """The whole result, with a heading for each section that was run. Rows for
    which no time was left are counted under their table."""
    rows = {name: [row for row in section if not row.get("not_reached")]
            for name, section in result["sections"].items()}
    tables = {
        "tests": lambda: tests_table(rows["tests"]),
        "sanitizer": lambda: sanitizer_table(rows["sanitizer"]),
        "bits": lambda: bits_table(rows["bits"]),
        "beside": lambda: beside_table(rows["beside"]),
        "throughput": lambda: throughput_table(rows["throughput"],
                                               rows.get("pytorch", [])),
        "budgets": lambda: budgets_table(rows["budgets"],
                                         rows.get("pytorch_budgets", [])),
        "demonstrations": lambda: demonstrations_table(rows["demonstrations"])}
    parts = [f"Measured on {result['gpu'] or result['machine']['cpu']}, "
             f"{result['date']}: "
             f"{', '.join(f'{k} {v}' for k, v in result['versions'].items())}.\n"]
    for name, make in tables.items():
        if name not in rows:
            continue
        parts += [f"### {result['titles'][name]}\n", make()]
        count = len(result["sections"][name])
        missing = count - len(rows[name])
        if missing:
            parts.append(f"{missing} of {count} rows: no time was left for them.\n")
    return "\n".join(filter(None, parts))
