"""A graph file's forward nodes in float64, or float32, on PyTorch, with autograd.

Depends only on the graph file (docs/graph_file.md) and the meaning of the ops
(docs/ops.md), not on Spillway: an independent check of shapes, values and
gradients of whole networks.
"""

import math

import torch
from torch.nn import functional


def channels_first(x):
    """[N, spatial..., C] -> [N, C, spatial...], the order of PyTorch."""
    return x.permute(0, x.dim() - 1, *range(1, x.dim() - 1))


def channels_last(x):
    return x.permute(0, *range(2, x.dim()), 1)


def window_padding(attributes, sizes, windows, strides, dilations):
    """[(before, after)] for each spatial dimension."""
    kind = attributes["padding"]
    if kind == "VALID":
        return [(0, 0)] * len(sizes)
    if kind == "EXPLICIT":
        return [tuple(pair) for pair in attributes["explicit_paddings"]]
    pairs = []
    for size, window, stride, dilation in zip(sizes, windows, strides, dilations):
        extent = (window - 1) * dilation + 1
        reach = (math.ceil(size / stride) - 1) * stride + extent
        total = max(reach - size, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


def pad_spatial(x, pairs, value=0.0):
    """Pads the dimensions after N and C. functional.pad counts from the last."""
    flat = [edge for pair in reversed(pairs) for edge in pair]
    return functional.pad(x, flat, value=value) if any(flat) else x


def window_of(node, rank):
    ones = [1] * rank
    attributes = node["attrs"]
    return (attributes.get("strides", ones), attributes.get("dilations", ones),
            attributes.get("groups", 1))


def convolution(node, x, weights):
    rank = x.dim() - 2
    strides, dilations, groups = window_of(node, rank)
    pairs = window_padding(node["attrs"], x.shape[1:-1], weights.shape[1:-1],
                           strides, dilations)
    convolve = {2: functional.conv2d, 3: functional.conv3d}[rank]
    y = convolve(pad_spatial(channels_first(x), pairs), channels_first(weights),
                 stride=strides, dilation=dilations, groups=groups)
    return channels_last(y)


def transposed_convolution(node, x, weights):
    """The gradient of the convolution of a tensor of output_shape."""
    shape = node["attrs"]["output_shape"]
    with torch.enable_grad():
        start = torch.zeros(shape, dtype=x.dtype, requires_grad=True)
        y = convolution(node, start, weights)
        (result,) = torch.autograd.grad(y, start, x, create_graph=True)
    return result


def pool(node, x, is_max):
    attributes = node["attrs"]
    windows, strides = attributes["ksize"], attributes["strides"]
    rank = len(windows)
    pairs = window_padding(attributes, x.shape[1:-1], windows, strides, [1] * rank)
    x = channels_first(x)
    if is_max:
        padded = pad_spatial(x, pairs, -math.inf)
        reduce = {2: functional.max_pool2d, 3: functional.max_pool3d}[rank]
        return channels_last(reduce(padded, windows, strides))
    average = {2: functional.avg_pool2d, 3: functional.avg_pool3d}[rank]
    sums = average(pad_spatial(x, pairs), windows, strides)
    if attributes.get("count_include_pad", False):
        return channels_last(sums)
    inside = average(pad_spatial(torch.ones_like(x), pairs), windows, strides)
    return channels_last(sums / inside)


def batch_norm(node, x, scale, offset, _mean, _variance, side=None):
    attributes = node["attrs"]
    axes = tuple(range(x.dim() - 1))
    mean = x.mean(axes)
    variance = ((x - mean) ** 2).mean(axes)
    y = (x - mean) / torch.sqrt(variance + attributes["epsilon"]) * scale + offset
    return activate(node, y if side is None else y + side)


def activate(node, x):
    """Spillway's graph files have no "elu" here; make_reference.py adds it."""
    functions = {"none": lambda x: x, "relu": functional.relu, "elu": functional.elu}
    return functions[node["attrs"].get("activation", "none")](x)


def local_response_norm(node, x):
    attributes = node["attrs"]
    radius = attributes.get("depth_radius", 5)
    squares = functional.pad(x * x, (radius, radius))
    sums = squares.unfold(-1, 2 * radius + 1, 1).sum(-1)
    scale = attributes.get("bias", 1.0) + attributes.get("alpha", 1.0) * sums
    return x / scale ** attributes.get("beta", 0.5)


def product(node, a, b):
    attributes = node["attrs"]
    a = a.t() if attributes.get("transpose_a", False) else a
    return a @ (b.t() if attributes.get("transpose_b", False) else b)


def slice_of(node, x):
    begin, size = node["attrs"]["begin"], node["attrs"]["size"]
    for axis, (first, length) in enumerate(zip(begin, size)):
        to_the_end = x.shape[axis] - first
        x = x.narrow(axis, first, to_the_end if length == -1 else length)
    return x


def padded(node, x):
    flat = [edge for pair in reversed(node["attrs"]["paddings"]) for edge in pair]
    return functional.pad(x, flat, value=node["attrs"].get("value", 0))


def reduced(node, x, reduce):
    attributes = node["attrs"]
    return reduce(x, dim=attributes["axes"], keepdim=attributes.get("keep_dims", False))


OPS = {
    "Add": lambda node, a, b: a + b,
    "AddN": lambda node, *xs: sum(xs[1:], xs[0]),
    "AvgPool": lambda node, x: pool(node, x, is_max=False),
    "AvgPool3D": lambda node, x: pool(node, x, is_max=False),
    "BiasAdd": lambda node, x, bias: activate(node, x + bias),
    "Cast": lambda node, x: x,
    "Concat": lambda node, *xs: torch.cat(xs, node["attrs"]["axis"]),
    "Conv2D": convolution,
    "Conv2DTranspose": transposed_convolution,
    "Conv3D": convolution,
    "Conv3DTranspose": transposed_convolution,
    "Dropout": lambda node, x: x,  # the comparison runs without it
    "Elu": lambda node, x: functional.elu(x),
    "FusedBatchNorm": batch_norm,
    "Identity": lambda node, x: x,
    "LRN": local_response_norm,
    "MatMul": product,
    "MaxPool": lambda node, x: pool(node, x, is_max=True),
    "MaxPool3D": lambda node, x: pool(node, x, is_max=True),
    "Mean": lambda node, x: reduced(node, x, torch.mean),
    "Mul": lambda node, a, b: a * b,
    "Pad": padded,
    "Relu": lambda node, x: functional.relu(x),
    "Relu6": lambda node, x: functional.relu6(x),
    "Reshape": lambda node, x: x.reshape(node["attrs"]["shape"]),
    "Sigmoid": lambda node, x: torch.sigmoid(x),
    "Slice": slice_of,
    "Softmax": lambda node, x: functional.softmax(x, -1),
    "SparseSoftmaxCrossEntropyWithLogits":
        lambda node, logits, labels:
            functional.cross_entropy(logits, labels, reduction="none"),
    "Sub": lambda node, a, b: a - b,
    "Sum": lambda node, x: reduced(node, x, torch.sum),
    "Tanh": lambda node, x: torch.tanh(x),
    "Transpose": lambda node, x: x.permute(node["attrs"]["perm"]),
}


def node_of(value):
    """The node of "name:index"; a forward phase only reads outputs 0."""
    name, _, index = value.partition(":")
    assert index in ("", "0"), value
    return name


def evaluate(nodes, sources, wanted):
    """The value of node `wanted`.

    nodes: by name. sources: values of Placeholder and Variable nodes, by name.
    Constants are made in the sources' dtype, float64 or float32.
    """
    dtype = next(x.dtype for x in sources.values() if x.is_floating_point())
    values = dict(sources)
    stack = [wanted]
    while stack:
        name = stack[-1]
        node = nodes[name]
        inputs = [node_of(value) for value in node["inputs"]]
        missing = [source for source in inputs if source not in values]
        if missing:
            stack.extend(missing)
            continue
        if name not in values:
            if node["op"] == "Const":
                values[name] = torch.full(node["attrs"]["shape"],
                                          float(node["attrs"]["value"]), dtype=dtype)
            else:
                values[name] = OPS[node["op"]](
                    node, *[values[source] for source in inputs])
        stack.pop()
    return values[wanted]
