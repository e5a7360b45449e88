"""Layers as torch modules: those of NeurIO's block-based benchmark, and those of the zoo with
their seeded weights.
"""

from __future__ import annotations

import torch
from torch import nn

CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
NORMS = {0: nn.BatchNorm1d, 1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
AVERAGE_POOLS = {1: nn.AvgPool1d, 2: nn.AvgPool2d}
MAX_POOLS = {1: nn.MaxPool1d, 2: nn.MaxPool2d}
CONSTANT_PADS: dict[int, type[nn.Module]] = {
    1: nn.ConstantPad1d,
    2: nn.ConstantPad2d,
    3: nn.ConstantPad3d,
}
REFLECTION_PADS: dict[int, type[nn.Module]] = {1: nn.ReflectionPad1d, 2: nn.ReflectionPad2d}


_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
    "relu6": nn.ReLU6,
    "tanh": nn.Tanh,
}


def activation(kind: str) -> nn.Module:
    """Any shape in, the same shape out."""
    return _ACTIVATIONS[kind]()


SPACE_SIZE = 32
INPUT_CHANNELS = 3
KERNEL = 3


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Zeros before and after one axis so that it leaves with ceil(size / stride) values.

    The smaller half goes first, as Keras and TensorFlow document for `padding="same"`.
    """
    span = (-(-size // stride) - 1) * stride + kernel
    total = max(span - size, 0)
    return total // 2, total - total // 2


def _convolution(
    space_axes: int, channels: int, filters: int, kernel: int, stride: int, groups: int = 1
) -> nn.Sequential:
    """Pad where the two sides differ, convolution with bias, ReLU."""
    pad_before, pad_after = same_padding(SPACE_SIZE, kernel, stride)
    own_padding = pad_before if pad_before == pad_after else 0
    convolution = CONVOLUTIONS[space_axes](
        channels, filters, kernel, stride=stride, padding=own_padding, groups=groups
    )
    layers: list[nn.Module] = [convolution, nn.ReLU()]
    if pad_before != pad_after:
        layers.insert(0, CONSTANT_PADS[space_axes]((pad_before, pad_after) * space_axes, 0.0))
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


def dense(inputs: int, neurons: int) -> nn.Module:
    """[batch, inputs] -> [batch, neurons]."""
    return nn.Sequential(nn.Linear(inputs, neurons), nn.ReLU())


_NORM_TYPES = tuple(NORMS.values())


def draw_norms(module: nn.Module) -> None:
    """Draw every batch norm's four vectors from torch's seeded generator.

    Mean and beta U(-0.2, 0.2), variance and gamma U(0.8, 1.2): far enough from 0, 0, 1, 1 to
    show a folding error, near enough to keep a deep stack's scale.
    """
    for norm in module.modules():
        if not isinstance(norm, _NORM_TYPES):
            continue
        assert norm.running_mean is not None
        assert norm.running_var is not None
        norm.running_mean.uniform_(-0.2, 0.2)
        norm.running_var.uniform_(0.8, 1.2)
        if norm.affine:
            nn.init.uniform_(norm.weight, 0.8, 1.2)
            nn.init.uniform_(norm.bias, -0.2, 0.2)


def batch_norm(data_axes: int) -> nn.Module:
    """Normalises the 3 channels of an input with `data_axes` axes beside the batch, 1 to 4."""
    norm = NORMS[data_axes - 1](3)
    draw_norms(norm)
    return norm


PADDED_PER_SIDE = 2

_CONSTANTS = {"zero": 0.0, "constant": 1.0}


class SymmetricPad(nn.Module):
    """Mirrors each border, the border value included, one axis after the other."""

    def __init__(self, space_axes: int) -> None:
        super().__init__()
        self.space_axes = space_axes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for axis in range(-1, -self.space_axes - 1, -1):
            size = x.shape[axis]
            first = x.narrow(axis, 0, PADDED_PER_SIDE).flip(axis)
            last = x.narrow(axis, size - PADDED_PER_SIDE, PADDED_PER_SIDE).flip(axis)
            x = torch.cat((first, x, last), dim=axis)
        return x


def pad(kind: str, space_axes: int) -> nn.Module:
    """[batch, 3, 32, ...] -> [batch, 3, 36, ...]."""
    if kind == "symmetric":
        return SymmetricPad(space_axes)
    if kind == "reflect":
        return REFLECTION_PADS[space_axes](PADDED_PER_SIDE)
    return CONSTANT_PADS[space_axes](PADDED_PER_SIDE, _CONSTANTS[kind])


def average_pool(space_axes: int, window: int, stride: int) -> nn.Module:
    """[batch, 3, 32, ...] -> [batch, 3, (32 - window) // stride + 1, ...]."""
    return AVERAGE_POOLS[space_axes](window, stride)


def max_pool(space_axes: int, window: int, stride: int) -> nn.Module:
    """[batch, 3, 32, ...] -> [batch, 3, (32 - window) // stride + 1, ...]."""
    return MAX_POOLS[space_axes](window, stride)


class Reshape(nn.Module):
    """[batch, ...] -> [batch, *sizes]; the element counts must agree."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.sizes = sizes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0], *self.sizes)


_BIAS_BOUND = 0.05


def draw_weights(network: nn.Module) -> None:
    """Draw all weights, biases and norms from torch's seeded generator.

    Weights are uniform with variance 2 / fan-in (He et al. 2015), which keeps the second
    moment through a layer and its ReLU, and each filter that mixes channels sums to zero:
    what all inputs share after a ReLU, its mean, would else drown what tells them apart.
    """
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            if isinstance(layer, nn.Linear) or layer.groups == 1:
                _centre_filters(layer.weight)
            if layer.bias is not None:
                nn.init.uniform_(layer.bias, -_BIAS_BOUND, _BIAS_BOUND)
    draw_norms(network)


def _centre_filters(weight: torch.Tensor) -> None:
    """Subtract each filter's mean, summed in double so that the order does not show."""
    axes = tuple(range(1, weight.dim()))
    with torch.no_grad():
        weight.sub_(weight.mean(axes, keepdim=True, dtype=torch.float64).float())


def damp(branch: nn.Sequential, factor: float) -> None:
    """Scale the last layer of a residual branch, so that fifty additions don't explode."""
    weight = branch[-1].weight
    assert isinstance(weight, nn.Parameter)
    with torch.no_grad():
        weight.mul_(factor)


CLASSES = 1000

Size = int | tuple[int, int]


def conv_norm(
    channels: int,
    filters: int,
    kernel: Size,
    stride: int = 1,
    padding: Size = 0,
    groups: int = 1,
    bias: bool = False,
) -> list[nn.Module]:
    """A convolution and its batch norm, without activation."""
    return [
        nn.Conv2d(channels, filters, kernel, stride, padding, groups=groups, bias=bias),
        nn.BatchNorm2d(filters),
    ]


def pooled_head(channels: int) -> list[nn.Module]:
    """The mean over the image, then one dense layer to the logits."""
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES)]
