"""Convolution layers followed by ReLU, padded as Keras `same` pads them.

PyTorch refuses `padding="same"` with a stride, so the rule is written out here. Where the
two sides differ an explicit pad stands before the convolution; export folds it into the
convolution's own uneven pads.
"""

from __future__ import annotations

from torch import nn

from exporters.blocks.by_axes import CONSTANT_PADS, CONVOLUTIONS

SPACE_SIZE = 32
INPUT_CHANNELS = 3
KERNEL = 3


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Zeros before and after one axis so that it leaves with ceil(size / stride) values.

    The smaller half goes first, as Keras and TensorFlow document for `padding="same"`.
    """
    reached = (-(-size // stride) - 1) * stride + kernel
    total = max(reached - size, 0)
    return total // 2, total - total // 2


def _convolution(
    space_axes: int, channels: int, filters: int, kernel: int, stride: int, groups: int = 1
) -> nn.Sequential:
    """Pad where the two sides differ, convolution with bias, ReLU."""
    before, after = same_padding(SPACE_SIZE, kernel, stride)
    own_padding = before if before == after else 0
    convolution = CONVOLUTIONS[space_axes](
        channels, filters, kernel, stride=stride, padding=own_padding, groups=groups
    )
    layers: list[nn.Module] = [convolution, nn.ReLU()]
    if before != after:
        layers.insert(0, CONSTANT_PADS[space_axes]((before, after) * space_axes, 0.0))
    return nn.Sequential(*layers)


def conv1d(filters: int, stride: int) -> nn.Module:
    """[batch, 3, 32] -> [batch, filters, 32 / stride]."""
    return _convolution(1, INPUT_CHANNELS, filters, KERNEL, stride)


def conv2d(filters: int, stride: int = 1, kernel: int = KERNEL) -> nn.Module:
    """[batch, 3, 32, 32] -> [batch, filters, 32 / stride, 32 / stride]."""
    return _convolution(2, INPUT_CHANNELS, filters, kernel, stride)


def depthwise2d(filters: int, stride: int) -> nn.Module:
    """[batch, filters, 32, 32] -> the same channels, each with a filter of its own."""
    return _convolution(2, filters, filters, KERNEL, stride, groups=filters)


def conv3d(filters: int, stride: int) -> nn.Module:
    """[batch, 3, 32, 32, 32] -> [batch, filters, 32 / stride, ...] on three space axes."""
    return _convolution(3, INPUT_CHANNELS, filters, KERNEL, stride)
