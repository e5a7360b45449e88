"""A null twin's recipe as a torch module: what the twin is to a runtime that runs modules.

Built from JSON values in each process that needs it, like every module behind a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn


class NullModule(nn.Module):
    """Takes the inputs by position; gives new tensors, as a module that computes does.

    A size in `shape` is a number, or the input and the dimension that have it; `cut` are the
    dimensions of the first input of which one step is taken.
    """

    def __init__(self, parts: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self._parts = parts

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(_compute_output(part, inputs) for part in self._parts)


def _compute_output(part: Mapping[str, Any], inputs: Sequence[Tensor]) -> Tensor:
    if part["is_copy"]:
        return inputs[part["reads"][0]].clone()
    sizes = [s if isinstance(s, int) else inputs[s[0]].shape[s[1]] for s in part["shape"]]
    dtype = getattr(torch, part["dtype"])
    if not part["reads"]:
        return torch.zeros(sizes, dtype=dtype)
    element = _element(part, [inputs[place] for place in part["reads"]], dtype)
    return element.expand(sizes).clone(memory_format=torch.contiguous_format)


def _element(part: Mapping[str, Any], read: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    first = read[0]
    for place in part["cut"]:
        first = first.narrow(place, 0, 1)
    if part["view"] is not None:
        first = first.reshape(part["view"])
    if len(read) == 1:
        return _cast(first, dtype)
    common = dtype if dtype in (torch.float32, torch.float64) else torch.float32
    other_tensors = (_cast(tensor[(0,) * tensor.dim()], common) for tensor in read[1:])
    return _cast(reduce(torch.maximum, other_tensors, _cast(first, common)), dtype)


def _cast(element: Tensor, dtype: torch.dtype) -> Tensor:
    """As the graph of the twin casts: through true and false where a number may not fit."""
    if element.dtype == dtype or dtype in (torch.float32, torch.float64, torch.bool):
        return element.to(dtype)
    return (element != 0).to(dtype)
