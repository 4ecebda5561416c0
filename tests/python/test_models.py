import pytest

import spillway as sp


def test_a_model_of_the_zoo_has_named_inputs_and_outputs():
    step = sp.zoo("resnet20", batch_size=4).training_step(optimizer="momentum")
    assert step.inputs["images"] == ("float32", (4, 32, 32, 3))
    assert step.inputs["labels"] == ("int32", (4,))
    assert set(step.outputs) == {"loss", "accuracy"}
    assert step.batch_size == 4
    # He et al., 2016, table 6: 0.27 million.
    assert step.num_parameters == pytest.approx(0.27e6, rel=0.03)


def test_every_name_of_the_zoo_is_a_model():
    names = sp.zoo_names()
    assert "resnet50" in names and names == sorted(names)
    assert [sp.zoo(name).name for name in names] == names


def test_an_evaluation_step_trains_nothing():
    model = sp.zoo("lenet", batch_size=2)
    train, evaluation = model.training_step(), model.evaluation_step()
    assert set(evaluation.outputs) == {"loss", "accuracy", "correct", "logits"}
    assert evaluation.num_nodes < train.num_nodes


def test_shapes_are_checked_at_once():
    g = sp.GraphBuilder()
    x = g.placeholder("x", "float32", (2, 3))
    y = g.placeholder("y", "float32", (4, 5))
    with pytest.raises(sp.InvalidArgument, match=r"Add"):
        x + y


def test_arithmetic_and_ops_by_name():
    g = sp.GraphBuilder()
    x = g.placeholder("x", "float32", (2, 3))
    y = 2 * x - 1.5
    [joined] = g.add_op("Concat", [x, y], axis=1)
    assert joined.shape == (2, 6) and joined.dtype == "float32"
    with pytest.raises(sp.InvalidArgument, match="no_such_attribute"):
        g.add_op("Relu", [x], no_such_attribute=1)


def test_arguments_have_names_that_are_checked():
    with pytest.raises(sp.InvalidArgument, match="'batch_size' is meant"):
        sp.zoo("lenet", batch_sise=3)
    with pytest.raises(sp.InvalidArgument, match="resnet20"):
        sp.zoo("resnet2O")
    with pytest.raises(sp.InvalidArgument, match="batch_size cannot be 'many'"):
        sp.zoo("lenet", batch_size="many")
    with pytest.raises(sp.InvalidArgument, match="none of 'sgd'|nope"):
        sp.zoo("lenet").training_step(optimizer="nope")
    with pytest.raises(ValueError, match="has its own"):
        sp.zoo("lenet").training_step(loss="output")


def test_optimizers_say_what_they_are():
    assert repr(sp.Momentum(0.1)) == (
        "Momentum(learning_rate=0.1, momentum=0.9, use_nesterov=False)")
    assert sp.Adam(beta1=0.8).beta1 == 0.8
    with pytest.raises(TypeError):
        sp.Sgd(rate=1)
