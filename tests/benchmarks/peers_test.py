#!/usr/bin/env python3
"""Comparisons with other frameworks: the networks written for them, the rounds,
and the evaluation of the numbers. Needs no framework."""

import argparse
import math
import pathlib
import sys
import tempfile
import types
import unittest

BENCHMARKS = pathlib.Path(__file__).resolve().parent.parent.parent / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "peers")]

import memory_vs_peers  # noqa: E402
import networks  # noqa: E402
import network_facts  # noqa: E402
import side_by_side  # noqa: E402


class Map:
    """A tensor that only has a shape [batch, ...]."""

    def __init__(self, *shape):
        self.shape = shape

    def __add__(self, other):
        assert self.shape == other.shape, (self.shape, other.shape)
        return self

    def __getitem__(self, slices):
        steps = [part.step or 1 for part in slices] + [1]
        return Map(*(-(-size // step) for size, step in zip(self.shape, steps)))


class ShapeLayers(networks.Layers):
    """Layers that compute shapes, and count parameters."""

    def __init__(self):
        super().__init__(self.count)
        self.parameters = 0

    def count(self, shape, _):
        self.parameters += math.prod(shape)

    def windows(self, x, kernel, stride, padding, channels):
        sizes = [-(-(side if padding == "SAME" else side - size + 1) // stride)
                 for side, size in zip(x.shape[1:3], kernel)]
        return Map(x.shape[0], *sizes, channels)

    def conv(self, x, filters, kernel, stride=1, padding="SAME", bias=True):
        kernel = networks.high_and_wide(kernel)
        self.weights(*kernel, x.shape[-1], filters)
        if bias:
            self.biases(filters)
        return self.windows(x, kernel, stride, padding, filters)

    def depthwise(self, x, kernel, stride):
        self.weights(kernel, kernel, 1, x.shape[-1])
        return self.windows(x, (kernel, kernel), stride, "SAME", x.shape[-1])

    def dense(self, x, units):
        self.weights(x.shape[-1], units)
        self.biases(units)
        return Map(x.shape[0], units)

    def norm(self, x, epsilon, scale=True):
        del epsilon
        self.biases(x.shape[-1])
        if scale:
            self.scales(x.shape[-1])
        return x

    def max_pool(self, x, size, stride, padding="VALID"):
        return self.windows(x, (size, size), stride, padding, x.shape[-1])

    avg_pool = max_pool

    def relu(self, x):
        return x

    relu6 = relu

    def dropout(self, x, rate):
        del rate
        return x

    def pad_channels(self, x, channels):
        return Map(*x.shape[:-1], channels)

    def mean(self, x):
        return Map(x.shape[0], x.shape[-1])

    def flatten(self, x):
        return Map(x.shape[0], math.prod(x.shape[1:]))

    def concat(self, xs):
        assert len({x.shape[:-1] for x in xs}) == 1
        return Map(*xs[0].shape[:-1], sum(x.shape[-1] for x in xs))


class NetworksTest(unittest.TestCase):

    def test_they_are_the_zoos(self):
        for name, network in networks.NETWORKS.items():
            with self.subTest(network=name):
                facts = network_facts.NETWORKS[name]
                net = ShapeLayers()
                logits = network(net, Map(2, facts.side, facts.side,
                                          facts.channels))
                self.assertEqual(logits.shape, (2, facts.classes))
                network_facts.check_parameters(name, net.parameters)

    def test_another_network_is_refused(self):
        with self.assertRaisesRegex(ValueError, "has 5 parameters, not 269722"):
            network_facts.check_parameters("resnet20", 5)

    def test_all_are_compared(self):
        self.assertLessEqual(set(networks.NETWORKS), set(side_by_side.BATCHES))

    def test_a_network_of_pytorch_alone_is_named(self):
        with self.assertRaisesRegex(ValueError, "unet2d is built in PyTorch"):
            networks.network("unet2d")


# A program that trains steps. Its first flag: the speeds of its runs, in order;
# -: the run fails.
PROGRAM = """
import json, pathlib, sys
speeds, *flags = sys.argv[1:]
runs = pathlib.Path(f"runs_{speeds}")
number = len(runs.read_text()) if runs.exists() else 0
runs.write_text("x" * (number + 1))
speed = speeds.split(",")[number]
if speed == "-":
    sys.exit("first words\\nlast words")
path = next(flag for flag in flags if flag.startswith("--json=")).split("=")[1]
pathlib.Path(path).write_text(json.dumps(
    {"images_per_sec": float(speed), "parameters": 269722, "jax": "1.2"}))
"""


class ComparisonTest(unittest.TestCase):

    def compare(self, ours, theirs, rounds=3):
        """The comparison after its rounds, for programs with these speeds."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(PROGRAM.replace('f"runs_', f'f"{folder}/runs_'))
            options = types.SimpleNamespace(
                spillway="-", batches={"resnet20": 4}, warmup=1, steps=1,
                threads=1, timeout=60, rounds=rounds)
            command = [sys.executable, program]
            comparison = side_by_side.Comparison(
                "resnet20", "fp32",
                {name: [*command, speeds] for name, speeds in theirs.items()},
                options)
            comparison.commands["spillway"] = [*command, ours]
            comparison.row = comparison.run()
            return comparison

    def test_medians_are_compared_with_the_best_of_the_others(self):
        row = self.compare("6,8,7", {"a": "3,2,9", "b": "4,4,5"}).row
        self.assertEqual(row["medians"], {"spillway": 7, "a": 3, "b": 4})
        self.assertEqual(row["rival"], "b")
        self.assertEqual(row["ratio"], 7 / 4)
        self.assertEqual((row["ratio_least"], row["ratio_most"]), (7 / 5, 2))

    def test_what_fails_is_not_tried_again_and_the_others_go_on(self):
        comparison = self.compare("6,6,6", {"a": "-,3,3", "b": "2,2,2"})
        self.assertEqual(comparison.row["errors"], {"a": "last words"})
        self.assertEqual(comparison.row["rival"], "b")
        self.assertEqual(len(comparison.row["images_per_sec"]["b"]), 3)
        text = side_by_side.format_row(comparison.row, ["spillway", "a", "b"])
        self.assertIn("\n  a: last words", text)

    def test_without_ours_there_is_nothing_to_compare(self):
        row = self.compare("-", {"a": "3"}, rounds=1).row
        self.assertEqual(row["images_per_sec"], {})
        self.assertNotIn("ratio", row)
        self.assertIn("spillway: last words",
                      side_by_side.format_row(row, ["spillway", "a"]))

    def test_versions_are_the_programs(self):
        self.assertEqual(self.compare("6", {"a": "3"}, rounds=1).versions,
                         {"jax": "1.2"})

    def test_too_long_is_a_failure(self):
        options = types.SimpleNamespace(timeout=0.1)
        with self.assertRaisesRegex(side_by_side.Failed, "more than 0.1 s"):
            side_by_side.run_step(
                [sys.executable, "-c", "import time; time.sleep(9)"], ".", options)

    def test_batches_are_for_all_or_for_some(self):
        self.assertEqual(set(side_by_side.parse_batches("3").values()), {3})
        some = side_by_side.parse_batches("vgg16=2")
        self.assertEqual((some["vgg16"], some["resnet50"]), (2, 16))
        for text in ["0", "vgg=3", "vgg16=x"]:
            with self.assertRaises(argparse.ArgumentTypeError):
                side_by_side.parse_batches(text)


class MemoryTest(unittest.TestCase):

    def row(self, variant, speed, size):
        return {"variant": variant, "images_per_sec": speed, "step_bytes": size}

    def test_the_smallest_of_ours_that_is_as_fast_is_found(self):
        found = memory_vs_peers.as_fast([
            self.row("spillway", 10, 100), self.row("spillway in 50%", 9, 50),
            self.row("spillway in 35%", 6, 35),
            {"variant": "spillway in 10%", "error": "does not fit"},
            self.row("pytorch", 8, 200), self.row("pytorch checkpoint", 5, 70),
            self.row("pytorch compile", 11, 150)])
        self.assertEqual(found, {
            "pytorch": {"variant": "spillway in 50%", "bytes_ratio": 50 / 200,
                        "speed_ratio": 9 / 8},
            "pytorch checkpoint": {"variant": "spillway in 35%",
                                   "bytes_ratio": 35 / 70, "speed_ratio": 6 / 5}})

    def test_a_failure_is_its_programs_last_words(self):
        with self.assertRaisesRegex(memory_vs_peers.Failed, "^so it is$"):
            memory_vs_peers.run([sys.executable, "-c",
                                 "import sys; sys.exit('well\\nso it is')"])


if __name__ == "__main__":
    unittest.main()
