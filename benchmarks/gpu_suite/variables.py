"""Compares the variables of two runs, from checkpoints."""

import json

import numpy


def read(path):
    """Float32 tensors of a safetensors file by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: numpy.frombuffer(data[slice(*entry["data_offsets"])], "<f4")
            for name, entry in header.items() if entry["dtype"] == "F32"}


def norm(values):
    return float(numpy.linalg.norm(values.astype("f8")))


def compare_changes(start, want, got):
    """The differences between the changes of two trainings, relative to `want`.

    change_error: root mean square of the relative differences, over the
    variables; worst_change_error: the largest, of `worst_variable`. Variables
    whose changes are so small that rounding matters are left out.
    """
    changes = {name: norm(want[name] - start[name]) for name in want}
    relative = {name: norm(got[name] - want[name]) / change
                for name, change in changes.items()
                if change > 1e-5 * norm(start[name])}
    worst = max(relative, key=relative.get)
    mean_square = sum(error**2 for error in relative.values()) / len(relative)
    return {"compared_variables": len(relative),
            "change_error": mean_square**0.5,
            "worst_change_error": relative[worst], "worst_variable": worst}
