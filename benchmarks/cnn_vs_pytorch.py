#!/usr/bin/python3
"""Training throughput of whole networks in Spillway and PyTorch, alternately.

For float32, Spillway is compared with the faster of PyTorch's two layouts (NCHW
and channels_last); bfloat16 is autocast in channels_last. For the method see
side_by_side.py. peers/cnn_vs_peers.py has the newest PyTorch and other
frameworks.

Needs python3-torch. Example:
  benchmarks/cnn_vs_pytorch.py --models resnet50 --batch_size 16
"""

import pathlib
import sys

from script import run_script
from side_by_side import make_parser, run_comparisons

STEP = [sys.executable, pathlib.Path(__file__).with_name("pytorch_step.py"),
        "--device=cpu"]
VARIANTS = {
    "fp32": {"pytorch nchw": [*STEP, "--layout=nchw"],
             "pytorch channels_last": STEP},
    "bf16": {"pytorch autocast": STEP},
}


def main():
    options = make_parser(__doc__.splitlines()[0], VARIANTS).parse_args()
    import torch  # noqa: F401  (its absence is an error before the first run)
    run_comparisons(VARIANTS, options)


if __name__ == "__main__":
    run_script(main)
