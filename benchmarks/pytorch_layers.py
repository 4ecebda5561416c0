"""Layers that networks in PyTorch share."""

import torch
from torch import nn


class ConvNorm(nn.Sequential):
    """Convolution without bias, batch norm, activation."""

    def __init__(self, channels, filters, kernel, stride=1, padding=None,
                 groups=1, norm=None, activation=nn.ReLU):
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        if padding is None:
            padding = (kernel[0] // 2, kernel[1] // 2)
        layers = [nn.Conv2d(channels, filters, kernel, stride, padding,
                            groups=groups, bias=False),
                  nn.BatchNorm2d(filters, **(norm or {}))]
        if activation is not None:
            layers.append(activation(inplace=True))
        super().__init__(*layers)


class Branches(nn.Module):
    """Modules that read the same map; their outputs are concatenated."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)
