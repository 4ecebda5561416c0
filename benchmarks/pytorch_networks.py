"""Networks of Spillway's zoo in PyTorch, layer for layer.

One difference: where TensorFlow's SAME pads one side more (a stride of 2), a
convolution here pads both sides equally; sizes and multiply-adds are equal. Max
pools pad as in the zoo (ceil_mode). network_facts.py has image sizes and
parameter counts, pytorch_nasnet.py has NASNet.
"""

import torch
from torch import nn
from torch.nn import functional

from network_facts import NETWORKS, check_parameters
from pytorch_layers import Branches, ConvNorm
from pytorch_nasnet import nasnet_cifar


def halving_pool():
    return nn.MaxPool2d(3, 2, ceil_mode=True)


# ResNet, version 1 -------------------------------------------------------

RESNET_NORM = {"eps": 1e-5, "momentum": 0.1}


class Bottleneck(nn.Module):
    def __init__(self, channels, middle, out, stride):
        super().__init__()
        self.body = nn.Sequential(
            ConvNorm(channels, middle, 1, stride, norm=RESNET_NORM),
            ConvNorm(middle, middle, 3, norm=RESNET_NORM),
            ConvNorm(middle, out, 1, norm=RESNET_NORM, activation=None))
        self.shortcut = nn.Identity() if channels == out else ConvNorm(
            channels, out, 1, stride, norm=RESNET_NORM, activation=None)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.body(x) + self.shortcut(x))


def resnet(stages):
    layers = [ConvNorm(3, 64, 7, 2, norm=RESNET_NORM), halving_pool()]
    channels = 64
    for stage, blocks in enumerate(stages):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(Bottleneck(channels, 64 << stage, 256 << stage, stride))
            channels = 256 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(2048, 1000))


def resnet50():
    return resnet([3, 4, 6, 3])


def resnet152():
    return resnet([3, 8, 36, 3])


# ResNet-20 for small images -------------------------------------------------

class BasicBlock(nn.Module):
    """Two convolutions; the shortcut has no weights."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.body = nn.Sequential(
            ConvNorm(channels, filters, 3, stride, norm=RESNET_NORM),
            ConvNorm(filters, filters, 3, norm=RESNET_NORM, activation=None))
        self.relu = nn.ReLU(inplace=True)
        self.stride = stride
        more = filters - channels
        self.padding = (0, 0, 0, 0, more // 2, more - more // 2)

    def forward(self, x):
        shortcut = x[:, :, ::self.stride, ::self.stride]
        return self.relu(self.body(x) + functional.pad(shortcut, self.padding))


def resnet20():
    layers, channels = [ConvNorm(3, 16, 3, norm=RESNET_NORM, activation=None)], 16
    for stage in range(3):
        for block in range(3):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(BasicBlock(channels, 16 << stage, stride))
            channels = 16 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(64, 10))


# mnist_deep -----------------------------------------------------------------

def mnist_deep():
    """The network of TensorFlow's tutorial."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(7 * 7 * 64, 1024), nn.ReLU(inplace=True),
        nn.Dropout(0.5), nn.Linear(1024, 10))


# VGG-16 ---------------------------------------------------------------------

def vgg16():
    layers, channels = [], 3
    for filters, repeats in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(repeats):
            layers += [nn.Conv2d(channels, filters, 3, padding=1),
                       nn.ReLU(inplace=True)]
            channels = filters
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(
        *layers, nn.Flatten(),
        nn.Linear(512 * 7 * 7, 4096), nn.ReLU(inplace=True), nn.Dropout(0.5),
        nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout(0.5),
        nn.Linear(4096, 1000))


# GoogLeNet ------------------------------------------------------------------

