#!/usr/bin/env python3
"""Writes the files that the ONNX examples of the pages read: the model that
docs/onnx.md exports, by its own Python block, and random data for it. Exit
status 3: PyTorch or torchvision is missing.

usage: onnx_files.py FOLDER"""

import os
import pathlib
import sys

import markdown

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/onnx_model/peers"))

SAMPLES = 32
CLASSES = 1000


def main():
    folder = pathlib.Path(sys.argv[1])
    try:
        import numpy as np
        import torchvision  # pylint: disable=unused-import
    except ImportError as error:
        print(error)
        return 3
    from tensor_files import save
    page = (ROOT / "docs/onnx.md").read_text()
    export = next(block.text for block in markdown.blocks(page)
                  if "torch.onnx.export" in block.text)
    os.chdir(folder)
    exec(compile(export, "docs/onnx.md", "exec"), {})
    os.link("resnet50.onnx", "model.onnx")
    random = np.random.default_rng(0)
    images = random.standard_normal((SAMPLES, 3, 224, 224), np.float32)
    save("flowers.safetensors",
         {"images": images, "labels": random.integers(0, CLASSES, SAMPLES)})
    save("inputs.safetensors", {"images": images[:2]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
