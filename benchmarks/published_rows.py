"""Overheads that others have published for steps in less memory, and our goals.

Bytes are those of the source: MONeT and ColossalAI divide PyTorch's
max_memory_allocated by powers of 1024 (MONeT's solver takes 1024 * 1024 KB for a
GB), DTR by powers of 1000. The ResNets of torchvision have their stride in the
3 x 3 convolution: the zoo's v1.5.
"""

import dataclasses

MIB, GIB = 2**20, 2**30
WAYS = ("recompute", "pcie", "nvlink")

MONET = "github.com/utsaslab/MONeT, README.md"
ROTOR152 = "github.com/hpcaitech/ColossalAI, pull request 1521"
ROTOR101 = "github.com/hpcaitech/ColossalAI, pull request 1599"
DTR = "github.com/uwsampl/dtr-prototype, data_files/data-full.json"
POFO = "POFO, NeurIPS 2021, abstract"
HIREMATE = "HiRemate, PMLR 267, gusak25a"


@dataclasses.dataclass(frozen=True)
class Row:
    """A published step. Exactly one of the three budgets is set."""
    work: str
    source: str
    network: str  # the authors' name
    model: str  # of the zoo, or "" if the zoo does not have the network
    batch_size: int
    published_percent: float = None  # time added to the step without a budget
    budget_bytes: int = None
    part_of_peak: float = None  # of our step without a budget
    part_of_activations: float = None  # of that peak without the parameters
    their_peak_bytes: int = None  # without a budget
    goals: tuple = (None, None, None)  # percent at most, in the order of WAYS
    flags: tuple = ()
    note: str = ""
    quick: bool = False


def monet_goals(published, last):
    """Parts of the published overhead; 2 % where faster algorithms made it
    negative."""
    if published < 0:
        return (2.0, 2.0, 2.0)
    return tuple(published * part for part in (2 / 3 if last else 3 / 4, 1 / 2, 1 / 4))


def monet(network, model, batch_size, their_gib, points, goals=None, **others):
    return [Row("MONeT", MONET, network, model, batch_size, published,
                budget_bytes=int(gib * GIB), their_peak_bytes=int(their_gib * GIB),
                goals=goals[at] if goals else
                monet_goals(published, at == len(points) - 1),
                **others)
            for at, (gib, published) in enumerate(points)]


UNET = {"flags": ("--image_size=512",)}
AVERAGE_UNET = "608 x 416, upsampled by average pooling; ours: 512 x 512 (3.6 % more " \
               "pixels), transposed convolutions"
BILINEAR_UNET = "608 x 416, bilinear upsampling; ours: 512 x 512 (3.6 % more " \
                "pixels), transposed convolutions"
GOOGLENET = "torchvision's has batch norm and two auxiliary classifiers; ours is " \
            "that of 2014, without either"

MONET_ROWS = [
    *monet("ResNet-50", "resnet50_v1.5", 184, 15.06,
           [(10.01, 3.22), (9.01, 4.68), (8.01, 5.56), (6.99, 7.28), (6.00, 9.31),
            (4.99, 11.95)],
           goals=[(2.6, 1.0, 1.0), (3.4, 1.5, 1.0), (4.1, 2.0, 1.0),
                  (5.0, 2.6, 1.0), (5.8, 3.3, 1.0), (6.8, 4.0, 1.0)]),
    *monet("GoogLeNet", "googlenet", 320, 14.93,
           [(9.98, 7.13), (8.99, 7.87), (8.01, 8.44), (7.02, 9.71), (6.01, 12.14),
            (4.99, 15.77)], note=GOOGLENET),
    Row("MONeT", MONET, "GoogLeNet, same part", "googlenet", 320, 15.77,
        part_of_peak=4.99 / 14.93, their_peak_bytes=int(14.93 * GIB),
        note=GOOGLENET),
    *monet("U-Net", "unet2d", 11, 14.32,
           [(10.01, -4.10), (9.01, -2.07), (8.02, -0.09), (7.00, 1.39), (6.01, 4.95),
            (5.01, 11.51)], note=AVERAGE_UNET, **UNET),
    *monet("MobileNet-v2", "mobilenet_v2", 272, 14.46,
           [(10.02, 2.40), (9.01, 3.10), (8.02, 4.77), (7.01, 5.53), (6.01, 7.55),
            (5.01, 8.72)]),
    *monet("VGG-16", "vgg16", 176, 14.12,
           [(9.71, -5.30), (8.66, -4.64), (7.88, -2.18), (6.82, 1.99), (5.90, 5.44)],
           goals=[(None, None, None)] * 5),
    *monet("VGG-16", "vgg16", 176, 14.12, [(5.51, 9.11)],
           goals=[(0.9 * 9.11, 2.0, 1.0)], quick=True),
]