def conv_relu(channels, filters, kernel, stride=1):
    return nn.Sequential(
        nn.Conv2d(channels, filters, kernel, stride, kernel // 2),
        nn.ReLU(inplace=True))


def inception(channels, conv1, reduce3, conv3, reduce5, conv5, pool):
    return Branches(
        conv_relu(channels, conv1, 1),
        nn.Sequential(conv_relu(channels, reduce3, 1),
                      conv_relu(reduce3, conv3, 3)),
        nn.Sequential(conv_relu(channels, reduce5, 1),
                      conv_relu(reduce5, conv5, 5)),
        nn.Sequential(nn.MaxPool2d(3, 1, 1), conv_relu(channels, pool, 1)))


def googlenet():
    return nn.Sequential(
        conv_relu(3, 64, 7, 2), halving_pool(),
        conv_relu(64, 64, 1), conv_relu(64, 192, 3), halving_pool(),
        inception(192, 64, 96, 128, 16, 32, 32),
        inception(256, 128, 128, 192, 32, 96, 64), halving_pool(),
        inception(480, 192, 96, 208, 16, 48, 64),
        inception(512, 160, 112, 224, 24, 64, 64),
        inception(512, 128, 128, 256, 24, 64, 64),
        inception(512, 112, 144, 288, 32, 64, 64),
        inception(528, 256, 160, 320, 32, 128, 128), halving_pool(),
        inception(832, 256, 160, 320, 32, 128, 128),
        inception(832, 384, 192, 384, 48, 128, 128),
        nn.AvgPool2d(7), nn.Flatten(), nn.Linear(1024, 1000))


# Inception 3 ----------------------------------------------------------------

def shift_norm(channels, filters, kernel, stride=1, padding=None):
    """ConvNorm whose batch norm learns a shift but no scale."""
    layer = ConvNorm(channels, filters, kernel, stride, padding,
                     norm={"eps": 1e-3, "momentum": 1e-3})
    layer[1].weight.requires_grad_(False)
    return layer


def chain(channels, *convolutions):
    """Convolutions (filters, kernel[, stride, padding]) one after another."""
    layers = []
    for filters, kernel, *rest in convolutions:
        layers.append(shift_norm(channels, filters, kernel, *rest))
        channels = filters
    return nn.Sequential(*layers)


def average_branch(channels, filters):
    return nn.Sequential(
        nn.AvgPool2d(3, 1, 1, count_include_pad=False),
        shift_norm(channels, filters, 1))


def module_a(channels, pooled):
    return Branches(chain(channels, (64, 1)),
                    chain(channels, (48, 1), (64, 5)),
                    chain(channels, (64, 1), (96, 3), (96, 3)),
                    average_branch(channels, pooled))


def module_b(channels):
    return Branches(chain(channels, (384, 3, 2, 0)),
                    chain(channels, (64, 1), (96, 3), (96, 3, 2, 0)),
                    nn.MaxPool2d(3, 2))


def module_c(channels, n):
    wide, high = (1, 7), (7, 1)
    return Branches(chain(channels, (192, 1)),
                    chain(channels, (n, 1), (n, wide), (192, high)),
                    chain(channels, (n, 1), (n, high), (n, wide), (n, high),
                          (192, wide)),
                    average_branch(channels, 192))


def module_d(channels):
    return Branches(
        chain(channels, (192, 1), (320, 3, 2, 0)),
        chain(channels, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2, 0)),
        nn.MaxPool2d(3, 2))


def module_e(channels, pool):
    def split(filters):
        return Branches(chain(filters, (384, (1, 3))),
                        chain(filters, (384, (3, 1))))
    return Branches(
        chain(channels, (320, 1)),
        nn.Sequential(chain(channels, (384, 1)), split(384)),
        nn.Sequential(chain(channels, (448, 1), (384, 3)), split(384)),
        nn.Sequential(pool, shift_norm(channels, 192, 1)))


def inception3():
    return nn.Sequential(
        chain(3, (32, 3, 2, 0), (32, 3, 1, 0), (64, 3)), nn.MaxPool2d(3, 2),
        chain(64, (80, 1), (192, 3, 1, 0)), nn.MaxPool2d(3, 2),
        module_a(192, 32), module_a(256, 64), module_a(288, 64),
        module_b(288),
        module_c(768, 128), module_c(768, 160), module_c(768, 160),
        module_c(768, 192),
        module_d(768),
        module_e(1280, nn.AvgPool2d(3, 1, 1, count_include_pad=False)),
        module_e(2048, nn.MaxPool2d(3, 1, 1)),
        nn.AvgPool2d(8), nn.Flatten(), nn.Linear(2048, 1000))


# Inception 4 ----------------------------------------------------------------

def inception4_stem():
    halving = nn.MaxPool2d(3, 2)
    return nn.Sequential(
        chain(3, (32, 3, 2, 0), (32, 3, 1, 0), (64, 3)),
        Branches(halving, chain(64, (96, 3, 2, 0))),
        Branches(chain(160, (64, 1), (96, 3, 1, 0)),
                 chain(160, (64, 1), (64, (7, 1)), (64, (1, 7)), (96, 3, 1, 0))),
        Branches(chain(192, (192, 3, 2, 0)), halving))


def inception4_a():
    return Branches(average_branch(384, 96), chain(384, (96, 1)),
                    chain(384, (64, 1), (96, 3)),
                    chain(384, (64, 1), (96, 3), (96, 3)))


def inception4_b():
    wide, high = (1, 7), (7, 1)
    return Branches(average_branch(1024, 128), chain(1024, (384, 1)),
                    chain(1024, (192, 1), (224, wide), (256, high)),
                    chain(1024, (192, 1), (192, wide), (224, high), (224, wide),
                          (256, high)))


def inception4_c():
    def split(filters):
        return Branches(chain(filters, (256, (1, 3))),
                        chain(filters, (256, (3, 1))))
    return Branches(
        average_branch(1536, 256), chain(1536, (256, 1)),
        nn.Sequential(chain(1536, (384, 1)), split(384)),
        nn.Sequential(chain(1536, (384, 1), (448, (1, 3)), (512, (3, 1))),
                      split(512)))


