#!/usr/bin/env python3
"""Training speed of one network in PyTorch, in one of its ways to save memory.

Plain SGD, channels_last, images in the device's memory from the start, no loss
read back between the steps: all that is to PyTorch's advantage. Out of memory
is a result, not an error.

  eager              as it is
  compile            torch.compile
  save_on_cpu        what backward needs lies in pinned host memory
  checkpoint         forward is run again, in as many parts as a square root says
  activation_budget  torch.compile that keeps what --device_memory leaves room for
"""

import argparse
import contextlib
import json
import math
import pathlib
import sys
import time

import torch
from torch.utils import checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import pytorch_networks  # noqa: E402  (beside this folder)

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
METHODS = ["eager", "compile", "save_on_cpu", "checkpoint", "activation_budget"]


def set_precision(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True


def kept_part(network, images, budget):
    """The part of the activations that fits: what torch.compile is asked to keep.

    Counted in float32 sizes of all layers' outputs, halved under autocast.
    """
    total = 0

    def count(_, __, output):
        nonlocal total
        total += output.numel() * (2 if torch.is_autocast_enabled() else 4)
    hooks = [module.register_forward_hook(count)
             for module in network.modules() if not list(module.children())]
    with torch.no_grad():
        network(images[:1])
    for hook in hooks:
        hook.remove()
    parameters = sum(p.numel() for p in network.parameters())
    room = budget - 3 * 4 * parameters - images.numel() * images.element_size()
    return min(1.0, max(0.05, room / (total * len(images))))


class Training:
    """One network, its optimizer and one batch."""

    def __init__(self, options):
        torch.manual_seed(1)
        set_precision(options.precision)
        self.device = options.device
        self.half = AUTOCAST.get(options.precision)
        network = pytorch_networks.build(options.model).train().to(
            self.device, memory_format=torch.channels_last)
        shape = pytorch_networks.image_shape(options.model)
        self.images = torch.randn(options.batch_size, *shape,
                                  device=self.device).to(
            memory_format=torch.channels_last)
        self.labels = torch.randint(0, 999, (options.batch_size,),
                                    device=self.device)
        self.optimizer = torch.optim.SGD(
            (p for p in network.parameters() if p.requires_grad), lr=1e-4)
        self.saving = contextlib.nullcontext
        self.forward = self.make_forward(network, options)

    def autocast(self):
        return torch.autocast(torch.device(self.device).type,
                              self.half or torch.bfloat16,
                              enabled=self.half is not None)

    def make_forward(self, network, options):
        if options.method == "checkpoint":
            parts = max(1, round(math.sqrt(len(network))))
            return lambda images: checkpoint.checkpoint_sequential(
                network, parts, images, use_reentrant=False)
        if options.method == "save_on_cpu":
            self.saving = lambda: torch.autograd.graph.save_on_cpu(
                pin_memory=torch.device(self.device).type == "cuda")
        if options.method == "activation_budget":
            from torch._functorch import config
            with self.autocast():
                config.activation_memory_budget = kept_part(
                    network, self.images, options.device_memory)
        if options.method in ["compile", "activation_budget"]:
            return torch.compile(network)
        return network

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.saving():
            with self.autocast():
                logits = self.forward(self.images)
            loss = torch.nn.functional.cross_entropy(logits.float(), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss


def synchronize(device):
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def measure(options):
    training = Training(options)
    for _ in range(3 if options.steps < 10 else 10):
        training.step()
    synchronize(options.device)
    begin = time.perf_counter()
    for _ in range(options.steps):
        training.step()
    synchronize(options.device)
    seconds = (time.perf_counter() - begin) / options.steps
    result = {"images_per_sec": options.batch_size / seconds,
              "step_ms": 1e3 * seconds, "pytorch": torch.__version__}
    if torch.device(options.device).type == "cuda":
        result["cudnn"] = torch.backends.cudnn.version()
        result["peak_bytes"] = torch.cuda.max_memory_reserved()
    return result


def limit_memory(options):
    if not options.device_memory:
        return
    if torch.device(options.device).type != "cuda":
        sys.exit("--device_memory: only a GPU's memory can be limited")
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(options.device_memory / total)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=pytorch_networks.NETWORKS,
                        required=True)
    parser.add_argument("--precision", default="fp32",
                        choices=["fp32", "tf32", "bf16", "fp16"])
    parser.add_argument("--batch_size", type=int, required=True)
    parser.add_argument("--method", choices=METHODS, default="eager")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--device_memory", type=int, default=0,
                        help="bytes; default: all")
    parser.add_argument("--steps", type=int, default=40, help="timed")
    parser.add_argument("--json", required=True, help="write the result here")
    options = parser.parse_args()
    if options.method == "activation_budget" and not options.device_memory:
        parser.error("--method activation_budget needs --device_memory")
    version = tuple(int(number) for number in torch.__version__.split(".")[:2])
    if options.method not in ["eager", "save_on_cpu"] and version < (2, 4):
        parser.error(f"--method {options.method} needs PyTorch 2.4, this is "
                     f"{torch.__version__}")
    if options.device == "inline":
        options.device = "cpu"
    return options


def main():
    options = parse_options()
    limit_memory(options)
    try:
        result = measure(options)
    except torch.cuda.OutOfMemoryError:
        result = {"out_of_memory": True, "pytorch": torch.__version__}
    pathlib.Path(options.json).write_text(json.dumps(result) + "\n",
                                          encoding="utf-8")


if __name__ == "__main__":
    main()
