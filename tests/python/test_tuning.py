import pytest

import spillway as sp


@pytest.fixture(scope="module")
def resnet():
    return sp.zoo("resnet50", batch_size=32).training_step(
        optimizer=sp.Momentum(0.1), device="cpu")


def test_a_plan_within_the_memory_of_a_named_machine(resnet):
    free = sp.memory(resnet)
    assert free.fits
    budget = free.smallest_device_bytes // 2
    plan = sp.tune(resnet, device_memory=budget, profile="p100_pcie")
    assert plan.necessary and plan.device_bytes <= budget == plan.device_memory
    assert plan.step_ms >= plan.bound_ms > 0
    assert plan.floor_bytes <= plan.device_bytes
    assert any(tried["fits"] for tried in plan.tried)
    fates = {row["fate"] for row in plan.explain()}
    assert fates <= {"kept", "swapped", "recomputed"} and fates - {"kept"}
    with pytest.raises(sp.NotFound, match="no_such"):
        plan.explain(["no_such/tensor:0"])


def test_the_memory_curve_is_exact(resnet):
    free = sp.memory(resnet)
    curve = free.memory_curve()
    assert max(size for _, size in curve) <= free.device_bytes
    assert [ms for ms, _ in curve] == sorted(ms for ms, _ in curve)
    # What is there at the peak, but for variables and constants, which the curve
    # counts without the gaps of their alignment.
    at_peak = sum(size for _, size in free.at_peak())
    residents = max(size for _, size in curve) - at_peak
    assert 0.99 * free.resident_bytes <= residents <= free.resident_bytes


def test_out_of_budget_has_the_numbers(step):
    with pytest.raises(sp.OutOfBudget) as caught:
        sp.Session(step, device="cpu", device_memory="64KiB")
    error = caught.value
    assert isinstance(error, MemoryError) and isinstance(error, sp.Error)
    assert error.budget_bytes == 64 * 1024
    assert error.needed_bytes - error.budget_bytes == error.missing_bytes > 0
    assert 0 < error.floor_bytes <= error.needed_bytes
    assert error.floor_node in str(error)
    assert "LmsOptions" not in str(error) and "PlaceMode" not in str(error)


def test_a_frontier_is_monotone():
    step = sp.zoo("trivial", batch_size=2).training_step(device="cpu")
    frontier = sp.tune(step, device="cpu", profile="p100_pcie").frontier()
    assert "<pre>" in frontier._repr_html_()
    budgets = [point["device_memory"] for point in frontier.points]
    times = [point["step_ms"] for point in frontier.points]
    assert budgets == sorted(budgets, reverse=True)
    assert times == sorted(times)
    assert frontier.to_csv().count("\n") == len(budgets) + 1
    assert str(frontier).count("\n") == len(budgets)


def test_the_tuner_can_be_interrupted(resnet):
    def interrupt(_line):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        sp.tune(resnet, device_memory="1.2GB", profile="p100_pcie", log=interrupt)


def test_classic_policies(resnet):
    half = sp.memory(resnet).smallest_device_bytes // 2
    tuned = sp.tune(resnet, device_memory=half, profile="p100_pcie")
    swaps = sp.tune(resnet, device_memory=half, profile="p100_pcie", policy="swap_all")
    assert swaps.step_ms >= tuned.step_ms
    with pytest.raises(sp.InvalidArgument, match="no_policy"):
        sp.tune(resnet, profile="p100_pcie", policy="no_policy")


@pytest.mark.parametrize("options, message", [
    ({"device_memory": "12XB"}, "device_memory: "),
    ({"device_memory": -1}, "device_memory"),
    ({"lms": "sometimes"}, "lms: 'sometimes' is none of"),
    ({"devise": "cpu"}, "'device' is meant"),
    ({"threads": "two"}, "threads cannot be 'two'"),
])
def test_options_are_checked(step, options, message):
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.tune(step, **options)


def test_a_profile_that_is_not_there(step):
    with pytest.raises(sp.NotFound, match="no shipped profile of that name"):
        sp.tune(step, profile="p1000")


def test_displays(step, tmp_path):
    free = sp.memory(step, device="cpu")
    plan = sp.tune(step, device="cpu",
                   device_memory=int(free.smallest_device_bytes * 0.9))
    assert f"{free.device_bytes} bytes" in str(free)
    for shown in (free, plan, step):
        assert "<" in shown._repr_html_() and str(shown)
    assert "<title>Device memory over one step" in plan._repr_html_()
    plan.report(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
