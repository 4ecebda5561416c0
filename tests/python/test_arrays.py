import gc

import numpy
import pytest

import spillway as sp


class DLPack:
    """An array of another library: nothing but the protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **settings):
        return self.array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def doubled(dtype, shape, value):
    """What a step that returns its input twice, added, makes of `value`."""
    g = sp.GraphBuilder()
    x = g.placeholder("x", dtype, shape)
    [y] = g.add_op("Add", [x, x])
    step = g.forward_step({"y": y})
    with sp.Session(step, device="cpu") as session:
        return session.run(x=value)["y"]


@pytest.mark.parametrize("value", [
    numpy.arange(6, dtype="float32").reshape(2, 3),
    numpy.arange(6, dtype="float64").reshape(2, 3),
    numpy.arange(6, dtype="int64").reshape(2, 3),
    numpy.arange(6, dtype="float32").reshape(3, 2).T.copy(order="F"),
    numpy.arange(24, dtype="float32").reshape(4, 6)[::2, ::2],
    numpy.arange(6, dtype=">f4").reshape(2, 3),
    DLPack(numpy.arange(6, dtype="float32").reshape(2, 3)),
    [[0, 1, 2], [3, 4, 5]],
])
def test_reals_of_any_kind(value):
    want = numpy.asarray(getattr(value, "array", value))
    got = doubled("float32", (2, 3), value)
    assert got.dtype == numpy.float32 and (got == 2 * want).all()


def test_integers_that_fit():
    assert (doubled("int32", (2,), numpy.array([1, -7], "int64")) == [2, -14]).all()
    with pytest.raises(sp.InvalidArgument, match=r"x must be int32\[2\]; it is int64"):
        doubled("int32", (2,), numpy.array([1, 2**40]))
    with pytest.raises(sp.InvalidArgument, match=r"x must be int32\[2\]; it is float32"):
        doubled("int32", (2,), numpy.array([1, 2], "float32"))


@pytest.mark.parametrize("value", [
    numpy.zeros((3, 2), "float32"), numpy.zeros(6, "float32"), "text", None, object()])
def test_other_values_are_refused_by_name(value):
    with pytest.raises(sp.InvalidArgument, match=r"^x (must be float32\[2, 3\]|is not)"):
        doubled("float32", (2, 3), value)


def test_feeds_have_names(step, batch):
    with sp.Session(step, device="cpu") as session:
        with pytest.raises(sp.InvalidArgument, match="no input 'image': it has images, "):
            session.step(image=batch["images"], labels=batch["labels"])
        with pytest.raises(sp.InvalidArgument, match="labels"):
            session.step(images=batch["images"])
        with pytest.raises(sp.InvalidArgument, match=r"labels: element 0 is 7"):
            session.step(images=batch["images"], labels=numpy.full(8, 7))


def test_results_outlive_their_session(step, batch):
    session = sp.Session(step, device="cpu")
    variables, outputs = session.variables(), session.run(**batch)
    copies = {name: value.copy() for name, value in variables.items()}
    session.close()
    del session
    gc.collect()
    assert all((variables[name] == copies[name]).all() for name in copies)
    assert numpy.isfinite(outputs["loss"])
    again = numpy.from_dlpack(variables["fc/weights"])
    assert again.ctypes.data == variables["fc/weights"].ctypes.data


def test_bfloat16_arrives_as_float32():
    g = sp.GraphBuilder()
    x = g.placeholder("x", "float32", (3,))
    step = g.forward_step({"y": g.cast("c", x, "bfloat16")})
    with sp.Session(step, device="cpu") as session:
        y = session.run(x=[1.0, 1 + 2**-9, 3.14159274])["y"]
    assert y.dtype == numpy.float32
    assert list(y) == [1.0, 1.0, 3.140625]
