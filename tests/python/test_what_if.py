"""Questions about other batches, machines, ranks, and nodes on the host."""

import numpy
import pytest
import spillway as sp


def dense_net(batch, units=2048):
    """A layer of which one node needs most of the memory."""
    g = sp.GraphBuilder()
    x = g.placeholder("x", "float32", (batch, 64))
    y = g.placeholder("y", "int32", (batch,))
    hidden = g.dense("hidden", x, units=units, activation="relu")
    hidden = g.dense("large", hidden, units=units, activation="relu")
    logits = g.dense("logits", hidden, units=4)
    return g.training_step(g.sparse_softmax_cross_entropy("loss", logits, y),
                           optimizer=sp.Momentum(0.1), device="cpu")


def test_the_largest_batch():
    budget = sp.memory(sp.zoo("lenet", batch_size=48).training_step(), device="cpu")
    found = sp.find_max_batch(lambda n: sp.zoo("lenet", batch_size=n).training_step(),
                              device="cpu", lms="off", threads=1,
                              device_memory=budget.smallest_device_bytes)
    largest = found["batch_size"]
    assert largest >= 48 and not found["interrupted"]
    sizes = {row["batch_size"]: row["fits"] for row in found["tried"]}
    assert sizes[largest] and not sizes[largest + 1]
    # With swaps more fits.
    tuned = sp.find_max_batch(lambda n: sp.zoo("lenet", batch_size=n).training_step(),
                              device="cpu", threads=1, start=largest, limit=largest + 4,
                              device_memory=budget.smallest_device_bytes)
    assert tuned["batch_size"] >= largest


def test_errors_of_a_function_arrive():
    def step_of(batch):
        raise KeyError("no such network")

    with pytest.raises(KeyError, match="no such network"):
        sp.find_max_batch(step_of, device="cpu", device_memory="1GiB")
    with pytest.raises(RuntimeError):  # not a Step
        sp.find_max_batch(lambda batch: 3, device="cpu", device_memory="1GiB")
    with pytest.raises(sp.InvalidArgument, match="budget"):
        sp.find_max_batch(lambda n: dense_net(n), device="cpu")


def test_nodes_on_the_host_change_no_bit():
    random = numpy.random.default_rng(1)
    batch = {"x": random.standard_normal((16, 64), dtype="float32"),
             "y": random.integers(0, 4, 16)}
    step = dense_net(16)
    with sp.Session(step, device="cpu", threads=1) as session:
        want = [session.step(**batch) for _ in range(3)], session.checksum()
    floor = sp.memory(step, device="cpu", threads=1).floor_bytes
    budget = floor * 3 // 4
    with pytest.raises(sp.OutOfBudget):
        sp.Session(step, device="cpu", threads=1, device_memory=budget)
    with sp.Session(step, device="cpu", threads=1, device_memory=budget,
                    place="auto") as session:
        got = [session.step(**batch) for _ in range(3)], session.checksum()
        assert session.memory["measured_device_bytes"] <= budget
    assert got == want
    plan = sp.tune(step, device="cpu", threads=1, device_memory=budget, place="auto")
    with sp.Session(step, device="cpu", threads=1, plan=plan, device_memory=budget,
                    place="auto") as session:
        assert [session.step(**batch) for _ in range(3)] == want[0]
    with pytest.raises(sp.InvalidArgument, match="another graph"):
        sp.Session(step, device="cpu", threads=1, plan=plan, device_memory=budget)


def test_a_measured_machine(tmp_path):
    step = dense_net(4, units=128)
    profile = sp.measure_profile(step, repeats=2, device="cpu", threads=1)
    assert profile.flops_per_second["float32"] > 1e8
    path = tmp_path / "here.json"
    assert profile.save(path) == str(path)
    by_value = sp.simulate(step, device="cpu", threads=1, profile=profile)
    by_file = sp.simulate(step, device="cpu", threads=1, profile=path)
    assert by_value.step_ms == by_file.step_ms > 0


def test_ranks_that_are_not_here():
    model = sp.zoo("resnet20", batch_size=32)
    alone = sp.simulate(model.training_step(), profile="p100_pcie")
    step = model.training_step(workers=8)
    slow = sp.simulate(step, profile="p100_pcie", network_gbps=0.1)
    fast = sp.simulate(step, profile="p100_pcie", network_gbps=10.0)
    assert slow.step_ms > fast.step_ms > alone.step_ms
    assert sp.memory(step).device_bytes == sp.memory(step, network_gbps=1.0).device_bytes
    with pytest.raises(sp.InvalidArgument, match="8 ranks that are only predicted"):
        sp.Session(step, device="cpu")
    with pytest.raises(sp.InvalidArgument, match="network_gbps"):
        sp.simulate(step, profile="p100_pcie")
    with pytest.raises(sp.InvalidArgument, match="0 is not a number of ranks"):
        model.training_step(workers=0)
