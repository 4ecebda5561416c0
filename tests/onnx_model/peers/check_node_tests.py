#!/usr/bin/env python3
"""The node tests of the Python package onnx, run by `spillway run --onnx`.

Each is a model of one node, with inputs and the outputs that the standard wants. Inputs that
must be constants for us (shapes, axes, bounds) are fed if that works, else made initializers.

A test that gives other numbers than the standard fails. So does one of tests/onnx_model/peers/
passing.txt that is refused; --write writes that file anew."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper
from tensor_files import CODES, load, save

HERE = pathlib.Path(__file__).parent
TESTS = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"

# Dropped at random, so that no numbers can agree; or of a type that numpy lacks.
NOT_COMPARED = {"test_cast_FLOAT_to_BFLOAT16", "test_training_dropout",
                "test_training_dropout_default"}


def read_tensors(values, folder, kind):
    tensors = {}
    for number, value in enumerate(values):
        proto = onnx.TensorProto()
        proto.ParseFromString((folder / f"{kind}_{number}.pb").read_bytes())
        tensor = numpy_helper.to_array(proto)
        if tensor.dtype not in CODES or 0 in tensor.shape:
            return None
        tensors[value.name] = tensor
    return tensors


def with_constants(model, inputs):
    """The model with its small inputs as initializers, and the inputs that are left."""
    changed, fed = onnx.ModelProto(), {}
    scales = any(node.op_type in ("Resize", "Upsample") for node in model.graph.node)
    changed.CopyFrom(model)
    del changed.graph.input[:]
    for number, value in enumerate(model.graph.input):
        tensor = inputs[value.name]
        is_constant = number > 0 and (scales or tensor.dtype.kind in "ib" or tensor.size <= 1)
        if is_constant:
            changed.graph.initializer.append(numpy_helper.from_array(tensor, value.name))
        else:
            changed.graph.input.append(value)
            fed[value.name] = tensor
    return changed, fed


def run(program, model, inputs, folder):
    """The outputs, or None if the model is refused."""
    onnx.save(model, folder / "model.onnx")
    save(folder / "in.safetensors", inputs)
    done = subprocess.run(
        [program, "run", "--onnx", folder / "model.onnx", "--feeds", folder / "in.safetensors",
         "--fetches", folder / "out.safetensors"],
        capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode == 0:
        return load(folder / "out.safetensors")
    if done.returncode != 2 or len(done.stderr.strip().splitlines()) != 1:
        sys.exit(f"exit status {done.returncode}, not one line: {done.stderr}")
    return None


def is_equal(got, want):
    if got.shape != want.shape:
        return False
    if want.dtype.kind == "f":
        return np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=1e-3, atol=1e-5,
                           equal_nan=True)
    return got.dtype == want.dtype and bool((got == want).all())


def check(program, test, folder):
    """"passed", "refused", "skipped", or what is wrong."""
    model = onnx.load(TESTS / test / "model.onnx")
    if any(entry.domain not in ("", "ai.onnx") for entry in model.opset_import):
        return "skipped"
    try:
        inputs = read_tensors(model.graph.input, TESTS / test / "test_data_set_0", "input")
        outputs = read_tensors(model.graph.output, TESTS / test / "test_data_set_0", "output")
    except (FileNotFoundError, TypeError, ValueError):
        return "skipped"  # sequences, optionals, texts
    if inputs is None or outputs is None or test in NOT_COMPARED:
        return "skipped"
    got = run(program, model, inputs, folder)
    if got is None:
        got = run(program, *with_constants(model, inputs), folder)
    if got is None:
        return "refused"
    wrong = [name for name, want in outputs.items() if not is_equal(got[name], want)]
    return f"other numbers in {', '.join(wrong)}" if wrong else "passed"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    parser.add_argument("--write", action="store_true", help="write passing.txt")
    options = parser.parse_args()
    passing_file = HERE / "passing.txt"
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for test in sorted(path.name for path in TESTS.iterdir()):
            results[test] = check(options.program, test, pathlib.Path(folder))
    passed = [test for test, result in results.items() if result == "passed"]
    if options.write:
        passing_file.write_text("".join(f"{test}\n" for test in passed), encoding="utf-8")
    expected = passing_file.read_text(encoding="utf-8").split()
    faults = [f"{test}: {result}" for test, result in results.items()
              if result.startswith("other") or (test in expected and result != "passed")]
    refused = sum(result == "refused" for result in results.values())
    print(f"{len(passed)} node tests passed, {refused} refused, "
          f"{len(results) - len(passed) - refused - len(faults)} skipped")
    sys.exit("\n".join(faults) or None)


if __name__ == "__main__":
    main()
