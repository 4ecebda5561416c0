#!/usr/bin/env python3
"""Networks that PyTorch exports, trained by `spillway train --onnx` beside PyTorch itself: the losses
of ten steps, and the weights after them, within any budget."""

import argparse
import inspect
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from tensor_files import load, save
from torch import nn

BATCH, SAMPLES, STEPS, RATE = 8, 20, 10, 0.01


class ConvNet(nn.Module):
    """Batch norm, groups, a shortcut, strides, a concatenation, a dense layer behind pixels."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.norm2 = nn.BatchNorm2d(8)
        self.gate = nn.Conv2d(8, 8, 1)
        self.conv3 = nn.Conv2d(16, 12, 3, stride=2)
        self.slope = nn.PReLU(12)
        self.dense1 = nn.Linear(12 * 3 * 3, 20)
        self.dense2 = nn.Linear(20, 7)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        y = F.silu(self.norm2(self.conv2(x)) + x)
        y = y * torch.sigmoid(self.gate(F.adaptive_avg_pool2d(y, 1)))
        x = torch.cat([F.max_pool2d(x, 2), F.avg_pool2d(F.hardswish(y), 2)], 1)
        x = torch.flatten(self.slope(self.conv3(x)), 1)
        return self.dense2(torch.tanh(self.dense1(x)))


class Block(nn.Module):
    """A transformer's: attention and two dense layers."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        depth = width // self.heads
        qkv = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, depth)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(q @ k.transpose(-2, -1) / depth ** 0.5, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 32))
        self.places = nn.Parameter(torch.randn(1, 17, 32))
        self.blocks = nn.Sequential(Block(32, 4), Block(32, 4))
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 7)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


class LanguageModel(nn.Module):
    """The embedding's table is the last layer's weight too."""

    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(50, 32), nn.Embedding(16, 32)
        self.blocks, self.norm = nn.Sequential(Block(32, 4), Block(32, 4)), nn.LayerNorm(32)
        self.register_buffer("order", torch.arange(16))

    def forward(self, tokens):
        x = self.table(tokens) + self.places(self.order)
        return (self.norm(self.blocks(x)) @ self.table.weight.t()).transpose(1, 2)


class MaskedModel(nn.Module):
    """A causal mask, one layer four times; the loss is part of the model, with weights of classes and labels that are
    ignored."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 32)
        self.qkv, self.head = nn.Linear(32, 96), nn.Linear(32, 50)
        self.register_buffer("weights", torch.rand(50) + 0.5)

    def forward(self, tokens, labels):
        x = self.table(tokens)
        later = torch.ones(16, 16).triu(1).bool()
        for _ in range(4):
            q, k, v = self.qkv(x).chunk(3, -1)
            scores = q @ k.transpose(-2, -1) / 32 ** 0.5
            x = x + torch.softmax(scores.masked_fill(later, float("-inf")), -1) @ v
        return F.cross_entropy(self.head(x).transpose(1, 2), labels, self.weights, ignore_index=3)


class Choices(nn.Module):
    """Resized pictures, comparisons, choices, and reductions that are no sums."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, 2, 1)
        self.exponent = nn.Parameter(torch.rand(8, 1, 1) + 0.5)
        self.dense = nn.Linear(32, 4)

    def forward(self, x):
        x = self.conv1(x)
        y = self.conv2(x)
        up = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        near = F.interpolate(y, scale_factor=2, mode="nearest")
        x = torch.where(x > near, torch.maximum(x, up), 0.3 * torch.minimum(x, near))
        x = (torch.abs(x) + 0.1) ** self.exponent
        parts = [x.amax((2, 3)), x.amin((2, 3)), torch.logsumexp(x, (2, 3)),
                 x.norm(dim=(2, 3)) + x.mean(3).prod(2)]
        return self.dense(F.log_softmax(torch.cat(parts, 1), -1))


