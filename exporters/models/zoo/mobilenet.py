"""MobileNet v1 at four widths (Howard et al., arXiv:1704.04861)."""

from __future__ import annotations

from torch import nn

from exporters.models.zoo.initial import draw_weights
from exporters.models.zoo.layers import conv_norm, pooled_head

_STEM = 32

# Filters and stride of each depthwise-separable convolution at width 1.
_SEPARABLE = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *((512, 1),) * 5,
    (1024, 2),
    (1024, 1),
)


def mobilenet(width: float) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits; `width` multiplies every channel count."""
    channels = int(_STEM * width)
    layers = [*conv_norm(3, channels, 3, stride=2, padding=1), nn.ReLU()]
    for base_filters, stride in _SEPARABLE:
        filters = int(base_filters * width)
        layers += [*conv_norm(channels, channels, 3, stride, padding=1, groups=channels), nn.ReLU()]
        layers += [*conv_norm(channels, filters, 1), nn.ReLU()]
        channels = filters
    network = nn.Sequential(*layers, *pooled_head(channels))
    draw_weights(network)
    return network
