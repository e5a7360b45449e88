"""From a definition of the catalogue to a torch module ready to run.

The same definition gives the same weights, in every process.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from exporters import own
from exporters.types import Factory

if TYPE_CHECKING:
    from torch import nn


def build(factory: Factory) -> nn.Module:
    """The module of a catalogue definition in evaluation mode, its weights from the seed."""
    import torch

    create: Callable[..., nn.Module] = own.load(factory.target)
    torch.manual_seed(factory.seed)
    return create(**factory.arguments).eval()


def failing_part(module: nn.Module, error: Exception) -> str:
    """The name of the innermost part of the module that was at work when `error` arose."""
    names = {id(part): name for name, part in module.named_modules()}
    parts = [
        names.get(id(frame.f_locals.get("self")), "")
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    return next(filter(None, reversed(parts)), "")
