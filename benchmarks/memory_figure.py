#!/usr/bin/env python3
"""Draws the README's picture from two runs of a training step: its device memory
over time without a budget, and within one.

Runs `spillway bench` twice, reads the measured timelines from its reports, and
writes memory_light.svg and memory_dark.svg. Needs only Python.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

from script import run_script

MIB = 1 << 20
WIDTH, HEIGHT = 860, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 46, 44

# Of a report's buffers (simulator/report/report_data.h): variables, constants.
RESIDENT_KINDS = (0, 1)

THEMES = {
    "light": {"text": "#1f2328", "quiet": "#656d76", "grid": "#d8dee4",
              "free": "#8c959f", "over": "#cf222e", "within": "#0969da"},
    "dark": {"text": "#e6edf3", "quiet": "#9198a1", "grid": "#30363d",
             "free": "#9198a1", "over": "#ff7b72", "within": "#58a6ff"},
}


def bench(program, flags, report):
    """Runs the benchmark; returns its JSON result and the report's data."""
    result = report.with_suffix(".json")
    subprocess.run([program, "bench", *flags, "--report", report,
                    "--json", result], check=True, stdout=subprocess.DEVNULL)
    page = report.read_text()
    begin = page.index('id="data">') + len('id="data">')
    return (json.loads(result.read_text()),
            json.loads(page[begin:page.index("</script>", begin)]))


def measured_times(data):
    """The time in ns at which each step of the plan ran; spans are in lane
    order."""
    spans = {}
    for track, name, _, begin, end, _ in data["measured"]["steps"]:
        spans.setdefault((track, name), []).append((begin, end))
    taken = {}
    times = []
    for lane, node, *_ in data["steps"]:
        number = taken.get((lane, node), 0)
        taken[lane, node] = number + 1
        times.append(spans[lane, node][number])
    return times


def memory_curve(data):
    """[(ms, bytes)]: live device bytes, from each time on."""
    times = measured_times(data)
    start = min(begin for begin, _ in times)
    changes = {0: data["device"]["resident_bytes"]}
    for _, kind, on_host, size, _, _, _, users in data["buffers"]:
        if on_host or kind in RESIDENT_KINDS or not users:
            continue
        begin = times[users[0]][0] - start
        end = times[users[-1]][1] - start
        changes[begin] = changes.get(begin, 0) + size
        changes[end] = changes.get(end, 0) - size
    curve, live = [], 0
    for at in sorted(changes):
        live += changes[at]
        curve.append((at / 1e6, live))
    return curve + [(max(changes) / 1e6, live)]


def path_of(curve, x, y):
    points = [f"M{x(curve[0][0]):.1f},{y(0):.1f}"]
    for (at, live), (until, _) in zip(curve, curve[1:]):
        points.append(f"L{x(at):.1f},{y(live):.1f}L{x(until):.1f},{y(live):.1f}")
    return "".join(points) + f"L{x(curve[-1][0]):.1f},{y(0):.1f}Z"


def ticks(limit, most=6):
    step = next(s for s in (10 ** e * m for e in range(0, 9) for m in (1, 2, 5))
                if limit / s <= most)
    return [i * step for i in range(int(limit / step) + 1)]


