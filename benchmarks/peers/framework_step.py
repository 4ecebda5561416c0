#!/usr/bin/env python3
"""Training speed of one network in TensorFlow or JAX.

Plain SGD in one compiled function, on images that are in memory; no loss is
read back between the steps. Example, with the Python that `setup` made:
  build/peers/bin/python benchmarks/peers/framework_step.py --framework jax \\
    --model resnet20 --batch_size 32 --json -
"""

import importlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from script import run_script  # noqa: E402  (beside this folder)
from step_program import step_parser, timed_steps, write_step  # noqa: E402


def main():
    parser = step_parser(__doc__.splitlines()[0])
    parser.add_argument("--framework", choices=["tensorflow", "jax"],
                        required=True)
    options = parser.parse_args()
    framework = importlib.import_module(f"{options.framework}_training")
    training = framework.Training(options)
    result = timed_steps(training.step, training.wait, options)
    write_step(options, result | {"loss": training.loss(),
                                  options.framework: framework.VERSION})


if __name__ == "__main__":
    run_script(main)
