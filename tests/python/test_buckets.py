"""Inputs of several sizes."""

import numpy
import pytest
import spillway as sp

SIZES = (8, 12)


def net(size):
    """A network whose variables do not depend on the size of its images."""
    g = sp.GraphBuilder(f"net {size}")
    images = g.placeholder("images", "float32", (4, size, size, 3))
    labels = g.placeholder("labels", "int32", (4,))
    x = g.conv2d("conv", images, filters=8, kernel=3, activation="relu")
    logits = g.dense("fc", g.global_average_pool("pool", x), units=3)
    return g.training_step(g.sparse_softmax_cross_entropy("loss", logits, labels),
                           optimizer=sp.Momentum(0.1), device="cpu")


def batch(size, seed):
    random = numpy.random.default_rng(seed)
    return {"images": random.standard_normal((4, size, size, 3), dtype="float32"),
            "labels": random.integers(0, 3, 4)}


def train(session):
    return [session.step(SIZES[i % 2], **batch(SIZES[i % 2], i)) for i in range(6)]


def test_buckets_share_their_variables(tmp_path):
    asked = []

    def step_of(size):
        asked.append(size)
        return net(size)

    session = sp.BucketedSession(step_of, 12, device="cpu", threads=1)
    assert session.keys == [12] == asked
    losses = train(session)
    assert session.keys == [12, 8] and asked == [12, 8]
    # By hand: one session for each size, which hands its variables on.
    by_hand, state = [], None
    sessions = {size: sp.Session(net(size), device="cpu", threads=1) for size in SIZES}
    for i in range(6):
        one = sessions[SIZES[i % 2]]
        if state is not None:
            one.set_variables(state)
        by_hand.append(one.step(**batch(SIZES[i % 2], i)))
        state = one.variables()
    assert losses == by_hand
    got = session.variables()
    for name, value in state.items():
        numpy.testing.assert_array_equal(got[name], value)
    memory = session.memory  # what is measured ends with the last byte, not its block
    blocks = -(-memory["measured_device_bytes"] // 256)
    assert memory["predicted_device_bytes"] == 256 * blocks

    path = tmp_path / "net.safetensors"
    session.save(path)
    again = sp.BucketedSession(net, 12, [8], device="cpu", threads=1)
    again.load(path)
    assert again.checksum() == session.checksum()
    assert train(again) == train(session)


def test_errors_name_the_bucket():
    session = sp.BucketedSession(net, 12, device="cpu", strict=True)
    with pytest.raises(sp.OutOfBudget, match=r"bucket \[16\]"):
        session.step(16, **batch(16, 0))
    with pytest.raises(sp.InvalidArgument, match="no input 'image'"):
        session.step(12, image=0)
    with pytest.raises(sp.InvalidArgument, match="images must be"):
        session.step(12, **batch(8, 0))

    def broken(size):
        raise LookupError(f"no network for {size}")

    with pytest.raises(LookupError, match="no network for 12"):
        sp.BucketedSession(broken, 12, device="cpu")
    with pytest.raises(sp.Unimplemented, match="place"):
        sp.BucketedSession(net, 12, device="cpu", place="auto")
