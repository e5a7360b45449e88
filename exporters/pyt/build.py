"""From a definition, or a user's `file.py:factory`, to a torch module ready to run.

The one place where a factory is called: the same definition gives the same weights, in
every process.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from exporters import own
from exporters.factory_file import FORM, FactoryFile, run_file
from exporters.types import Definition, ExportError, Factory, TensorSpec

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


def build_from_file(source: FactoryFile, seed: int) -> tuple[Definition, nn.Module]:
    """Run a user's factory and describe what it returned.

    Raises ExportError if the file or the factory raises, needs arguments, or returns
    something else than a module with its example inputs.
    """
    import torch
    from torch import nn

    torch.manual_seed(seed)
    try:
        created = getattr(run_file(source.path), source.function)()
    except Exception as error:
        raise ExportError(
            f"{source.path.name}:{source.function} raised {type(error).__name__}: {error}", FORM
        ) from error
    match created:
        case (nn.Module() as module, Mapping() as examples) if examples and all(
            isinstance(example, torch.Tensor) and example.dim() for example in examples.values()
        ):
            module.eval()
        case _:
            raise ExportError(
                f"{source.path.name}:{source.function} returned no module with inputs", FORM
            )
    try:
        with torch.inference_mode():
            outputs = _flat(module(*examples.values()))
    except Exception as error:
        raise ExportError(
            f"the module of {source.path.name}:{source.function} cannot run its example "
            f"inputs ({error})",
            "give them in the order of forward's arguments",
        ) from error
    definition = Definition(
        name=f"{source.path.stem}:{source.function}",
        suite="",
        family="",
        source=str(source.path),
        factory=Factory(f"{source.path}:{source.function}", {}, seed),
        inputs=tuple(_spec(name, example) for name, example in examples.items()),
        outputs=("y",)
        if len(outputs) == 1
        else tuple(f"y_{index}" for index in range(len(outputs))),
        axes={"batch": 1},
    )
    return definition, module


def _flat(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _spec(name: str, example: Any) -> TensorSpec:
    """Integers are drawn from the example's own range, so that an index stays one."""
    dtype = str(example.dtype).removeprefix("torch.")
    shape = ("batch", *example.shape[1:])
    if example.dtype.is_floating_point or dtype == "bool":
        return TensorSpec(name, dtype, shape)
    return TensorSpec(name, dtype, shape, float(example.min()), float(example.max()) + 1)
