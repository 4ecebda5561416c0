#!/usr/bin/python3
"""Loss and gradients of the zoo in float64, for float64_reference_test.cc.

Exports each network's training graph with the program, evaluates its forward
nodes with evaluate.py (PyTorch, float64) and differentiates with PyTorch's
autograd. Weights, images and labels are closed formulas of name and index, which
the test has too. Writes next to this file
  reference.json  the original networks: some variables of each
  smooth.json     the same without kinks, with ELU for ReLU and average for max
                  pooling: all variables
and prints the error of PyTorch's own float32 in the worst variable: a case with
the test's tolerance of 0.1 % needs a far smaller error. Needs PyTorch:
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

# Variables of each network in reference.json, evenly spaced.
VARIABLES_COMPARED = 12

# Equal to kLeastNorm in the test: zero up to rounding.
LEAST_NORM = 1e-9

SMOOTH_OPS = {"Relu": "Elu", "Relu6": "Elu", "MaxPool": "AvgPool",
              "MaxPool3D": "AvgPool3D"}

# Networks with kinks, but with so few values near one that the test compares
# them as closely as smooth networks. In deep networks, float32 is off by
# percents; in Inception-v4, whose last batch norms see four values each, by
# tens of percents.
GRADIENT_TOLERANCE = {"densenet40_k12": 1e-3, "inception4": 0.4,
                      "resnet20": 2e-3, "resnet20_v2": 1e-3}

CASES = [
    # model, image size, more flags
    ("alexnet", 67, []),
    ("alexnet_cifar", 32, []),
    ("cifar10_full", 32, []),
    ("densenet40_k12", 16, []),
    ("googlenet", 64, []),
    ("inception3", 107, []),
    ("inception4", 107, []),
    ("lenet", 28, []),
    ("mnist_deep", 28, []),
    ("mobilenet", 64, []),
    ("mobilenet_v2", 64, []),
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
    """Equal to WeightsOf in the test: rounded to float32, as in the program."""
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
        classes = 3  # every network here has at least this many
        return torch.arange(math.prod(shape)).remainder(classes)
    if node["op"] == "Variable":
        return torch.from_numpy(variable_value(name, shape)).requires_grad_()
    values = 2 * uniform(name, math.prod(shape))
    values = values.astype(numpy.float32).astype(numpy.float64)
    return torch.from_numpy(values.reshape(shape))


def loss_of(nodes):
    """The node where the backward phase begins: its gradient is the constant
    1."""
    ones = [name for name, node in nodes.items()
            if node["op"] == "Const" and "/gradients/" in name
            and node["attrs"]["value"] == 1]
    forward = [name.split("/gradients/", 1)[1].rsplit("/", 1)[0] for name in ones]
    (loss,) = [name for name in forward if name in nodes]
    return loss


def smooth(nodes):
    """Removes the kinks of the forward phase, including those of fused
    ReLUs."""
    for node in nodes.values():
        node["op"] = SMOOTH_OPS.get(node["op"], node["op"])
        if node["attrs"].get("activation") == "relu":
            node["attrs"]["activation"] = "elu"


def loss_and_gradients(nodes, dtype):
    """The loss, and the gradients of the variables that have an update."""
    sources = {name: source_value(node) for name, node in nodes.items()
               if node["op"] in ("Placeholder", "Variable")}
    for name, value in sources.items():
        if name == "labels":
            sources[name] = value.reshape(nodes[name]["attrs"]["shape"])
        else:
            sources[name] = value.detach().to(dtype).requires_grad_(
                nodes[name]["op"] == "Variable")
    loss = evaluate(nodes, sources, loss_of(nodes))
    loss.backward()
    updated = [node_of(node["inputs"][0]) for node in nodes.values()
               if node["op"] == "ApplyGradientDescent"]
    return loss.item(), {name: summary(sources[name].grad) for name in updated}


def summary(gradient):
    """The norm, and the product with a fixed random direction."""
    gradient = gradient.flatten().double()
    direction = torch.from_numpy(uniform("direction", gradient.numel()))
    return [gradient.norm().item(), (gradient @ direction).item()]


def worst_error(gradients, exact):
    return max(abs(a - b) / exact[name][0] for name in exact
               for a, b in zip(gradients[name], exact[name])
               if exact[name][0] >= LEAST_NORM)


def reference(spillway, case, is_smooth):
    model, size, flags = case
    nodes = export(spillway, model, size, flags)
    if is_smooth:
        smooth(nodes)
    loss, gradients = loss_and_gradients(nodes, torch.float64)
    rounded_loss, rounded = loss_and_gradients(nodes, torch.float32)
    print(f"{model:16} loss {loss:.6f}, float32 off by "
          f"{abs(rounded_loss - loss) / loss:.1e}, "
          f"gradients by {worst_error(rounded, gradients):.1e}", flush=True)
    made = {"model": model, "image_size": size, "flags": flags}
    if not is_smooth:
        step = max(1, len(gradients) // VARIABLES_COMPARED)
        gradients = {name: gradients[name] for name in list(gradients)[::step]}
        if model in GRADIENT_TOLERANCE:
            made["gradient_tolerance"] = GRADIENT_TOLERANCE[model]
    return made | {"loss": loss, "gradients": gradients}


def format_cases(cases):
    """JSON with a line for each variable: its norm and its product."""
    version = torch.__version__.split("+")[0]
    texts = []
    for case in cases:
        head = {key: value for key, value in case.items() if key != "gradients"}
        lines = [f"{json.dumps(name)}: [{norm:.7g}, {along:.7g}]"
                 for name, (norm, along) in case["gradients"].items()]
        texts.append(json.dumps(head)[:-1] + ', "gradients": {\n'
                     + ",\n".join(lines) + "}}")
    return f'{{"pytorch": "{version}", "cases": [\n' + ",\n".join(texts) + "]}\n"


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
    cases = [case for case in CASES
             if not options.models or case[0] in options.models]
    for name in [options.only] if options.only else ["reference", "smooth"]:
        print(f"{name}.json")
        made = [reference(options.spillway, case, is_smooth=name == "smooth")
                for case in cases]
        with open(os.path.join(options.out, f"{name}.json"), "w",
                  encoding="utf-8") as file:
            file.write(format_cases(made))


if __name__ == "__main__":
    main()
