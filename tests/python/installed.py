"""What `pip install .` has to give, run from where the sources are not."""

import numpy

import spillway as sp

step = sp.zoo("lenet", batch_size=4).training_step()
needed = sp.memory(step, device="cpu")
with sp.Session(step, device="cpu", device_memory=needed.smallest_device_bytes) as session:
    loss = session.step(
        **{name: numpy.zeros(shape, dtype)
           for name, (dtype, shape) in step.inputs.items()})
assert loss > 0, loss
assert sp.errors.OutOfBudget.__doc__ and "from_torch" in sp.__all__
print(f"spillway {sp.__version__} in Python: a step of lenet, loss {loss:.4f}")