def inception4():
    return nn.Sequential(
        inception4_stem(),
        *[inception4_a() for _ in range(4)],
        Branches(nn.MaxPool2d(3, 2), chain(384, (384, 3, 2, 0)),
                 chain(384, (192, 1), (224, 3), (256, 3, 2, 0))),
        *[inception4_b() for _ in range(7)],
        Branches(nn.MaxPool2d(3, 2), chain(1024, (192, 1), (192, 3, 2, 0)),
                 chain(1024, (256, 1), (256, (1, 7)), (320, (7, 1)),
                       (320, 3, 2, 0))),
        *[inception4_c() for _ in range(3)],
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
        nn.Linear(1536, 1000))


# DenseNet -------------------------------------------------------------------

class DenseLayer(nn.Module):
    """Appends `growth` channels to those of x."""

    def __init__(self, channels, growth):
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm2d(channels, **RESNET_NORM),
                                  nn.ReLU(inplace=True),
                                  nn.Conv2d(channels, growth, 3, padding=1))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def densenet40_k12():
    layers, channels = [nn.Conv2d(3, 16, 3, padding=1)], 16
    for block in range(3):
        if block > 0:
            layers += [nn.BatchNorm2d(channels, **RESNET_NORM),
                       nn.ReLU(inplace=True), nn.Conv2d(channels, channels, 1),
                       nn.AvgPool2d(2)]
        for _ in range(12):
            layers.append(DenseLayer(channels, 12))
            channels += 12
    return nn.Sequential(*layers, nn.BatchNorm2d(channels, **RESNET_NORM),
                         nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(channels, 10))


# U-Net ----------------------------------------------------------------------

def two_convs(channels, filters):
    return nn.Sequential(ConvNorm(channels, filters, 3, norm=RESNET_NORM),
                         ConvNorm(filters, filters, 3, norm=RESNET_NORM))


class UNetLevel(nn.Module):
    """One level with all those below it, for maps of even height and width."""

    def __init__(self, channels, filters, below):
        super().__init__()
        self.down = two_convs(channels, filters)
        self.below = nn.Sequential(
            nn.MaxPool2d(2), below,
            nn.ConvTranspose2d(2 * filters, filters, 2, stride=2))
        self.up = two_convs(2 * filters, filters)

    def forward(self, x):
        across = self.down(x)
        return self.up(torch.cat([across, self.below(across)], 1))


def unet2d():
    net = two_convs(512, 1024)
    for filters in [512, 256, 128, 64]:
        net = UNetLevel(3 if filters == 64 else filters // 2, filters, net)
    return nn.Sequential(net, nn.Conv2d(64, 2, 1))


# MobileNetV2 ----------------------------------------------------------------

MOBILENET_NORM = {"eps": 1e-3, "momentum": 3e-3}


class Relu6(nn.ReLU6):
    """ReLU6 with a gradient in bfloat16 too, which PyTorch 1.13 lacks."""

    def forward(self, x):
        return x.clamp(0, 6) if x.dtype == torch.bfloat16 else super().forward(x)


class InvertedResidual(nn.Module):
    def __init__(self, channels, expansion, filters, stride):
        super().__init__()
        middle = channels * expansion
        layers = []
        if expansion != 1:
            layers.append(ConvNorm(channels, middle, 1, norm=MOBILENET_NORM,
                                   activation=Relu6))
        layers += [ConvNorm(middle, middle, 3, stride, groups=middle,
                            norm=MOBILENET_NORM, activation=Relu6),
                   ConvNorm(middle, filters, 1, norm=MOBILENET_NORM,
                            activation=None)]
        self.body = nn.Sequential(*layers)
        self.is_residual = stride == 1 and channels == filters

    def forward(self, x):
        return x + self.body(x) if self.is_residual else self.body(x)


def mobilenet_v2():
    layers = [ConvNorm(3, 32, 3, 2, norm=MOBILENET_NORM, activation=Relu6)]
    channels = 32
    for expansion, filters, repeats, stride in [
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
            (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for block in range(repeats):
            layers.append(InvertedResidual(channels, expansion, filters,
                                           stride if block == 0 else 1))
            channels = filters
    return nn.Sequential(
        *layers,
        ConvNorm(320, 1280, 1, norm=MOBILENET_NORM, activation=Relu6),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
        nn.Linear(1280, 1000))


BUILDERS = {builder.__name__: builder for builder in [
    resnet50, resnet152, resnet20, vgg16, googlenet, inception3, inception4,
    densenet40_k12, mobilenet_v2, nasnet_cifar, unet2d, mnist_deep]}


def label_shape(name):
    """The shape of the labels of one image."""
    facts = NETWORKS[name]
    return (facts.side, facts.side) if facts.labels_pixels else ()


def image_shape(name):
    """The shape of one image, channels first."""
    facts = NETWORKS[name]
    return facts.channels, facts.side, facts.side


def build(name):
    """The network, after a check of its number of parameters."""
    network = BUILDERS[name]()
    check_parameters(name, sum(parameter.numel()
                               for parameter in network.parameters()
                               if parameter.requires_grad))
    return network
