"""How the tensors of pictures lie in memory: channels first, or with the option, last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

_PICTURES = 4
_CHANNELS_LAST = (0, 2, 3, 1)


def module_in_layout(module: torch.nn.Module, channels_last: bool) -> torch.nn.Module:
    """The module with its weights in that layout."""
    if not channels_last:
        return module
    laid_out: torch.nn.Module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return laid_out


def dimensions_in_memory(
    shape: Sequence[int], dtype: np.dtype, channels_last: bool
) -> tuple[int, ...]:
    """The dimensions of a tensor in the order of its bytes, the outermost first."""
    if channels_last and len(shape) == _PICTURES and dtype.kind == "f":
        return _CHANNELS_LAST
    return tuple(range(len(shape)))


def made_in_layout(
    make: Callable[[tuple[int, ...]], torch.Tensor], shape: Sequence[int], order: Sequence[int]
) -> torch.Tensor:
    """What `make` makes, seen in this shape, its bytes being in that order of dimensions."""
    made = make(tuple(shape[place] for place in order))
    return made.permute([order.index(place) for place in range(len(order))])


def are_same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a copy of the one into the other is a copy of its bytes as they lie."""
    dense = one.is_contiguous() or one.is_contiguous(memory_format=torch.channels_last)
    return one.stride() == other.stride() and dense
