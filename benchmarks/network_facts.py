"""Facts about the networks of Spillway's zoo that other frameworks train here
too: for building them, and for checking the builds."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class NetworkFacts:
    side: int  # of the square images
    parameters: int  # trainable ones
    channels: int = 3  # of the images
    classes: int = 1000
    labels_pixels: bool = False  # a class for each pixel


NETWORKS = {
    "resnet50": NetworkFacts(224, 25_557_032),
    "resnet152": NetworkFacts(224, 60_192_808),
    "vgg16": NetworkFacts(224, 138_357_544),
    "googlenet": NetworkFacts(224, 6_998_552),
    "inception3": NetworkFacts(299, 23_817_352),
    "inception4": NetworkFacts(299, 42_648_232),
    "densenet40_k12": NetworkFacts(32, 1_020_634, classes=10),
    "mobilenet_v2": NetworkFacts(224, 3_504_872),
    "nasnet_cifar": NetworkFacts(32, 3_346_538, classes=10),
    "unet2d": NetworkFacts(256, 31_037_698, classes=2, labels_pixels=True),
    "resnet20": NetworkFacts(32, 269_722, classes=10),
    "mnist_deep": NetworkFacts(28, 3_274_634, channels=1, classes=10),
}


def check_parameters(name, counted):
    """Refuses a network that differs from the zoo's."""
    expected = NETWORKS[name].parameters
    if counted != expected:
        raise ValueError(f"{name} has {counted} parameters, not {expected}")