class Normalised(nn.Module):
    """Norms of groups, of single channels and of a position's channels."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 12, 3, padding=1), nn.Conv2d(12, 12, 3, 2, 1)
        self.groups, self.each = nn.GroupNorm(4, 12), nn.InstanceNorm2d(12, affine=True)
        self.channels, self.dense = nn.LayerNorm(12), nn.Linear(12, 7)

    def forward(self, x):
        x = F.silu(self.groups(self.conv1(x)))
        x = F.gelu(self.each(self.conv2(x)), approximate="tanh")
        x = F.mish(self.channels(x.permute(0, 2, 3, 1)))
        return self.dense(x.permute(0, 3, 1, 2).mean((2, 3)))


def pictures():
    return {"x": torch.randn(SAMPLES, 3, 16, 16)}, torch.randint(0, 7, (SAMPLES,))


def sentences():
    return {"x": torch.randint(0, 50, (SAMPLES, 16))}, torch.randint(0, 50, (SAMPLES, 16))


def labelled_sentences():
    x, labels = sentences()
    return {**x, "labels": labels}, None


def targets():
    return pictures()[0], torch.rand(SAMPLES, 4)


LOSSES = {"sparse_softmax_cross_entropy": F.cross_entropy,
          "sigmoid_cross_entropy": F.binary_cross_entropy_with_logits,
          "mean_absolute_error": F.l1_loss, "none": lambda y, _: y}

CASES = [("convolutions", ConvNet, pictures, 15, "sparse_softmax_cross_entropy"),
         ("vision transformer", VisionTransformer, pictures, 14, "sparse_softmax_cross_entropy"),
         ("vision transformer", VisionTransformer, pictures, 17, "sparse_softmax_cross_entropy"),
         ("norms", Normalised, pictures, 13, "sparse_softmax_cross_entropy"),
         ("norms", Normalised, pictures, 17, "sparse_softmax_cross_entropy"),
         ("language model", LanguageModel, sentences, 17, "sparse_softmax_cross_entropy"),
         ("masked language model", MaskedModel, labelled_sentences, 17, "none"),
         ("choices", Choices, targets, 16, "sigmoid_cross_entropy"),
         ("choices", Choices, targets, 17, "mean_absolute_error")]


def train_pytorch(model, inputs, target, loss_of):
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for step in range(STEPS):
        rows = [(step * BATCH + i) % SAMPLES for i in range(BATCH)]
        optimizer.zero_grad()
        y = model(*(x[rows] for x in inputs.values()))
        loss = loss_of(y, None if target is None else target[rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train(program, folder, flags):
    subprocess.run(
        [program, "train", "--onnx", folder / "net.onnx", "--data_file", folder / "data.safetensors",
         f"--batch_size={BATCH}", f"--num_steps={STEPS}", f"--learning_rate={RATE}",
         f"--json={folder / 'result.json'}", f"--export_weights={folder / 'out.safetensors'}", *flags],
        check=True, capture_output=True, text=True)
    with open(folder / "result.json", encoding="utf-8") as file:
        return json.load(file), load(folder / "out.safetensors")


def export(model, inputs, path, opset):
    examples = tuple(x[:BATCH] for x in inputs.values())
    names = {"input_names": list(inputs), "output_names": ["y"]}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        batch = torch.export.Dim("N", min=2)
        torch.onnx.export(model, examples, path, dynamo=True, optimize=False,
                          opset_version=max(opset, 18), verbose=False,
                          dynamic_shapes=tuple({0: batch} for _ in examples), **names)
        return
    torch.onnx.export(model, examples, path, opset_version=opset,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      dynamic_axes={name: {0: "N"} for name in inputs}, **names)


def check(program, case, folder):
    name, network, data, opset, loss = case
    torch.manual_seed(0)
    model = network().train()
    inputs, target = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        export(model, inputs, str(folder / "net.onnx"), opset)
    data = {name: x.numpy() for name, x in inputs.items()}
    if target is not None:
        data["targets" if target.is_floating_point() else "labels"] = target.numpy()
    save(folder / "data.safetensors", data)
    expected = train_pytorch(model, inputs, target, LOSSES[loss])
    flags = [f"--loss={loss}"]
    plenty, weights = train(program, folder, flags)
    np.testing.assert_allclose(plenty["losses"], expected, rtol=1e-3)
    for key, value in model.named_parameters():
        np.testing.assert_allclose(weights[key], value.detach().numpy(), rtol=1e-3, atol=1e-5,
                                   err_msg=key)
    peak = plenty["peak_device_bytes"]["measured"]
    less, _ = train(program, folder,
                    [*flags, "--lms=auto", f"--device_memory={peak * 4 // 5}"])
    for result in [plenty, less]:
        peaks = result["peak_device_bytes"]
        assert peaks["measured"] == peaks["predicted"], peaks
    assert less["losses"] == plenty["losses"] and less["checksum"] == plenty["checksum"]
    error = max(abs(a - b) / abs(b) for a, b in zip(plenty["losses"], expected))
    print(f"{name}, opset {opset}: losses within {error:.1e} of PyTorch's; "
          f"the same bits in {less['peak_device_bytes']['measured'] / peak:.0%} of the memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/release/bin/spillway")
    options = parser.parse_args()
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(options.program, case, pathlib.Path(folder))
            except subprocess.CalledProcessError as error:
                sys.exit(f"{case[0]}: {error.stderr}")


if __name__ == "__main__":
    main()