def draw(theme, title, free, within, budget):
    """The picture as SVG text. free, within: (curve, images per second)."""
    color = THEMES[theme]
    most_ms = max(curve[-1][0] for curve, _ in (free, within))
    most_bytes = 1.06 * max(live for _, live in free[0])

    def x(ms):
        return LEFT + ms / most_ms * (WIDTH - LEFT - RIGHT)

    def y(live):
        return HEIGHT - BOTTOM - live / most_bytes * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
           f' font-family="system-ui, sans-serif" font-size="13" role="img">',
           f"<title>{title}</title>"]

    def text(at_x, at_y, words, fill="text", anchor="start", weight="normal"):
        out.append(f'<text x="{at_x:.1f}" y="{at_y:.1f}" fill="{color[fill]}" '
                   f'text-anchor="{anchor}" font-weight="{weight}">{words}</text>')

    text(LEFT, 20, title, weight="600")
    for mib in ticks(most_bytes / MIB):
        at = y(mib * MIB)
        out.append(f'<path d="M{LEFT},{at:.1f}H{WIDTH - RIGHT}" '
                   f'stroke="{color["grid"]}"/>')
        text(LEFT - 8, at + 4, f"{mib}", "quiet", "end")
    text(LEFT - 8, TOP - 8, "MiB", "quiet", "end")
    for ms in ticks(most_ms, 8):
        text(x(ms), HEIGHT - BOTTOM + 18, f"{ms}", "quiet", "middle")
    text(WIDTH - RIGHT, HEIGHT - 6, "ms of one training step", "quiet", "end")

    out.append(f'<clipPath id="over"><rect x="0" y="0" width="{WIDTH}" '
               f'height="{y(budget):.1f}"/></clipPath>')
    path = path_of(free[0], x, y)
    out.append(f'<path d="{path}" fill="{color["free"]}" fill-opacity="0.35"/>')
    out.append(f'<path d="{path}" fill="{color["over"]}" fill-opacity="0.45" '
               f'clip-path="url(#over)"/>')
    out.append(f'<path d="{path_of(within[0], x, y)}" fill="{color["within"]}" '
               f'fill-opacity="0.55" stroke="{color["within"]}"/>')
    out.append(f'<path d="M{LEFT},{y(budget):.1f}H{WIDTH - RIGHT}" '
               f'stroke="{color["text"]}" stroke-width="1.5" '
               f'stroke-dasharray="6 4"/>')
    text(WIDTH - RIGHT, y(budget) - 6, f"budget {budget / MIB:.0f} MiB", "text",
         "end", "600")

    def legend(at_x, fill, words):
        out.append(f'<rect x="{at_x}" y="28" width="12" height="12" '
                   f'fill="{color[fill]}" fill-opacity="0.7"/>')
        text(at_x + 18, 38, words, "quiet")

    legend(LEFT, "over", f"without a budget: peak "
           f"{max(l for _, l in free[0]) / MIB:.0f} MiB, {free[1]:.1f} images/s")
    legend(LEFT + 360, "within", f"within it: peak "
           f"{max(l for _, l in within[0]) / MIB:.0f} MiB, {within[1]:.1f} images/s")
    out.append("</svg>\n")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--percent", type=int, default=50,
                        help="of the unconstrained peak: the budget")
    parser.add_argument("--num_batches", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path("docs/images"))
    args = parser.parse_args()
    flags = [f"--model={args.model}", f"--batch_size={args.batch_size}",
             f"--num_batches={args.num_batches}", "--num_warmup_batches=1",
             "--device=cpu"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        free, free_data = bench(args.program, flags + ["--lms=off"],
                                folder / "free.html")
        peak = free["peak_device_bytes"]["measured"]
        budget = peak * args.percent // 100
        within, within_data = bench(
            args.program, flags + ["--lms=auto", f"--device_memory={budget}"],
            folder / "within.html")
    if free["checksum"] != within["checksum"]:
        raise SystemExit("the runs differ: their checksums are not equal")
    title = (f"{args.model}, batch {args.batch_size}: device memory in "
             f"{args.percent} % of what the step asks for, bitwise identical")
    args.out.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        svg = draw(theme, title,
                   (memory_curve(free_data), free["images_per_sec"]),
                   (memory_curve(within_data), within["images_per_sec"]), budget)
        (args.out / f"memory_{theme}.svg").write_text(svg)
    print(f"peak {peak} bytes without a budget; budget {budget}, "
          f"peak {within['peak_device_bytes']['measured']}; checksum "
          f"{within['checksum']} in both")


if __name__ == "__main__":
    run_script(main)
