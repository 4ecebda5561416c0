#!/usr/bin/env python3
"""What a call of session.step costs: whole steps that compute next to nothing.

    PYTHONPATH=build/release/python benchmarks/python_step.py

Prints, for the devices inline (the step runs in the calling thread) and cpu (on
threads of the session), the least mean time of a step in microseconds.
"""

import argparse
import time


def one_node(sp):
    g = sp.GraphBuilder()
    [y] = g.add_op("Relu", [g.placeholder("x", "float32", (4,))])
    return g.forward_step({"y": y}, passes="none")


def microseconds(call, steps, rounds):
    """The least mean of `rounds` rounds."""
    for _ in range(steps // 10):
        call()
    means = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(steps):
            call()
        means.append((time.perf_counter() - start) / steps * 1e6)
    return min(means)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    import numpy
    import spillway as sp
    x = numpy.ones(4, "float32")
    for device in ("inline", "cpu"):
        with sp.Session(one_node(sp), device=device, threads=1) as session:
            each = microseconds(lambda: session.run(x=x), arguments.steps, arguments.rounds)
        print(f"{device:8}{each:8.2f} us")


main()
