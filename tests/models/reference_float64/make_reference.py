#!/usr/bin/python3
"""Loss and gradients of the zoo in float64, for float64_reference_test.cc.

Exports each network's training graph with the program, evaluates its forward
nodes with evaluate.py (PyTorch, float64) and differentiates with PyTorch's
autograd. Weights, images and labels are closed formulas of name and index, which
the test has too. Writes reference.json beside this file, and smooth.json, the
same of networks without kinks: ELU for ReLU, average for max pooling, and of
more variables. Needs python3-torch:
  tests/models/reference_float64/make_reference.py
"""

import argparse
import json
import math
import os
import subprocess
import tempfile

import numpy
import torch

from evaluate import evaluate, node_of

# Of each network, evenly spaced.
VARIABLES_COMPARED = 12
SMOOTH_VARIABLES_COMPARED = 60

# Deeper networks normalise so few values together at these sizes that float32
# itself is off by a percent; the others are left out for their size.
SMOOTH_MODELS = ["alexnet", "cifar10_full", "densenet40_k12", "googlenet",
                 "lenet", "mnist_deep", "mobilenet", "resnet20", "resnet20_v2",
                 "trivial"]

SMOOTH_OPS = {"Relu": "Elu", "Relu6": "Elu", "MaxPool": "AvgPool",
              "MaxPool3D": "AvgPool3D"}

CASES = [
    # model, image size, more flags
    ("alexnet", 67, []),
    ("cifar10_full", 32, []),
    ("densenet40_k12", 16, []),
    ("googlenet", 64, []),
    ("inception3", 107, []),
    ("inception4", 107, []),
    ("lenet", 28, []),
    ("mnist_deep", 28, []),
    ("mobilenet", 64, []),
    ("nasnet", 64, []),
    ("nasnet_cifar", 16, ["--auxiliary_head"]),
    ("overfeat", 103, []),
    ("resnet20", 32, []),
    ("resnet20_v2", 32, []),
    ("resnet50", 64, []),
    ("resnet50_v1.5", 64, []),
    ("resnet50_v2", 64, []),
    ("ssd300", 264, ["--num_classes=5"]),
    ("trivial", 16, []),
    ("unet2d", 36, ["--num_classes=3"]),
    ("unet2d_valid", 188, ["--num_classes=3"]),
    ("unet3d", 16, ["--num_classes=3"]),
    ("vgg11", 64, []),
]


def uniform(name, count):
    """count numbers in [-1, 1): splitmix64 of a counter that starts at the
    FNV-1a hash of the name."""
    key = 0xCBF29CE484222325
    for byte in name.encode():
        key = ((key ^ byte) * 0x100000001B3) % 2**64
    with numpy.errstate(over="ignore"):
        z = numpy.uint64(key) + (numpy.arange(1, count + 1, dtype=numpy.uint64)
                                 * numpy.uint64(0x9E3779B97F4A7C15))
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z = z ^ (z >> numpy.uint64(31))
    return (z >> numpy.uint64(40)).astype(numpy.float64) / 2**23 - 1


def variable_value(name, shape):
    """As WeightsOf in the test: rounded to float32, as the program has them."""
    count = math.prod(shape)
    u = uniform(name, count)
    kind = name.rsplit("/", 1)[-1]
    if len(shape) >= 2:
        fan_in = shape[0] if len(shape) == 2 else count // shape[0]
        u = u * math.sqrt(3.0 / fan_in)
    elif kind == "scale":
        u = 1 + u / 4
    elif kind == "moving_variance":
        u = numpy.ones(count)
    else:
        u = u / 4
    return u.astype(numpy.float32).astype(numpy.float64).reshape(shape)


def export(spillway, model, size, flags):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.json")
        subprocess.run([spillway, "inspect", f"--model={model}", "--batch_size=4",
                        f"--image_size={size}", "--optimizer=sgd", "--passes=none",
                        f"--out={path}", *flags],
                       check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            nodes = json.load(file)["nodes"]
    return {node["name"]: {"inputs": [], "attrs": {}, **node} for node in nodes}


def source_value(node):
    shape = node["attrs"]["shape"]
    name = node["name"]
    if name == "labels":
        classes = 3  # every network here has as many or more
        return torch.arange(math.prod(shape)).remainder(classes)
    if node["op"] == "Variable":
        return torch.from_numpy(variable_value(name, shape)).requires_grad_()
    values = 2 * uniform(name, math.prod(shape))
    values = values.astype(numpy.float32).astype(numpy.float64)
    return torch.from_numpy(values.reshape(shape))


def loss_of(nodes):
    """The node whose gradient, the constant 1, begins the backward phase."""
    ones = [name for name, node in nodes.items()
            if node["op"] == "Const" and "/gradients/" in name
            and node["attrs"]["value"] == 1]
    forward = [name.split("/gradients/", 1)[1].rsplit("/", 1)[0] for name in ones]
    (loss,) = [name for name in forward if name in nodes]
    return loss


def reference(spillway, model, size, flags, is_smooth):
    nodes = export(spillway, model, size, flags)
    if is_smooth:
        for node in nodes.values():
            node["op"] = SMOOTH_OPS.get(node["op"], node["op"])
    sources = {name: source_value(node) for name, node in nodes.items()
               if node["op"] in ("Placeholder", "Variable")}
    for name, value in sources.items():
        if name == "labels":
            sources[name] = value.flatten().reshape(nodes[name]["attrs"]["shape"])
    loss = evaluate(nodes, sources, loss_of(nodes))
    loss.backward()
    updated = [node_of(node["inputs"][0]) for node in nodes.values()
               if node["op"] == "ApplyGradientDescent"]
    compared = SMOOTH_VARIABLES_COMPARED if is_smooth else VARIABLES_COMPARED
    step = max(1, len(updated) // compared)
    gradients = {}
    for name in updated[::step]:
        gradient = sources[name].grad.flatten()
        direction = torch.from_numpy(uniform("direction", gradient.numel()))
        gradients[name] = {"norm": gradient.norm().item(),
                           "along_direction": (gradient @ direction).item()}
    return {"model": model, "image_size": size, "flags": flags,
            "loss": loss.item(), "gradients": gradients}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spillway", default="build/release/bin/spillway")
    parser.add_argument("--models", nargs="*", help="only these")
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--only", choices=["reference", "smooth"],
                        help="write this file only")
    parser.add_argument("--out", default=here, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in [options.only] if options.only else ["reference", "smooth"]:
        results = []
        for model, size, flags in CASES:
            if options.models and model not in options.models:
                continue
            if name == "smooth" and model not in SMOOTH_MODELS:
                continue
            results.append(reference(options.spillway, model, size, flags,
                                     is_smooth=name == "smooth"))
            print(f"{name:9} {model:16} loss {results[-1]['loss']:.6f}", flush=True)
        with open(os.path.join(options.out, f"{name}.json"), "w",
                  encoding="utf-8") as file:
            json.dump({"pytorch": torch.__version__, "cases": results}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
