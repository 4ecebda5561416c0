import subprocess
import sys
import threading

import numpy
import pytest
from conftest import build_net

import spillway as sp


def train(step, batch, steps=5, **options):
    with sp.Session(step, device="cpu", **options) as session:
        losses = [session.step(**batch) for _ in range(steps)]
        return losses, session.checksum(), session.memory


def test_a_budget_changes_no_bit(step, batch):
    free = sp.memory(step, device="cpu")
    losses, checksum, memory = train(step, batch)
    budget = int(free.smallest_device_bytes * 0.8)
    within, same, used = train(step, batch, device_memory=budget)
    assert losses == within and checksum == same
    assert used["measured_device_bytes"] <= budget < memory["measured_device_bytes"]
    for use in (memory, used):
        assert use["measured_device_bytes"] == use["predicted_device_bytes"]
        assert use["allocations_in_steps"] == 0


def test_it_learns_the_batch(step, batch):
    losses, _, _ = train(step, batch, steps=30)
    assert losses[0] == pytest.approx(numpy.log(5), rel=0.5)
    assert losses[-1] < 0.1 * losses[0]


def test_a_step_of_several_outputs(step, batch):
    with sp.Session(step, device="cpu") as session:
        outputs = session.run(**batch)
        assert outputs["loss"].shape == () and outputs["loss"].dtype == numpy.float32
        assert 0 <= outputs["accuracy"] <= 1
        assert session.step_number == 1


def test_the_gradient_is_that_of_numpy():
    # w <- w - rate 2 (x w - y) x / n, worked out by hand.
    g = sp.GraphBuilder()
    x = g.placeholder("x", "float32", (4, 3))
    y = g.placeholder("y", "float32", (4, 1))
    loss = g.mean_squared_distance("loss", g.dense("fc", x, units=1, use_bias=False), y)
    step = g.training_step(loss, optimizer=sp.Sgd(0.1))
    random = numpy.random.default_rng(3)
    xs = random.standard_normal((4, 3)).astype("float32")
    ys = random.standard_normal((4, 1)).astype("float32")
    with sp.Session(step, device="cpu") as session:
        before = session.variables()["fc/weights"]
        error = xs @ before - ys
        assert session.step(x=xs, y=ys) == pytest.approx(float((error**2).mean()))
        want = before - 0.1 * 2 * xs.T @ error / 4
        assert session.variables()["fc/weights"] == pytest.approx(want, abs=1e-6)


def test_evaluation_reads_the_trained_variables(batch):
    g, loss, accuracy = build_net()
    training = g.training_step(loss, optimizer=sp.Sgd(0.002))
    g, loss, accuracy = build_net()
    forward = g.forward_step({"loss": loss, "accuracy": accuracy})
    with sp.Session(training, evaluation=forward, device="cpu") as session:
        first = session.evaluate(**batch)["loss"]
        assert session.step(**batch) == first
        assert session.evaluate(**batch)["loss"] < first
    with sp.Session(training, device="cpu") as session:
        with pytest.raises(sp.FailedPrecondition, match="no evaluation step"):
            session.evaluate(**batch)


def test_a_checkpoint_continues_bitwise(step, batch, tmp_path):
    _, want, _ = train(step, batch, steps=6)
    path = tmp_path / "net.safetensors"
    with sp.Session(step, device="cpu") as session:
        for _ in range(2):
            session.step(**batch)
        session.save(path)
    with sp.Session(step, device="cpu", seed=9) as session:
        session.load(path)
        assert session.step_number == 2
        for _ in range(4):
            session.step(**batch)
        assert session.checksum() == want


def test_variables_can_be_set(step):
    with sp.Session(step, device="cpu") as session:
        bias = numpy.arange(5)
        session.set_variables({"fc/biases": bias})
        assert (session.variables()["fc/biases"] == bias).all()
        with pytest.raises(sp.NotFound, match="fc/bias'"):
            session.set_variables({"fc/bias": bias})
        with pytest.raises(sp.InvalidArgument, match=r"fc/biases must be float32\[5\]"):
            session.set_variables({"fc/biases": numpy.zeros(6)})


def test_a_plan_runs_as_it_was_predicted(step, batch, tmp_path):
    budget = int(sp.memory(step, device="cpu").smallest_device_bytes * 0.85)
    plan = sp.tune(step, device="cpu", device_memory=budget)
    plan.save(tmp_path / "plan.json")
    for given in (plan, tmp_path / "plan.json"):
        with sp.Session(step, plan=given, device="cpu") as session:
            session.step(**batch)
            assert session.memory["measured_device_bytes"] == plan.device_bytes


def test_a_closed_session_says_so(step, batch):
    session = sp.Session(step, device="cpu")
    session.close()
    session.close()
    with pytest.raises(sp.FailedPrecondition, match="closed"):
        session.step(**batch)


def test_threads_take_turns(step, batch):
    _, want, _ = train(step, batch, steps=12)
    with sp.Session(step, device="cpu") as session:
        def work():
            for _ in range(4):
                session.step(**batch)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.step_number == 12
        assert session.checksum() == want


def test_a_trace_is_a_chrome_trace(step, batch, tmp_path):
    import json
    with sp.Session(step, device="cpu") as session:
        session.trace(tmp_path / "t.json", **batch)
    trace = json.loads((tmp_path / "t.json").read_text())
    names = {event.get("name", "") for event in trace["traceEvents"]}
    assert any("conv1" in name for name in names)


def tiny_step():
    g = sp.GraphBuilder()
    x = g.placeholder("x", "float32", (4, 4))
    return g.forward_step({"y": g.softmax("y", x)})


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def test_a_thousand_sessions_leak_nothing():
    step, x = tiny_step(), numpy.ones((4, 4), "float32")

    def sessions(count):
        for _ in range(count):
            with sp.Session(step, device="cpu", threads=1) as session:
                session.run(x=x)
        return resident_bytes()

    before = sessions(100)
    assert sessions(900) - before < 8 << 20


def test_the_interpreter_ends_with_a_session_alive():
    program = ("import numpy, spillway as sp\n"
               "g = sp.GraphBuilder()\n"
               "x = g.placeholder('x', 'float32', (4, 4))\n"
               "session = sp.Session(g.forward_step({'y': x + x}), device='cpu')\n"
               "print(session.run(x=numpy.ones((4, 4)))['y'].sum())\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True,
                          text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "32.0\n"), done.stderr
