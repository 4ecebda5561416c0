"""How results look: as text, and as HTML in a notebook."""

import html

_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"]


def format_bytes(count):
    """1536 -> '1.5 KiB'."""
    size, unit = float(count), 0
    while size >= 1024 and unit + 1 < len(_UNITS):
        size, unit = size / 1024, unit + 1
    return f"{size:.4g} {_UNITS[unit]}"


def _rows(facts):
    width = max(len(label) for label, _ in facts) + 2
    return "\n".join(f"{label:<{width}}{value}" for label, value in facts)


def _table(facts):
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
        f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
        for label, value in facts)
    return f"<table>{cells}</table>"


def chart(curve, budget=None, width=640, height=160):
    """Memory over time, [(ms, bytes)], as an SVG picture with a text alternative."""
    if not curve:
        return ""
    end = curve[-1][0] or 1.0
    peak = max(size for _, size in curve)
    top = max(peak, budget or 0) * 1.05 or 1.0

    def place(ms, size):
        return f"{width * ms / end:.1f},{height - height * size / top:.1f}"

    points = [place(0, 0)]
    before = curve[0][1]
    for ms, size in curve:
        points += [place(ms, before), place(ms, size)]
        before = size
    points += [place(end, before), place(end, 0)]
    alternative = (f"Device memory over one step of {end:.4g} ms: "
                   f"at most {format_bytes(peak)}")
    if budget:
        alternative += f" of a budget of {format_bytes(budget)}"
    line = "" if not budget else (
        f"<path d='M{place(0, budget)} L{place(end, budget)}' stroke='#c33' "
        "stroke-dasharray='6 4' fill='none'/>")
    return (f"<svg role='img' viewBox='0 0 {width} {height}' width='{width}' "
            f"height='{height}' xmlns='http://www.w3.org/2000/svg'>"
            f"<title>{html.escape(alternative)}</title>"
            f"<polygon points='{' '.join(points)}' fill='#4a90d9' "
            f"fill-opacity='0.6'/>{line}</svg><p>{html.escape(alternative)}</p>")


def _with_bytes(count):
    return f"{format_bytes(count)} ({count} bytes)"


def _prediction_facts(prediction):
    facts = [
        ("step", prediction.step.name),
        ("fits", "yes" if prediction.fits else f"no: {prediction.shortage}"),
        ("device", _with_bytes(prediction.device_bytes)),
        ("in the best order", _with_bytes(prediction.smallest_device_bytes)),
        ("variables, constants", _with_bytes(prediction.resident_bytes)),
        ("host", _with_bytes(prediction.host_bytes)),
        ("floor", f"{_with_bytes(prediction.floor_bytes)} at "
                  f"{prediction.floor_node or '(no node)'}"),
        ("predicted", f"{prediction.step_ms:.4g} ms on {prediction.profile}"),
    ]
    largest = prediction.at_peak()[:3]
    if largest:
        facts.append(("largest at the peak", ", ".join(
            f"{name} {format_bytes(size)}" for name, size in largest)))
    return facts


def _plan_facts(plan):
    budget = plan.device_memory
    return [
        ("step", plan.step.name),
        ("chosen", f"{plan.recipe}: {plan.reason}"),
        ("device", _with_bytes(plan.device_bytes) +
         (f", budget {format_bytes(budget)}" if budget else "")),
        ("host", _with_bytes(plan.host_bytes)),
        ("predicted", f"{plan.step_ms:.4g} ms, {plan.images_per_second:.4g} "
                      f"images/s on {plan.profile}"),
        ("bound", f"{plan.bound_ms:.4g} ms by {plan.bound_reason}"),
        ("floor", f"{_with_bytes(plan.floor_bytes)} at "
                  f"{plan.floor_node or '(no node)'}"),
    ]


def _frontier_text(frontier):
    lines = [f"{'budget':>12}{'step ms':>12}{'bound ms':>12}  plan"]
    for point in frontier.points:
        lines.append(f"{format_bytes(point['device_memory']):>12}"
                     f"{point['step_ms']:>12.4g}{point['bound_ms']:>12.4g}  "
                     f"{point['name']}")
    return "\n".join(lines)


def plot_frontier(frontier, axes=None):
    """Draws predicted time and bound over the budget with matplotlib.

    Returns the axes. Errors: Unavailable without matplotlib; `points` has the
    numbers then.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        from .errors import Unavailable
        raise Unavailable("plot needs matplotlib; points and to_csv() do not") from error
    axes = axes or pyplot.gca()
    gib = [point["device_memory"] / 2**30 for point in frontier.points]
    axes.plot(gib, [point["step_ms"] for point in frontier.points], "o-",
              label="predicted")
    axes.plot(gib, [point["bound_ms"] for point in frontier.points], "--",
              label="no plan is faster")
    axes.set_xlabel("device memory, GiB")
    axes.set_ylabel("step, ms")
    axes.legend()
    return axes


def _step_facts(step):
    def types(values):
        return ", ".join(f"{name} {dtype}{list(shape)}"
                         for name, (dtype, shape) in values.items())
    return [("step", step.name), ("nodes", step.num_nodes),
            ("parameters", step.num_parameters), ("batch", step.batch_size),
            ("inputs", types(step.inputs)), ("outputs", types(step.outputs))]


def attach(prediction, plan, frontier, step):
    """Gives the classes of the C++ module their texts and pictures."""
    prediction.__repr__ = lambda self: (
        f"<spillway.Prediction {self.step.name}: {format_bytes(self.device_bytes)}, "
        f"{self.step_ms:.4g} ms>")
    plan.__repr__ = lambda self: (
        f"<spillway.Plan {self.step.name}: {format_bytes(self.device_bytes)}, "
        f"{self.step_ms:.4g} ms>")
    frontier.__repr__ = lambda self: f"<spillway.Frontier: {len(self.points)} budgets>"
    prediction.__str__ = lambda self: _rows(_prediction_facts(self))
    prediction._repr_html_ = lambda self: (
        _table(_prediction_facts(self)) + chart(self.memory_curve()))
    plan.__str__ = lambda self: _rows(_plan_facts(self))
    plan._repr_html_ = lambda self: (
        _table(_plan_facts(self)) + chart(self.memory_curve(), self.device_memory))
    frontier.__str__ = _frontier_text
    frontier._repr_html_ = lambda self: f"<pre>{html.escape(_frontier_text(self))}</pre>"
    frontier.plot = plot_frontier
    step.__str__ = lambda self: _rows(_step_facts(self))
    step._repr_html_ = lambda self: _table(_step_facts(self))
