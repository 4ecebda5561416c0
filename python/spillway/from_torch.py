"""PyTorch modules: train them in the memory that there is."""

import importlib.util
import inspect
import os
import tempfile
import warnings

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


# An ONNX file is a protobuf message, of 2 GiB at most; some of it for the nodes.
_MOST_BYTES_OF_A_FILE = 2**31 - 2**27

# Weights that are in files beside the model's are read when a session begins.
_folders = []


def _weight_bytes(module):
    return sum(tensor.numel() * tensor.element_size()
               for tensor in module.state_dict().values())


def _has_new_exporter(torch):
    """Whether torch.onnx.export traces with torch.export by default (2.9)."""
    dynamo = inspect.signature(torch.onnx.export).parameters.get("dynamo")
    return (dynamo is not None and dynamo.default is True and
            importlib.util.find_spec("onnxscript") is not None)


def _export(module, examples, path):
    """torch.onnx.export of the module as it trains, of PyTorch 1.13 or newer."""
    torch = _torch()
    settings = {"input_names": _input_names(module, len(examples))}
    if _has_new_exporter(torch):
        settings |= {"dynamo": True, "optimize": False, "verbose": False,
                     "external_data": _weight_bytes(module) > _MOST_BYTES_OF_A_FILE}
    else:
        settings |= {"training": torch.onnx.TrainingMode.TRAINING,
                     "do_constant_folding": False}
        if "dynamo" in inspect.signature(torch.onnx.export).parameters:
            settings["dynamo"] = False
    was_training = module.training
    module.train()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Exporting a model while it is in training")
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
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "module.onnx")
    _export(module, examples, path)
    model = import_onnx(path, **import_arguments)
    if len(os.listdir(folder.name)) > 1:
        _folders.append(folder)  # until the interpreter ends
    else:
        folder.cleanup()
    return TorchModel(module, model)
