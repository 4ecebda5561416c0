"""What spillway.train reads beside arrays."""

import gzip
import struct

import numpy
import pytest
import spillway as sp

ROWS = 40


@pytest.fixture(scope="module")
def arrays():
    random = numpy.random.default_rng(5)
    return (random.integers(0, 256, (ROWS, 28, 28), dtype="uint8"),
            random.integers(0, 10, ROWS, dtype="uint8"))


@pytest.fixture
def folder(tmp_path, arrays):
    """The files of MNIST."""
    images, labels = arrays
    for split in ("train", "t10k"):
        with gzip.open(tmp_path / f"{split}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">IIII", 0x803, *images.shape) + images.tobytes())
        with gzip.open(tmp_path / f"{split}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">II", 0x801, ROWS) + labels.tobytes())
    return tmp_path


class Items:
    """As a Dataset of PyTorch: a length, and an item for each index."""

    def __init__(self, data, as_dict=False):
        self.data = data
        self.as_dict = as_dict

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        image, label = self.data[index]
        return {"labels": label, "images": image} if self.as_dict else (image, label)


def train(data, **arguments):
    model = sp.zoo("lenet", batch_size=8, channels=1)
    with sp.Session(model.training_step(), evaluation=model.evaluation_step(), device="cpu",
                    threads=1) as session:
        epochs = sp.train(session, data, seed=2, **arguments)
        return epochs[0]["loss"], session.checksum()


def test_files_arrays_and_items_train_alike(folder, arrays):
    images, labels = arrays
    data = sp.data.mnist(folder)
    assert (len(data), data.num_classes) == (ROWS, 10)
    image, label = data[-1]
    assert (image.shape, image.dtype, label.dtype) == ((28, 28, 1), "float32", "int32")
    assert label == labels[-1]
    in_memory = {"images": numpy.stack([data[i][0] for i in range(ROWS)]), "labels": labels}
    want = train(data)
    assert train(in_memory) == want
    assert train(Items(data)) == want
    assert train(Items(data, as_dict=True)) == want


def test_a_test_set_in_files(folder):
    model = sp.zoo("lenet", batch_size=8, channels=1)
    with sp.Session(model.training_step(), evaluation=model.evaluation_step(),
                    device="cpu") as session:
        [epoch] = sp.train(session, sp.data.mnist(folder), test=sp.data.mnist(folder, "test"))
    assert 0 <= epoch["test_accuracy"] <= 1


def test_errors_of_the_data(folder, tmp_path):
    with pytest.raises(sp.NotFound, match="train-images"):
        sp.data.mnist(tmp_path / "nowhere")
    with pytest.raises(sp.InvalidArgument, match="'test', 'train'"):
        sp.data.mnist(folder, "validation")
    with pytest.raises(IndexError):
        sp.data.mnist(folder)[ROWS]

    class Broken(Items):
        def __getitem__(self, index):
            if index == 3:
                raise OSError("the disk is gone")
            return super().__getitem__(index)

    data = sp.data.mnist(folder)
    with pytest.raises(sp.InvalidArgument, match="row 3: OSError: the disk is gone"):
        train(Broken(data))
    with pytest.raises(sp.InvalidArgument, match="row 0: it has 1 fields, not 2"):
        train([(data[0][0],)] * ROWS, shuffle=False)
    with pytest.raises(sp.InvalidArgument, match=r"row 0: images must be float32\[28, 28, 1\]"):
        train([(data[0][0][1:], 3)] * ROWS, shuffle=False)
    with pytest.raises(sp.InvalidArgument, match="data is a dict of arrays"):
        train(3)


def test_an_image_folder(tmp_path):
    with pytest.raises(sp.NotFound):
        sp.data.image_folder(tmp_path / "nowhere")
    with pytest.raises(sp.InvalidArgument, match="size"):
        sp.data.image_folder(tmp_path, size=0)
