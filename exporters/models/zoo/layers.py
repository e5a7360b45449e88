"""The compositions that several families share: convolution with norm, and the head."""

from __future__ import annotations

from torch import nn

CLASSES = 1000

Size = int | tuple[int, int]


def conv_norm(
    channels: int,
    filters: int,
    kernel: Size,
    stride: int = 1,
    padding: Size = 0,
    groups: int = 1,
    eps: float = 1e-5,
    bias: bool = False,
) -> list[nn.Module]:
    """A convolution and its batch norm, without activation."""
    return [
        nn.Conv2d(channels, filters, kernel, stride, padding, groups=groups, bias=bias),
        nn.BatchNorm2d(filters, eps=eps),
    ]


def pooled_head(channels: int) -> list[nn.Module]:
    """The mean over the image, then one dense layer to the logits."""
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES)]
