#!/usr/bin/env python3
"""The light networks of the Python package onnx: known networks whose weights are nodes of constants.

Each network must compute the outputs that the package states. Some then train with random weights
and another batch size: a budget must not change the bits, and the measured peak must be the
predicted one."""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper
from tensor_files import load, save

LIGHT = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

# The others have hundreds of megabytes of weights.
TRAINED = ["light_squeezenet", "light_shufflenet", "light_inception_v1", "light_resnet50"]
BATCH = 3
PART = 0.7  # of the memory that a free step takes


def inputs_of(model):
    """What the package feeds: numbers that count up to 1."""
    inits = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name not in inits:
            shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
            count = int(np.prod(shape))
            feeds[value.name] = (np.arange(count).reshape(shape) / count).astype(np.float32)
    return feeds


def check_outputs(program, name, folder):
    path = LIGHT / f"{name}.onnx"
    model = onnx.load(path)
    save(folder / "in.safetensors", inputs_of(model))
    subprocess.run([program, "run", "--onnx", path, "--feeds", folder / "in.safetensors",
                    "--fetches", folder / "out.safetensors"], check=True, capture_output=True)
    proto = onnx.TensorProto()
    proto.ParseFromString((LIGHT / f"{name}_output_0.pb").read_bytes())
    got = load(folder / "out.safetensors")[model.graph.output[0].name]
    np.testing.assert_allclose(got, numpy_helper.to_array(proto), rtol=1e-3, atol=1e-5)


def with_random_weights(model):
    """Nodes of constants with more than a hundred reals become initializers."""
    random = np.random.default_rng(0)
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    kept = []
    for node in model.graph.node:
        shape = shapes.get(node.input[0]) if node.op_type == "ConstantOfShape" else None
        if shape is None or np.prod(shape) < 100:
            kept.append(node)
            continue
        scale = (2 / max(1, int(np.prod(shape[1:])))) ** 0.5
        values = np.abs(random.normal(size=shape)) if len(shape) == 1 else random.normal(size=shape)
        model.graph.initializer.append(
            numpy_helper.from_array((scale * values).astype(np.float32), node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(kept)


def bench(program, folder, flags):
    subprocess.run(
        [program, "bench", "--onnx", folder / "net.onnx", f"--batch_size={BATCH}",
         "--num_batches=2", "--num_warmup_batches=0", f"--json={folder / 'result.json'}", *flags],
        check=True, capture_output=True)
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    peak = result["peak_device_bytes"]
    assert peak["predicted"] == peak["measured"], peak
    return result


def check_training(program, name, folder):
    model = onnx.load(LIGHT / f"{name}.onnx")
    with_random_weights(model)
    onnx.save(model, folder / "net.onnx")
    free = bench(program, folder, [])
    budget = int(free["peak_device_bytes"]["measured"] * PART)
    less = bench(program, folder, ["--lms=auto", f"--device_memory={budget}"])
    assert less["checksum"] == free["checksum"], name
    assert less["peak_device_bytes"]["measured"] <= budget
    return less["peak_device_bytes"]["measured"] / free["peak_device_bytes"]["measured"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/spillway")
    program = os.path.abspath(parser.parse_args().program)
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(LIGHT.glob("*.onnx")):
            text = "the outputs that the package states"
            check_outputs(program, path.stem, pathlib.Path(folder))
            if path.stem in TRAINED:
                part = check_training(program, path.stem, pathlib.Path(folder))
                text += f"; trained to the same bits in {part:.0%} of the memory"
            print(f"{path.stem}: {text}")


if __name__ == "__main__":
    main()
