"""From an `ExportedModel`'s factory to the torch module that it was exported from.

The same seed, weights and call as in the export, so that both compute the same function;
it stands alone because a runtime must not import the exporting code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from exporters import own
from exporters.brought import bring, is_brought
from exporters.calling import Call
from exporters.types import Factory, Precision
from runtimes.faults import CompileFault, OutOfMemory
from runtimes.memory_words import tells_of_no_memory

_PRECISIONS = {
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
}


@dataclass(frozen=True, slots=True)
class Built:
    """A module, and how it is called; None for one that takes its tensors by position."""

    module: torch.nn.Module
    call: Call | None

    def arguments(self, tensors: Sequence[torch.Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the module is called with, so that it computes on these tensors."""
        return (tuple(tensors), {}) if self.call is None else self.call.arguments(tensors)


def build_module(factory: Factory) -> Built:
    """The module in evaluation mode; CompileFault or OutOfMemory if it cannot be built."""
    call = None
    try:
        if is_brought(factory.target):
            brought = bring(factory.target, factory.seed)
            module, call = brought.module, brought.call
        else:
            torch.manual_seed(factory.seed)
            module = own.load(factory.target)(**factory.arguments)
        if factory.weights is not None:
            from safetensors.torch import load_file

            module.load_state_dict(load_file(factory.weights))
    except Exception as error:
        if tells_of_no_memory(error):
            raise OutOfMemory("PyTorch ran out of memory", "use a smaller model") from error
        raise CompileFault(
            f"the torch module of {factory.target} could not be built ({error})",
            "check that it is still the one that was exported",
        ) from error
    return Built(module.eval(), call)


def in_precision(module: torch.nn.Module, precision: Precision) -> torch.nn.Module:
    """The module with all of its floats in that type; as it is for fp32.

    What is finite stays finite: the lowest float32, with which attention is masked, would be
    minus infinity.
    """
    narrow = next((dtype for dtype, name in _PRECISIONS.items() if name == precision), None)
    if narrow not in (torch.float16, torch.bfloat16):
        return module
    largest = torch.finfo(narrow).max
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point() and tensor.numel():
                low, high = tensor.aminmax()
                if not (low >= -largest and high <= largest):
                    limited = tensor.clamp(-largest, largest)
                    tensor.copy_(torch.where(tensor.isfinite(), limited, tensor))
    return module.to(narrow)


def module_precision(module: torch.nn.Module, inputs: Iterable[torch.Tensor]) -> str:
    """The float type of the weights, or of the inputs where there are none.

    Eager and compiled torch compute in the type of the tensors: autocast is off and matrix
    products of float32 were just set to full precision.
    """
    tensors = (*module.parameters(), *module.buffers())
    found = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
    found = found or {tensor.dtype for tensor in inputs if tensor.is_floating_point()}
    return "+".join(sorted(_PRECISIONS.get(dtype, str(dtype)) for dtype in found)) or "integer"
