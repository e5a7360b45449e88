"""From an `ExportedModel`'s factory to the torch module that it was exported from.

The same seed, weights and call as in the export, so that both compute the same function;
it stands alone because a runtime must not import the exporting code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exporters import own
from exporters.factory_file import run_file
from exporters.types import Factory
from runtimes.faults import CompileFault, OutOfMemory

if TYPE_CHECKING:
    from torch import nn


def build_module(factory: Factory) -> nn.Module:
    """The module in evaluation mode; CompileFault or OutOfMemory if it cannot be built."""
    import torch

    source, _, name = factory.target.rpartition(":")
    torch.manual_seed(factory.seed)
    try:
        if source.endswith(".py"):
            module, _ = getattr(run_file(Path(source)), name)()
        else:
            torch.manual_seed(factory.seed)
            module = own.load(factory.target)(**factory.arguments)
        if factory.weights is not None:
            from safetensors.torch import load_file

            module.load_state_dict(load_file(factory.weights))
    except Exception as error:
        if out_of_memory(error):
            raise OutOfMemory("PyTorch ran out of memory", "use a smaller model") from error
        raise CompileFault(
            f"the torch module of {factory.target} could not be built ({error})",
            "check that it is still the one that was exported",
        ) from error
    built: nn.Module = module.eval()
    return built


def out_of_memory(error: Exception) -> bool:
    """Whether it is memory, the host's or a GPU's, that torch found too small."""
    text = str(error)
    too_small = "can't allocate memory" in text or "CUDA out of memory" in text
    return isinstance(error, MemoryError) or too_small
