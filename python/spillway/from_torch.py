"""PyTorch modules: train them in the memory that there is."""

import inspect
import os
import tempfile

from ._spillway import import_onnx
from .errors import InvalidArgument, Unavailable


def _torch():
    try:
        import torch
    except ImportError as error:
        raise Unavailable("from_torch needs PyTorch (the package torch)") from error
    return torch


class TorchModel:
    """A module of PyTorch as a model, and the way back of its weights."""

    def __init__(self, module, model):
        self.module = module
        self.model = model

    def training_step(self, *args, **kwargs):
        """As Model.training_step."""
        return self.model.training_step(*args, **kwargs)

    def evaluation_step(self, *args, **kwargs):
        """As Model.evaluation_step."""
        return self.model.evaluation_step(*args, **kwargs)

    def write_back(self, session):
        """Writes the session's weights into the module, bitwise, and returns it.

        Buffers that an export leaves out (a batch norm's count of steps) stay as
        they are. Errors: InvalidArgument for a parameter of the module that the
        session does not have.
        """
        torch = _torch()
        weights = session.onnx_weights()
        state = self.module.state_dict()
        for name, parameter in self.module.named_parameters():
            if name not in weights and parameter.requires_grad:
                raise InvalidArgument(
                    f"the export of the module has no weight '{name}'")
        for name, array in weights.items():
            if name in state:
                state[name] = torch.from_numpy(array).to(state[name].dtype)
        self.module.load_state_dict(state)
        return self.module


def _input_names(module, count):
    """Names of the first `count` parameters of forward; the feeds have them."""
    parameters = inspect.signature(module.forward).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in parameters if parameter.kind in kinds]
    return (names + [f"input_{i}" for i in range(len(names), count)])[:count]


def _export(module, examples, path):
    """torch.onnx.export for training, of PyTorch 1.13 or newer."""
    torch = _torch()
    settings = {"training": torch.onnx.TrainingMode.TRAINING,
                "do_constant_folding": False,
                "input_names": _input_names(module, len(examples))}
    known = inspect.signature(torch.onnx.export).parameters
    if "dynamo" in known:  # the exporter that keeps the names of weights
        settings["dynamo"] = False
    was_training = module.training
    module.train()
    try:
        torch.onnx.export(module, examples, path, **settings)
    finally:
        module.train(was_training)


def from_torch(module, example, **import_arguments):
    """The model of a PyTorch module, for inputs of `example`'s shapes.

    module: a torch.nn.Module. Its weights are the first values.
    example: a tensor, or a tuple of tensors: a batch of inputs. The inputs of a
        step have the names of forward's parameters.
    import_arguments: as import_onnx.

        model = sp.from_torch(module, torch.zeros(64, 3, 224, 224))
        step = model.training_step(optimizer=sp.Momentum(0.1))
        with sp.Session(step, device_memory="2GiB") as session:
            for images, labels in loader:
                loss = session.step(x=images, labels=labels)
            model.write_back(session)

    Errors: Unavailable without PyTorch; those of import_onnx for a module with
    operators that cannot be imported.
    """
    torch = _torch()
    if not isinstance(module, torch.nn.Module):
        raise InvalidArgument(f"{module!r} is no torch.nn.Module")
    examples = example if isinstance(example, tuple) else (example,)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.onnx")
        _export(module, examples, path)
        model = import_onnx(path, **import_arguments)
    return TorchModel(module, model)
