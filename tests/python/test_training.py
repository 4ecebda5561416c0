"""spillway.train beside a loop of single steps."""

import numpy
import pytest
from conftest import build_net

import spillway as sp


def rows(samples, seed=2):
    """Images whose brightest channel is the label."""
    random = numpy.random.default_rng(seed)
    labels = random.integers(0, 3, samples)
    images = random.standard_normal((samples, 12, 12, 3), dtype=numpy.float32)
    images[numpy.arange(samples), :, :, labels] += 1
    return {"images": images, "labels": labels}


def test_an_epoch_is_a_loop_over_batches(step):
    data = rows(20)
    with sp.Session(step, device="cpu") as session:
        want = [session.step(images=data["images"][i:i + 8],
                             labels=data["labels"][i:i + 8]) for i in (0, 8)]
        checksum = session.checksum()
    seen = []
    with sp.Session(step, device="cpu") as session:
        [epoch] = sp.train(session, data, shuffle=False, on_step=seen.append)
        assert session.checksum() == checksum
    assert [progress["loss"] for progress in seen] == want
    assert epoch["steps"] == 2 and epoch["complete"]
    assert epoch["loss"] == pytest.approx(sum(want) / 2)
    assert 0 <= epoch["accuracy"] <= 1


def test_it_learns_and_is_tested():
    model = sp.zoo("lenet", batch_size=16, image_size=12, channels=3, num_classes=3)
    with sp.Session(model.training_step(optimizer=sp.Momentum(0.02)),
                    evaluation=model.evaluation_step(), device="cpu") as session:
        epochs = sp.train(session, rows(320), epochs=3, test=rows(50, seed=3))
    assert epochs[-1]["loss"] < epochs[0]["loss"]
    assert epochs[-1]["test_accuracy"] > 0.8


def test_an_interrupted_training_goes_on_bitwise(step, tmp_path):
    data, path = rows(48), tmp_path / "net.safetensors"
    with sp.Session(step, device="cpu") as session:
        sp.train(session, data, epochs=3)
        want = session.checksum()
    for stop_at in (3, 11, None):
        with sp.Session(step, device="cpu") as session:
            sp.train(session, data, epochs=3, checkpoint=path,
                     on_step=lambda progress: progress["step"] == stop_at)
            got = session.checksum()
    assert got == want


def test_a_damaged_checkpoint_is_not_overwritten(step, tmp_path):
    path = tmp_path / "net.safetensors"
    path.write_bytes(b"no checkpoint")
    with sp.Session(step, device="cpu") as session:
        with pytest.raises(sp.InvalidArgument, match="net.safetensors"):
            sp.train(session, rows(16), checkpoint=path)
    assert path.read_bytes() == b"no checkpoint"


def test_errors_of_callbacks_arrive_and_the_session_lives(step):
    def fail(progress):
        raise RuntimeError(f"at step {progress['step']}")
    with sp.Session(step, device="cpu") as session:
        with pytest.raises(RuntimeError, match="at step 0"):
            sp.train(session, rows(16), on_step=fail)
        with pytest.raises(KeyboardInterrupt):
            sp.train(session, rows(16), on_step=lambda _: _interrupt())
        sp.train(session, rows(16))
        assert session.step_number == 4


def _interrupt():
    raise KeyboardInterrupt


def test_a_learning_rate_that_changes():
    g, loss, _ = build_net()
    step = g.training_step(loss, feed_learning_rate=True)
    rates = []

    def rate(updates):
        rates.append(updates)
        return 0.0
    with sp.Session(step, device="cpu") as session:
        before = session.variables()["fc/weights"]
        sp.train(session, rows(24), learning_rate=rate)
        assert (session.variables()["fc/weights"] == before).all()
        assert rates == [0, 1, 2]
        sp.train(session, rows(8), learning_rate=0.1)
        assert (session.variables()["fc/weights"] != before).any()
        with pytest.raises(sp.InvalidArgument, match="must be given"):
            sp.train(session, rows(8))


@pytest.mark.parametrize("change, message", [
    ({"labels": None}, "labels is no array of samples"),
    ({"labels": numpy.zeros(7, int)}, "images has 16 samples, labels has 7"),
    ({"images": numpy.zeros((16, 3, 12, 12))}, r"images must be float32\[16, 12, 12, 3\]"),
    ({"pixels": numpy.zeros(16)}, "no input 'pixels'"),
    ({"labels": numpy.full(16, 9)}, "labels: element"),
])
def test_data_is_checked(step, change, message):
    with sp.Session(step, device="cpu") as session:
        with pytest.raises(sp.InvalidArgument, match=message):
            sp.train(session, {**rows(16), **change})


def test_what_cannot_be_trained_or_tested(step):
    g, loss, _ = build_net()
    with sp.Session(g.forward_step({"loss": loss}), device="cpu") as session:
        with pytest.raises(sp.InvalidArgument, match="does not train"):
            sp.train(session, rows(16))
    with sp.Session(step, device="cpu") as session:
        with pytest.raises(sp.FailedPrecondition, match="no evaluation step"):
            sp.train(session, rows(16), test=rows(8))
        with pytest.raises(sp.InvalidArgument, match="'images'"):
            sp.train(session, {"labels": rows(16)["labels"]})
        with pytest.raises(sp.InvalidArgument, match="feed_learning_rate=True"):
            sp.train(session, rows(16), learning_rate=0.1)
