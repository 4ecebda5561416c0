"""Data in files, for spillway.train: a Dataset has images and their labels.

    train = sp.data.mnist("/usr/share/datasets/fashion-mnist")
    sp.train(session, train, epochs=2, test=sp.data.mnist(folder, "test"))

`spillway.train` takes arrays as well, and any object with __len__ and __getitem__,
such as a Dataset of PyTorch.
"""

from ._spillway import Dataset, cifar10, image_folder, mnist, tensor_file

__all__ = ["Dataset", "cifar10", "image_folder", "mnist", "tensor_file"]
