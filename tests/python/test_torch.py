"""PyTorch modules: their losses, and their weights back."""

import numpy
import pytest

import spillway as sp

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.fc = torch.nn.Linear(8 * 6 * 6, 5)

    def forward(self, pixels):
        x = torch.nn.functional.relu(self.norm(self.conv(pixels)))
        x = torch.nn.functional.max_pool2d(x, 2)
        return self.fc(torch.flatten(x, 1))


def data(steps):
    random = numpy.random.default_rng(11)
    for _ in range(steps):
        yield (random.standard_normal((16, 3, 12, 12), dtype=numpy.float32),
               random.integers(0, 5, 16))


def trained_by_torch(module, steps):
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for pixels, labels in data(steps):
        loss = torch.nn.functional.cross_entropy(
            module(torch.from_numpy(pixels)), torch.from_numpy(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_ten_steps_and_the_weights_back():
    torch.manual_seed(5)
    module = Net()
    model = sp.from_torch(module, torch.zeros(16, 3, 12, 12))
    step = model.training_step(optimizer=sp.Momentum(0.05))
    assert step.inputs["pixels"] == ("float32", (16, 3, 12, 12))
    with sp.Session(step, device="cpu") as session:
        losses = [session.step(pixels=torch.from_numpy(pixels), labels=labels)
                  for pixels, labels in data(10)]
        weights = session.onnx_weights()
        twin = Net()
        twin.load_state_dict(module.state_dict())
        want = trained_by_torch(twin, 10)
        assert losses == pytest.approx(want, rel=1e-3)
        assert model.write_back(session) is module
    state = module.state_dict()
    for name, parameter in module.named_parameters():
        assert (state[name].numpy() == weights[name]).all(), name
        assert parameter.detach().numpy() == pytest.approx(
            dict(twin.named_parameters())[name].detach().numpy(), abs=2e-3)
    assert state["norm.running_mean"].numpy() == pytest.approx(
        twin.state_dict()["norm.running_mean"].numpy(), abs=1e-3)


def test_the_trained_file_computes_the_same(tmp_path):
    module = Net()
    model = sp.from_torch(module, torch.zeros(16, 3, 12, 12))
    [(pixels, labels)] = data(1)
    with sp.Session(model.training_step(), evaluation=model.evaluation_step(),
                    device="cpu") as session:
        session.step(pixels=pixels, labels=labels)
        [want] = session.evaluate(pixels=pixels).values()
        session.export_onnx(tmp_path / "net.onnx")
    again = sp.import_onnx(tmp_path / "net.onnx").evaluation_step()
    with sp.Session(again, device="cpu") as session:
        [got] = session.run(pixels=pixels).values()
    assert (got == want).all()


def test_tensors_of_torch_are_not_copied_back_and_forth():
    g = sp.GraphBuilder()
    x = g.placeholder("x", "float32", (3,))
    step = g.forward_step({"y": x * 2})
    with sp.Session(step, device="cpu") as session:
        y = torch.from_dlpack(session.run(x=torch.tensor([1.0, 2.0, 3.0]))["y"])
        assert y.tolist() == [2.0, 4.0, 6.0]
        with pytest.raises(sp.InvalidArgument, match="^x is not an array"):
            session.run(x=torch.ones(3, requires_grad=True))


def test_what_is_no_module_is_refused():
    with pytest.raises(sp.InvalidArgument, match="no torch.nn.Module"):
        sp.from_torch("resnet50", torch.zeros(1))
