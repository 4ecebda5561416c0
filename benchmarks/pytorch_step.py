#!/usr/bin/env python3
"""Training speed of one network in PyTorch, with one of its memory-saving methods.

Plain SGD, images in the device's memory from the start, and no loss read back
between the steps: all of this favours PyTorch. Out of memory is a result, not
an error. On a CPU the result also has the peak resident memory of the process;
save_on_cpu then moves nothing, and only activation_budget respects
--device_memory.

  eager              the default
  compile            torch.compile
  save_on_cpu        keeps the inputs of backward in pinned host memory
  checkpoint         recomputes forward, in parts by the square-root rule
  activation_budget  torch.compile that keeps as much as --device_memory allows

Example:
  benchmarks/pytorch_step.py --model resnet50 --batch_size 16 --device cpu --json -
"""

from script import run_script
from step_program import step_parser, write_step

METHODS = ["eager", "compile", "save_on_cpu", "checkpoint", "activation_budget"]


def parse_options():
    parser = step_parser(__doc__.splitlines()[0])
    parser.add_argument("--method", choices=METHODS, default="eager")
    parser.add_argument("--layout", choices=["nchw", "channels_last"],
                        default="channels_last")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--device_memory", type=int, default=0,
                        help="bytes; default: all")
    parser.add_argument("--count_memory", action="store_true",
                        help="after the timed steps, two more, to count the bytes "
                        "that PyTorch allocates; only for the CPU")
    options = parser.parse_args()
    if options.method == "activation_budget" and not options.device_memory:
        parser.error("--method activation_budget needs --device_memory")
    if options.device == "inline":
        options.device = "cpu"
    if options.count_memory and options.device != "cpu":
        parser.error("--count_memory needs --device cpu")
    return options


def main():
    options = parse_options()
    import pytorch_training  # here: --help needs no PyTorch
    write_step(options, pytorch_training.run(options))


if __name__ == "__main__":
    run_script(main)
