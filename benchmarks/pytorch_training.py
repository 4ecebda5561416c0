"""Training steps of one network in PyTorch, with the methods of
pytorch_step.py."""

import contextlib
import functools
import json
import math
import pathlib
import tempfile

import torch
from torch.nn import functional
from torch.utils import checkpoint

import pytorch_networks
from network_facts import NETWORKS
from step_program import LEARNING_RATE, peak_resident_bytes, timed_steps

LAYOUTS = {"nchw": torch.contiguous_format, "channels_last": torch.channels_last}
AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


def set_precision(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True


def kept_part(network, images, budget):
    """The fraction of the activations that fits: torch.compile shall keep it.

    The outputs of all layers count as activations.
    """
    total = 0

    def count(_, __, output):
        nonlocal total
        total += output.numel() * output.element_size()
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
        self.device = torch.device(options.device)
        self.half = AUTOCAST.get(options.precision)
        layout = LAYOUTS[options.layout]
        network = pytorch_networks.build(options.model).train().to(
            self.device, memory_format=layout)
        shape = pytorch_networks.image_shape(options.model)
        self.images = torch.randn(options.batch_size, *shape,
                                  device=self.device).to(memory_format=layout)
        classes = NETWORKS[options.model].classes
        self.labels = torch.randint(
            0, classes - 1,
            (options.batch_size, *pytorch_networks.label_shape(options.model)),
            device=self.device)
        self.optimizer = torch.optim.SGD(
            (p for p in network.parameters() if p.requires_grad),
            lr=LEARNING_RATE)
        self.saving = contextlib.nullcontext
        self.forward = self.make_forward(network, options)
        self.last_loss = None

    def autocast(self):
        return torch.autocast(self.device.type, self.half or torch.bfloat16,
                              enabled=self.half is not None)

    def make_forward(self, network, options):
        if options.method == "checkpoint":
            parts = max(1, round(math.sqrt(len(network))))
            return lambda images: checkpoint.checkpoint_sequential(
                network, parts, images, use_reentrant=False)
        if options.method == "save_on_cpu":
            self.saving = functools.partial(
                torch.autograd.graph.save_on_cpu,
                pin_memory=self.device.type == "cuda")
        if options.method == "activation_budget":
            from torch._functorch import config as functorch_config  # not in 1.13
            with self.autocast():
                functorch_config.activation_memory_budget = kept_part(
                    network, self.images, options.device_memory)
        if options.method in ["compile", "activation_budget"]:
            return torch.compile(network)
        return network

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.saving():
            with self.autocast():
                logits = self.forward(self.images)
            loss = functional.cross_entropy(logits.float(), self.labels)
        loss.backward()
        self.optimizer.step()
        self.last_loss = loss.detach()

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def measure(options):
    training = Training(options)
    result = timed_steps(training.step, training.wait, options)
    result |= {"loss": training.last_loss.item(), "pytorch": torch.__version__}
    if training.device.type == "cuda":
        result["cudnn"] = torch.backends.cudnn.version()
        result["peak_bytes"] = torch.cuda.max_memory_reserved()
    else:
        result["resident_bytes"] = peak_resident_bytes()
    return result


def peak_allocated_bytes(options):
    """The most memory that PyTorch's CPU allocator handed out in two steps,
    from before the network was built. Excludes oneDNN's own buffers."""
    with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            profile_memory=True) as profile:
        training = Training(options)
        for _ in range(2):
            training.step()
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        profile.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    return max(event["args"]["Total Allocated"] for event in events
               if event["name"] == "[memory]")


def limit_memory(options):
    """Limits the memory of a GPU. On a CPU, only activation_budget has a
    limit."""
    if options.device_memory and torch.device(options.device).type == "cuda":
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(options.device_memory / total)


def check_version(method):
    """The other methods do not exist before PyTorch 2.4, or work
    differently."""
    version = tuple(int(number) for number in torch.__version__.split(".")[:2])
    if method not in ["eager", "save_on_cpu"] and version < (2, 4):
        raise SystemExit(f"pytorch_step.py: --method {method} needs PyTorch 2.4, "
                         f"this is {torch.__version__}")


def run(options):
    """The result of pytorch_step.py."""
    check_version(options.method)
    torch.set_num_threads(options.threads)
    limit_memory(options)
    try:
        result = measure(options)
    except torch.cuda.OutOfMemoryError:
        return {"out_of_memory": True, "pytorch": torch.__version__}
    if options.count_memory:
        result["allocated_bytes"] = peak_allocated_bytes(options)
    return result
