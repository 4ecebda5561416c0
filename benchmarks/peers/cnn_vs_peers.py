#!/usr/bin/env python3
"""Training throughput of whole networks in Spillway and in the newest PyTorch,
TensorFlow and JAX, alternately.

PyTorch runs eagerly in both of its layouts and compiled, TensorFlow as a
tf.function, JAX jitted. bfloat16 is PyTorch's autocast, eager and compiled, and
bfloat16 activations in the others. For the method see side_by_side.py. A
framework that is missing or fails gets a line below its row.

Needs the virtual environment that peers/setup makes. Example:
  benchmarks/peers/setup
  benchmarks/peers/cnn_vs_peers.py --models resnet50,resnet20 --rounds 3
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from script import run_script  # noqa: E402  (in the folder above)
from side_by_side import comma_list, make_parser, run_comparisons  # noqa: E402

PRECISIONS = ["fp32", "bf16"]
FRAMEWORKS = ["pytorch", "tensorflow", "jax"]


def all_variants(python):
    """The command of each variant, by precision and name."""
    pytorch = [python, HERE.parent / "pytorch_step.py", "--device=cpu"]
    others = {name: [python, HERE / "framework_step.py", f"--framework={name}"]
              for name in FRAMEWORKS[1:]}
    return {
        "fp32": {"pytorch nchw": [*pytorch, "--layout=nchw"],
                 "pytorch channels_last": pytorch,
                 "pytorch compile": [*pytorch, "--method=compile"], **others},
        "bf16": {"pytorch autocast": pytorch,
                 "pytorch autocast compile": [*pytorch, "--method=compile"],
                 **others}}


def chosen_variants(options):
    return {precision: {name: command for name, command in variants.items()
                        if name.split()[0] in options.frameworks}
            for precision, variants in all_variants(options.python).items()}


def main():
    parser = make_parser(__doc__.split("\n\n")[0].replace("\n", " "), PRECISIONS)
    parser.add_argument("--python", default="build/peers/bin/python",
                        help="of the virtual environment; default: %(default)s")
    parser.add_argument("--frameworks", type=comma_list(FRAMEWORKS),
                        default=FRAMEWORKS, help="default: all of "
                        + ", ".join(FRAMEWORKS))
    options = parser.parse_args()
    if not pathlib.Path(options.python).exists():
        sys.exit(f"cnn_vs_peers.py: there is no {options.python}; make it with "
                 "benchmarks/peers/setup")
    run_comparisons(chosen_variants(options), options)


if __name__ == "__main__":
    run_script(main)
