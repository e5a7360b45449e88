"""A torch module that is built when it is first needed, and its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from exporters import own
from exporters.evaluation import Expected
from exporters.points import Point
from exporters.pyt.build import build, failing_part
from exporters.pyt.weights import load_weights
from exporters.types import Definition, ExportError

if TYPE_CHECKING:
    from torch import nn


class ModuleEvaluator:
    """The module of a definition with its own or the user's weights, run by torch itself.

    `made` is the module where a user's factory has built it already.
    """

    name: ClassVar[str] = "torch"
    packages: ClassVar[tuple[str, ...]] = ("torch",)

    def __init__(
        self, definition: Definition, weights: Path | None = None, made: nn.Module | None = None
    ) -> None:
        self._definition = definition
        self._weights = weights
        self._made = made

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
        return self._made is None

    def expected(self, inputs: Mapping[str, np.ndarray], point: Point) -> Expected:
        """The outputs, computed by torch."""
        return Expected(self.outputs(inputs, point), self.name)

    @cached_property
    def module(self) -> nn.Module:
        """Built on first use; ExportError if the weights do not fit it."""
        module = build(self._definition.factory) if self._made is None else self._made
        if self._weights is not None:
            load_weights(module, self._weights, self._definition.name)
        return module

    def outputs(self, inputs: Mapping[str, np.ndarray], point: Point) -> dict[str, np.ndarray]:
        """The outputs by name; ExportError if the module raises."""
        import torch

        specs, module = self._definition.inputs, self.module
        try:
            with torch.inference_mode():
                result = module(*(torch.from_numpy(inputs[spec.name]) for spec in specs))
        except Exception as error:
            shapes = {spec.name: inputs[spec.name].shape for spec in specs}
            part = failing_part(module, error)
            raise ExportError(
                f"the torch module does not run on {shapes}{f' at {part!r}' if part else ''} "
                f"({error})",
                "set its axes to sizes that every part of it takes",
            ) from error
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        arrays = [output.numpy() for output in outputs]
        return dict(zip(self._definition.outputs, arrays, strict=True))
