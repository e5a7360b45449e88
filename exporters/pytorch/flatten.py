"""A module of any signature as one that takes and returns tensors in a row, as a graph does."""

from __future__ import annotations

from torch import Tensor, nn

from exporters.module_adapter import Call, named_outputs


class Flat(nn.Module):
    """Takes the tensors of `call` by position, and returns all that the module gives."""

    def __init__(self, module: nn.Module, call: Call) -> None:
        super().__init__()
        self.module = module
        self._call = call

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        args, kwargs = self._call.arguments(tensors)
        return tuple(named_outputs(self.module(*args, **kwargs)).values())
