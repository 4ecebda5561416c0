"""NASNet-A for small images in PyTorch, as in Spillway's zoo (models/nasnet.cc
and models/nasnet_cells.cc, which have the sources)."""

import torch
from torch import nn

from pytorch_layers import ConvNorm

NORM = {"eps": 1e-5, "momentum": 0.1}


def fit(channels, filters, activation=None):
    return ConvNorm(channels, filters, 1, norm=NORM, activation=activation)


def average(stride=1):
    return nn.AvgPool2d(3, stride, 1, count_include_pad=False)


class Separable(nn.Sequential):
    """Two separable convolutions; the first one has the stride."""

    def __init__(self, channels, filters, kernel, stride=1):
        super().__init__(
            *self.convolution(channels, filters, kernel, stride, nn.ReLU),
            *self.convolution(filters, filters, kernel, 1, None))

    @staticmethod
    def convolution(channels, filters, kernel, stride, activation):
        return [nn.Conv2d(channels, channels, kernel, stride, kernel // 2,
                          groups=channels, bias=False),
                fit(channels, filters, activation)]


class FactorizedReduction(nn.Module):
    """Half the filters read the even pixels, half the odd ones."""

    def __init__(self, channels, filters):
        super().__init__()
        self.even = nn.Conv2d(channels, filters // 2, 1, 2, bias=False)
        self.odd = nn.Conv2d(channels, filters - filters // 2, 1, 2, bias=False)
        self.norm = nn.BatchNorm2d(filters, **NORM)

    def forward(self, x):
        return self.norm(torch.cat([self.even(x), self.odd(x[:, :, 1:, 1:])], 1))


class NormalCell(nn.Module):
    """Reads the current map, and the previous one before and after ReLU."""

    def __init__(self, current, previous, filters):
        super().__init__()
        fits = previous == filters

        def fitted():
            return nn.Identity() if fits else fit(previous, filters)
        self.begin = fit(current, filters)
        self.previous3, self.previous5 = (
            Separable(previous, filters, kernel) for kernel in [3, 5])
        self.previous3_again = Separable(previous, filters, 3)
        self.current5, self.current3 = (
            Separable(filters, filters, kernel) for kernel in [5, 3])
        self.fits = fits
        self.fit3, self.fit4, self.fit4_again, self.fit_output = (
            fitted() for _ in range(4))
        self.average = average()

    def forward(self, current, previous, previous_relu):
        h = self.begin(current)
        h_relu = h.relu()
        p_average = self.average(previous)
        sums = [
            self.fit_output(previous),
            self.current5(h_relu) + self.previous3(previous_relu),
            self.previous5(previous_relu) + self.previous3_again(previous_relu),
            self.average(h) + self.fit3(previous if self.fits
                                        else previous_relu),
            self.fit4(p_average) + self.fit4_again(p_average),
            self.current3(h_relu) + h]
        return torch.cat(sums, 1).relu()


class ReductionCell(nn.Module):
    def __init__(self, current, previous, filters):
        super().__init__()
        self.begin = fit(current, filters)
        self.current5 = Separable(filters, filters, 5, 2)
        self.previous7, self.previous7_again, self.previous5 = (
            Separable(previous, filters, kernel, 2) for kernel in [7, 7, 5])
        self.last = Separable(filters, filters, 3)
        self.halving_max = nn.MaxPool2d(3, 2, 1)
        self.halving_average = average(2)
        self.average = average()

    def forward(self, current, previous):
        h = self.begin(current)
        h_max = self.halving_max(h)
        first = self.current5(h.relu()) + self.previous7(previous)
        second = self.previous7_again(previous) + h_max
        third = self.previous5(previous) + self.halving_average(h)
        return torch.cat([second, third, self.average(first) + second,
                          self.last(first.relu()) + h_max], 1).relu()


class NasNet(nn.Module):
    """Three stacks of normal cells with reduction cells between them."""

    def __init__(self, cells, filters, stem):
        super().__init__()
        self.stem = ConvNorm(3, stem, 3, norm=NORM, activation=None)
        self.cells, self.fits = nn.ModuleList(), nn.ModuleList()
        widths = [stem]  # of all maps so far
        for cell in range(cells):
            follows_reduction = cell > 0 and cell % (cells // 3) == 0
            if follows_reduction:
                filters *= 2
                self.add(ReductionCell(widths[-1], filters, filters),
                         fit(widths[-2], filters, nn.ReLU))
                widths.append(4 * filters)
            if cell == 0:
                self.add(NormalCell(stem, stem, filters), nn.Identity())
            else:
                fitted = FactorizedReduction if follows_reduction else fit
                self.add(NormalCell(widths[-1], filters, filters),
                         fitted(widths[-2], filters))
            widths.append(6 * filters)
        self.logits = nn.Linear(widths[-1], 10)

    def add(self, cell, fitted):
        self.cells.append(cell)
        self.fits.append(fitted)

    def forward(self, images):
        stem = self.stem(images)
        before, current = stem, stem.relu()
        for index, (cell, fitted) in enumerate(zip(self.cells, self.fits)):
            previous = fitted(before)
            if isinstance(cell, ReductionCell):
                result = cell(current, previous)
            else:
                result = cell(current, previous,
                              current if index == 0 else previous.relu())
            before, current = current, result
        return self.logits(current.mean((2, 3)))


def nasnet_cifar():
    return nn.Sequential(NasNet(cells=18, filters=32, stem=96))
