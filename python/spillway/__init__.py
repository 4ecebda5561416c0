"""Spillway trains neural networks that need more memory than the device has.

    import spillway as sp

    model = sp.zoo("resnet50", batch_size=64)        # or sp.import_onnx("net.onnx")
    step = model.training_step(optimizer=sp.Momentum(0.1))
    print(sp.memory(step))                           # exact bytes, before anything runs
    plan = sp.tune(step, device_memory="8GiB", profile="p100_pcie")
    with sp.Session(step, device_memory="4GiB") as session:
        loss = session.step(images=images, labels=labels)
        sp.train(session, {"images": all_images, "labels": all_labels}, epochs=2)

A Model is a network for one batch size. It makes Steps, which are static graphs.
`memory`, `simulate` and `tune` predict a step's bytes and time and run nothing; a
Session runs it, within a budget that is a hard limit, with the same results to the
bit as without one. `spillway.options` describes the keyword arguments that they
share, `spillway.errors` what they raise.
"""

from . import display as _display
from . import data, errors, options
from ._spillway import (
    AdaGrad,
    Adam,
    AdamW,
    BucketedSession,
    Frontier,
    GraphBuilder,
    Lars,
    Model,
    Momentum,
    Plan,
    Prediction,
    Profile,
    RmsProp,
    Session,
    Sgd,
    Step,
    Tensor,
    Velocity,
    Workers,
    __version__,
    find_max_batch,
    import_onnx,
    measure_profile,
    memory,
    simulate,
    tune,
    workers,
    zoo,
    zoo_names,
)
from .errors import (
    Cancelled,
    Error,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfBudget,
    Unavailable,
    Unimplemented,
)
from .from_torch import TorchModel, from_torch
from .training import train

_display.attach(Prediction, Plan, Frontier, Step)

__all__ = [name for name in dir() if not name.startswith("_")]
