"""Updates of several micro-batches."""

import numpy
import pytest
import spillway as sp
from conftest import build_net


def build(batch, **settings):
    """A network whose loss is a mean over rows: no batch norm."""
    g = sp.GraphBuilder()
    x = g.placeholder("x", "float32", (batch, 12))
    y = g.placeholder("y", "int32", (batch,))
    hidden = g.dense("hidden", x, units=16, activation="relu")
    logits = g.dense("logits", hidden, units=3)
    loss = g.sparse_softmax_cross_entropy("loss", logits, y)
    return g.training_step(loss, optimizer=sp.Momentum(0.1),
                           fetches={"accuracy": g.accuracy("accuracy", logits, y)}, **settings)


def rows(count):
    random = numpy.random.default_rng(4)
    return {"x": random.standard_normal((count, 12), dtype="float32"),
            "y": random.integers(0, 3, count)}


def test_four_batches_are_one_of_four_times_the_rows():
    data = rows(32)
    with sp.Session(build(32), device="cpu") as session:
        whole = [session.run(**data) for _ in range(5)]
        want = session.variables()
    step = build(8, accumulate=4)
    assert (step.batch_size, step.accumulate) == (8, 4)
    assert step.inputs == {"x": ("float32", (32, 12)), "y": ("int32", (32,))}
    with sp.Session(step, device="cpu") as session:
        parts = [session.run(**data) for _ in range(5)]
        assert session.step_number == 5
        got = session.variables()
    for a, b in zip(whole, parts):
        assert b["loss"] == pytest.approx(a["loss"], rel=1e-5)
        assert b["accuracy"] == pytest.approx(a["accuracy"], rel=1e-6)
    for name, value in want.items():
        numpy.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-6)


def test_the_training_loop_is_a_loop_of_steps():
    data = rows(32 * 3 + 5)
    step = build(8, accumulate=4)
    with sp.Session(step, device="cpu") as session:
        losses = [session.step(**{name: value[i:i + 32] for name, value in data.items()})
                  for i in (0, 32, 64)]
        checksum = session.checksum()
    seen = []
    with sp.Session(step, device="cpu") as session:
        [epoch] = sp.train(session, data, shuffle=False, on_step=lambda s: seen.append(s["loss"]))
        assert (epoch["steps"], session.checksum()) == (3, checksum)
    assert seen == pytest.approx(losses)


def test_a_fed_rate_and_a_checkpoint(tmp_path):
    data, path = rows(16), tmp_path / "net.safetensors"
    step = build(8, accumulate=2, feed_learning_rate=True)
    assert step.inputs["learning_rate"] == ("float32", ())
    with sp.Session(step, device="cpu") as session:
        session.step(**data, learning_rate=0.1)
        session.save(path)
        session.step(**data, learning_rate=0.05)
        want = session.checksum()
    with sp.Session(step, device="cpu") as session:
        session.load(path)
        assert session.step_number == 1
        session.step(**data, learning_rate=0.05)
        assert session.checksum() == want
        with pytest.raises(sp.InvalidArgument, match="learning_rate is not fed"):
            session.step(**data)


def test_a_budget_changes_no_bit():
    g, loss, _ = build_net()
    step = g.training_step(loss, accumulate=2, device="cpu")
    random = numpy.random.default_rng(7)
    batch = {"images": random.standard_normal((16, 12, 12, 3), dtype="float32"),
             "labels": random.integers(0, 5, 16)}
    budget = sp.memory(step, device="cpu").smallest_device_bytes * 8 // 10
    results = []
    for options in ({}, {"device_memory": budget}):
        with sp.Session(step, device="cpu", threads=1, **options) as session:
            results.append(([session.step(**batch) for _ in range(3)], session.checksum()))
            if options:
                assert session.memory["measured_device_bytes"] <= budget
    assert results[0] == results[1]


def test_memory_and_plans_have_the_slots_of_the_update(tmp_path):
    model = sp.zoo("resnet20", batch_size=8)
    options = {"device": "cpu", "threads": 1}
    step = model.training_step(optimizer=sp.Adam(), accumulate=2)
    needed = sp.memory(step, **options)
    with sp.Session(step, **options, lms="off") as session:
        assert session.memory["predicted_device_bytes"] == needed.device_bytes
    budget = needed.smallest_device_bytes * 7 // 10
    plan = sp.tune(step, device_memory=budget, **options)
    assert plan.device_bytes <= budget == plan.device_memory
    path = tmp_path / "plan.json"
    plan.save(path)
    for chosen in (plan, path):
        with sp.Session(step, plan=chosen, **options) as session:
            assert session.memory["predicted_device_bytes"] == plan.device_bytes


def test_what_cannot_be_divided_is_said():
    with pytest.raises(sp.InvalidArgument, match="loss and accuracy, not images"):
        g, loss, _ = build_net()
        x = g.placeholder("more", "float32", (8,))
        g.training_step(loss, accumulate=2, fetches={"images": x})
    with pytest.raises(sp.InvalidArgument, match="one number a step"):
        g = sp.GraphBuilder()
        w = g.variable("w", (), initializer=1.0)
        x = g.placeholder("x", "float32", ())
        g.training_step(g.mean_squared_distance("loss", w, x), accumulate=2)
    with sp.Session(build(8, accumulate=2), device="cpu") as session:
        with pytest.raises(sp.InvalidArgument, match=r"x must be float32\[16, 12\]"):
            session.step(**rows(8))
