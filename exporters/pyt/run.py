"""A torch module that is built when it is first needed, and its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from exporters import own
from exporters.brought import Brought
from exporters.calling import named_outputs
from exporters.points import Point
from exporters.pyt.build import build, failing_part
from exporters.pyt.weights import load_weights
from exporters.types import Definition, ExportError

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Expected:
    """A module's outputs by name, and the reference that they are."""

    outputs: Mapping[str, np.ndarray]
    by: str


class ModuleEvaluator:
    """The module of a definition with its own or the user's weights, run by torch itself.

    `brought` is the module where a user's factory has built it already; `is_flat` says that it
    takes tensors by position and returns one or a tuple of them, as modules of the catalogue do.
    """

    name: ClassVar[str] = "torch"
    packages: ClassVar[tuple[str, ...]] = ("torch",)

    def __init__(
        self,
        definition: Definition,
        weights: Path | None = None,
        brought: Brought | None = None,
        is_flat: bool = True,
    ) -> None:
        self._definition = definition
        self._weights = weights
        self._brought = brought
        self._is_flat = is_flat
        self.written_inputs: set[str] = set()
        """The inputs that the module has written to, in any run so far."""

    @property
    def modules(self) -> tuple[str, ...]:
        """This one and the definition's; what a user's file imports is not known."""
        return (__name__, own.module_name(self._definition.factory.target.partition(":")[0]))

    @property
    def needs(self) -> tuple[str, ...]:
        """No file: weights have made the graph another one."""
        return ()

    @property
    def is_repeatable(self) -> bool:
        """Definitions of the catalogue are; a user's module may draw what it likes."""
        return self._brought is None

    def expected(self, inputs: Mapping[str, np.ndarray], point: Point) -> Expected:
        """The outputs, computed by torch."""
        if self._definition.in_fp64:
            return Expected(self._in_fp64(inputs), f"{self.name} in fp64")
        return Expected(self.outputs(inputs, point), self.name)

    def _in_fp64(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The same by a copy of the module in double precision, rounded to the outputs' types."""
        import torch

        module = deepcopy(self.module).double()
        tensors = [
            torch.from_numpy(inputs[spec.name].copy()).double() for spec in self._definition.inputs
        ]
        with torch.inference_mode():
            result = self._run(module, tensors)
        arrays = [output.float().numpy() for output in result.values()]
        return dict(zip(self._definition.outputs, arrays, strict=True))

    @cached_property
    def module(self) -> nn.Module:
        """Built on first use; ExportError if the weights do not fit it."""
        brought = self._brought
        module = build(self._definition.factory) if brought is None else brought.module
        if self._weights is not None:
            load_weights(module, self._weights, self._definition.name)
        return module

    @cached_property
    def flat(self) -> nn.Module:
        """The module itself where it takes and returns tensors in a row, else in that form."""
        from exporters.pyt.flat import Flat

        if self._brought is None or self._is_flat:
            return self.module
        # The old exporter leaves the parts of a module in the mode that the whole was in.
        return Flat(self.module, self._brought.call).eval()

    def outputs(self, inputs: Mapping[str, np.ndarray], point: Point) -> dict[str, np.ndarray]:
        """The outputs by name; ExportError if the module raises."""
        import torch

        specs = self._definition.inputs
        # Copies: a module may write to what it is given.
        tensors = [torch.from_numpy(inputs[spec.name].copy()) for spec in specs]
        # Built here, not in inference mode: of weights made there torch exports at half the speed.
        module = self.module
        try:
            with torch.inference_mode():
                result = self._run(module, tensors)
        except Exception as error:
            shapes = {spec.name: inputs[spec.name].shape for spec in specs}
            part = failing_part(module, error)
            raise ExportError(
                f"the torch module does not run on {shapes}{f' at {part!r}' if part else ''} "
                f"({error})",
                "give ids that its tables have"
                if isinstance(error, IndexError)
                else "set its axes to sizes that every part of it takes",
            ) from error
        pairs = zip(specs, tensors, strict=True)
        self.written_inputs |= {spec.name for spec, tensor in pairs if tensor._version}
        # Copies again: a module may return a buffer of its own, which its next run overwrites.
        arrays = [output.detach().numpy().copy() for output in result.values()]
        return dict(zip(self._definition.outputs, arrays, strict=True))

    def _run(self, module: nn.Module, tensors: list[Tensor]) -> dict[str, Tensor]:
        if self._brought is None:
            return named_outputs(module(*tensors))
        args, kwargs = self._brought.call.arguments(tensors)
        return named_outputs(module(*args, **kwargs))
