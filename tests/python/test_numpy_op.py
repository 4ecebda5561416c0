"""Ops that are functions over NumPy arrays, beside the library's own."""

import numpy
import pytest
import spillway as sp


def relu(x):
    return numpy.maximum(x, 0)


def relu_backward(inputs, outputs, gradients):
    return gradients[0] * (outputs[0] > 0)


def build(own, batch=4):
    """Two layers with a relu between them: the library's, or our own."""
    g = sp.GraphBuilder()
    x = g.placeholder("x", "float32", (batch, 6))
    y = g.placeholder("y", "int32", (batch,))
    hidden = g.dense("hidden", x, units=8)
    if own:
        hidden = g.numpy_op("relu", [hidden], relu, relu_backward)
    else:
        hidden = g.activate("relu", hidden, "relu")
    logits = g.dense("logits", hidden, units=3)
    return g.training_step(g.sparse_softmax_cross_entropy("loss", logits, y),
                           optimizer=sp.Momentum(0.1), fetches={"hidden": hidden},
                           passes="none")


def train(step, steps=5, **options):
    random = numpy.random.default_rng(3)
    with sp.Session(step, device="cpu", threads=1, **options) as session:
        for _ in range(steps):
            outputs = session.run(x=random.standard_normal((4, 6), dtype="float32"),
                                  y=random.integers(0, 3, 4))
        return outputs, session.checksum()


def test_the_same_bits_as_the_library():
    own, own_checksum = train(build(own=True))
    library, checksum = train(build(own=False))
    assert own_checksum == checksum
    assert own["loss"] == library["loss"]
    numpy.testing.assert_array_equal(own["hidden"], library["hidden"])


def test_checked_memory_and_a_budget_change_nothing():
    _, checksum = train(build(own=True))
    assert train(build(own=True), check_memory=True)[1] == checksum
    needed = sp.memory(build(own=True)).device_bytes
    assert train(build(own=True), device_memory=needed)[1] == checksum


def test_several_inputs_and_outputs():
    def split_and_scale(x, scale, index):
        assert index.dtype == numpy.int32
        return x[:, :2] * scale, (x[:, 2:] + index[:, None]).astype("float32")

    def backward(inputs, outputs, gradients):
        x, scale, _ = inputs
        dx = numpy.concatenate([gradients[0] * scale, gradients[1]], axis=1)
        return dx, (gradients[0] * x[:, :2]).sum(), None

    g = sp.GraphBuilder()
    x = g.placeholder("x", "float32", (3, 5))
    index = g.placeholder("index", "int32", (3,))
    scale = g.variable("scale", (), initializer=2.0)
    left, right = g.numpy_op("split", [x, scale, index], split_and_scale, backward)
    assert (left.shape, right.shape) == ((3, 2), (3, 3))
    [flat] = g.add_op("Reshape", [left], shape=[6])
    loss = g.mean_squared_distance("loss", flat, g.placeholder("t", "float32", (6,)))
    step = g.training_step(loss, optimizer=sp.Sgd(0.5), fetches={"left": left, "right": right})
    feeds = {"x": numpy.arange(15, dtype="float32").reshape(3, 5), "index": [1, 2, 3],
             "t": numpy.zeros(6, "float32")}
    with sp.Session(step, device="cpu") as session:
        outputs = session.run(**feeds)
        scale_after = session.variables()["scale"]
    numpy.testing.assert_array_equal(outputs["left"], 2 * feeds["x"][:, :2])
    numpy.testing.assert_array_equal(outputs["right"],
                                     feeds["x"][:, 2:] + numpy.array([[1], [2], [3]]))
    # d/ds of the mean of (s x)^2 is 2 s mean(x^2).
    slope = 2 * 2.0 * (feeds["x"][:, :2] ** 2).mean()
    assert scale_after == pytest.approx(2.0 - 0.5 * slope, rel=1e-6)


def test_what_the_functions_do_wrong_is_said():
    def run(forward, backward=None, **arguments):
        g = sp.GraphBuilder()
        w = g.variable("w", (2,), initializer=1.0)
        y = g.numpy_op("own", [w], forward, backward, **arguments)
        loss = g.mean_squared_distance("loss", y, g.placeholder("t", "float32", (2,)))
        with sp.Session(g.training_step(loss), device="cpu") as session:
            session.step(t=[0.0, 0.0])

    with pytest.raises(sp.InvalidArgument, match="no backward function"):
        run(lambda x: x)
    with pytest.raises(ZeroDivisionError):  # at once, with zeros
        run(lambda x: x / (1 // int(x[0])))
    with pytest.raises(sp.InvalidArgument, match="ValueError: not today"):
        run(lambda x: x, lambda *_: (_ for _ in ()).throw(ValueError("not today")))
    with pytest.raises(sp.InvalidArgument, match=r"output 0 must be float32\[2\]"):
        run(lambda x: x[:1], lambda i, o, g: g[0], outputs=[("float32", (2,))])
    with pytest.raises(sp.InvalidArgument, match="2 gradients, not 1"):
        run(lambda x: x, lambda i, o, g: (g[0], None))


def test_arguments_may_be_kept():
    kept = []

    def keep(x):
        kept.append(x)
        return x

    g = sp.GraphBuilder()
    y = g.numpy_op("keep", [g.placeholder("x", "float32", (4,))], keep)
    step = g.forward_step({"y": y})
    with sp.Session(step, device="cpu") as session:
        session.run(x=[1.0, 2.0, 3.0, 4.0])
        session.run(x=[5.0, 6.0, 7.0, 8.0])
    assert [array.tolist() for array in kept[1:]] == [[1, 2, 3, 4], [5, 6, 7, 8]]
