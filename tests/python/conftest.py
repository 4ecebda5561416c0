"""Steps that several tests train."""

import numpy
import pytest

import spillway as sp


def build_net(batch=8):
    """A convolution, batch norm and a dense layer over 12 x 12 images."""
    g = sp.GraphBuilder("net")
    images = g.placeholder("images", "float32", (batch, 12, 12, 3))
    labels = g.placeholder("labels", "int32", (batch,))
    x = g.conv2d("conv1", images, filters=16, kernel=3)
    x = g.batch_norm("norm1", x, activation="relu")
    for i in range(3):
        with g.scope(f"block{i}"):
            x = g.conv2d("conv", x, filters=16, kernel=3, use_bias=False)
            x = g.batch_norm("norm", x, activation="relu")
    x = g.max_pool("pool", x)
    logits = g.dense("fc", g.flatten("flat", x), units=5)
    loss = g.sparse_softmax_cross_entropy("loss", logits, labels)
    return g, loss, g.accuracy("accuracy", logits, labels)


@pytest.fixture
def step():
    g, loss, accuracy = build_net()
    return g.training_step(loss, optimizer=sp.Momentum(0.05),
                           fetches={"accuracy": accuracy}, device="cpu")


@pytest.fixture
def batch():
    random = numpy.random.default_rng(7)
    return {"images": random.standard_normal((8, 12, 12, 3), dtype=numpy.float32),
            "labels": random.integers(0, 5, 8, dtype=numpy.int32)}
