"""The torch modules behind the graphs of the checks, in the sizes of the stand-ins."""

from __future__ import annotations

import torch
from torch import nn

from tests.gpu.modules import Chain, relu, small
from tests.gpu.stand_in import STAND_IN_SIZES

__all__ = ["chain", "relu", "small"]


def chain() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    sizes = STAND_IN_SIZES
    return Chain(sizes.width, sizes.layers), {"x": torch.zeros(sizes.rows, sizes.width)}