ROTOR_ROWS = [
    Row("Rotor", ROTOR152, "ResNet-152", "resnet152_v1.5", 128,
        100 * (313.872 / 284.4 - 1), budget_bytes=int(14550.311 * MIB),
        their_peak_bytes=22003 * MIB, goals=(4.0, 2.0, 1.0)),
    *[Row("Rotor", ROTOR101, "ResNet-101", "resnet101_v1.5", 128,
          100 * (ms / 619.255 - 1), budget_bytes=int(mib * MIB),
          their_peak_bytes=int(13904.544 * MIB), goals=goals,
          note="the published overhead is relative to the run in 13,905 MiB")
      for mib, ms, goals in [(10374.526, 683.163, (None, None, None)),
                             (7777.489, 716.253, (None, None, None)),
                             (5335.419, 778.706, (9.0, 6.0, 1.0))]],
]

DTR_ROWS = [
    *[Row("DTR", DTR, "Inception-v4", "inception4", 64, published,
          budget_bytes=held, their_peak_bytes=11_272_166_400, goals=goals)
      for held, published, goals in [
          (8_075_470_080, 10.4, (None, None, None)),
          (6_214_012_928, 14.8, (5.0, 3.0, 1.0)),
          (4_325_259_776, 24.6, (9.0, 6.0, 1.0))]],
    *[Row("DTR", DTR, "U-Net", "unet2d", 6, published, budget_bytes=asked,
          their_peak_bytes=8_419_160_576, goals=goals,
          note=f"DTR held {held} GB; " + BILINEAR_UNET, **UNET)
      for asked, held, published, goals in [
          (6_000_000_000, 6.36, 13.9, (6.0, 3.0, 1.0)),
          (4_000_000_000, 6.94, 24.6, (10.0, 6.0, 1.0))]],
    *[Row("DTR", DTR, "DenseNet-121", "", 84, published, budget_bytes=held,
          their_peak_bytes=11_030_000_000)
      for held, published in [(6_102_844_416, 29.0), (4_264_977_920, 52.0)]],
    *[Row("DTR", DTR, "ResNet-1202", "", 64, published, budget_bytes=held,
          their_peak_bytes=8_910_000_000)
      for held, published in [(4_000_000_000, 42.0), (2_010_000_000, 47.0)]],
]

OWN_PART = "batch and bytes are ours: the source names parts only"

POFO_ROWS = [
    Row("POFO", POFO, network, model, batch_size, 20.0, part_of_activations=part,
        goals=(None, goal, 2.0), note=OWN_PART,
        quick=model == "vgg16" and part < 1 / 5)
    for network, model, batch_size in [
        ("ResNet-50", "resnet50_v1.5", 184), ("ResNet-101", "resnet101_v1.5", 128),
        ("VGG-16", "vgg16", 176), ("DenseNet-100, k = 12", "densenet100_k12", 64)]
    for part, goal in [(1 / 4, 6.0), (1 / 6, 12.0)]
]

HIREMATE_ROWS = [
    Row("HiRemate", HIREMATE, network, model, batch_size, published,
        part_of_peak=part, goals=goals, flags=flags, note=OWN_PART)
    for network, model, batch_size, flags in [
        ("ResNet-101", "resnet101_v1.5", 128, ()),
        ("U-Net", "unet2d", 11, UNET["flags"])]
    for part, published, goals in [(0.5, 10.0, (4.0, 2.0, 1.0)),
                                   (0.3, 15.0, (8.0, 5.0, 1.0))]
]

ROWS = [*MONET_ROWS, *ROTOR_ROWS, *DTR_ROWS, *POFO_ROWS, *HIREMATE_ROWS]


@dataclasses.dataclass(frozen=True)
class LargestBatch:
    """Checkmate (arXiv 1910.02653) trains inputs up to 5.1 times as large as those
    that fit, with at most one additional forward pass."""
    network: str
    model: str
    flags: tuple = ()
    published: float = 5.1
    goal: float = 6.0


LARGEST_BATCHES = [LargestBatch("U-Net", "unet2d", UNET["flags"]),
                   LargestBatch("MobileNet-v2", "mobilenet_v2")]


@dataclasses.dataclass(frozen=True)
class Multiplier:
    """Images/s at a multiple of the largest batch that fits without a budget."""
    network: str
    model: str
    profile: str
    points: tuple  # (multiple, images/s lost in percent at most, or None: fits)


MULTIPLIERS = [
    Multiplier("ResNet-50", "resnet50", "p100_pcie",
               ((2, 3.0), (4, 6.0), (6, 12.0), (8, None))),
    Multiplier("ResNet-50", "resnet50", "v100_16gb_nvlink",
               ((4, 1.0), (6, 4.0), (8, None))),
    Multiplier("ResNet-152", "resnet152", "p100_pcie",
               ((4, 6.0), (8, 10.0), (16, None))),
    Multiplier("ResNet-152", "resnet152", "v100_16gb_nvlink", ((8, 3.0),)),
    Multiplier("Inception-v3", "inception3", "p100_pcie", ((4, 5.0),)),
    Multiplier("Inception-v3", "inception3", "v100_16gb_nvlink", ((4, 1.0),)),
    Multiplier("GoogLeNet", "googlenet", "p100_pcie", ((4, 5.0),)),
    Multiplier("GoogLeNet", "googlenet", "v100_16gb_nvlink", ((4, 1.0),)),
    Multiplier("VGG-16", "vgg16", "p100_pcie", ((1.6, None),)),
    Multiplier("VGG-16", "vgg16", "v100_16gb_nvlink", ((1.6, None),)),
]
