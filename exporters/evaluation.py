"""What a model is fed at one point of its axes, and the expected outputs, written to a file.

In float32 whatever the precision: an fp16 graph is fed float16, and who evaluates it the same
values in float32, so that the error of a row is the runtime's and not that of rounding its
inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np

from exporters.agreement import difference
from exporters.inputs import cast_inputs, seeded_inputs
from exporters.made import Made
from exporters.points import Point
from exporters.types import (
    ExportError,
    Reference,
    TensorSpec,
    axes_key,
    repeat_reference,
    save_reference,
)
from exporters.user_data import own_inputs

REFERENCE = "reference"
LARGEST_COMPUTED = 8
"""Rows of the largest batch whose every row is computed by itself."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Outputs by name, and who computed them."""

    outputs: Mapping[str, np.ndarray]
    by: str


@dataclass(frozen=True, slots=True)
class Vouched:
    """Who computed a reference, empty for nobody; `random` if a second run gave other outputs."""

    by: str
    random: bool = False


class Evaluator(Protocol):
    """Computes a model's expected outputs; `name` and `packages` say who does, or tries first."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of ours that it runs."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The sha256 of each file that it uses beside the model."""

    @property
    def is_repeatable(self) -> bool:
        """Whether it is known to give the same outputs each time."""

    def expected(self, inputs: Mapping[str, np.ndarray], point: Point) -> Expected:
        """The outputs for inputs in the float32 graph's own types."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a model is fed, and who computes what is expected of it.

    `inputs` are those of the float32 graph, `fed` the same in the precision asked for. They
    come with the model (`packaged`, outputs and all), from the user's file, from `examples`
    of the model's own, or from the seed. Without an evaluator nothing is expected.
    """

    inputs: tuple[TensorSpec, ...]
    fed: tuple[TensorSpec, ...]
    seed: int
    own_file: Path | None
    packaged: Reference | None
    evaluator: Evaluator | None
    examples: Mapping[str, np.ndarray]
    called: str

    def at(self, point: Point) -> tuple[Reference, Vouched]:
        """Inputs and expected outputs at this point; ExportError where they find no room."""
        try:
            return self._at(point)
        except MemoryError as error:
            at = f" at {axes_key(point)}" if point else ""
            raise ExportError(
                f"{self.called} needs more memory than there is{at}", "make it smaller"
            ) from error

    def _at(self, point: Point) -> tuple[Reference, Vouched]:
        if self.packaged is not None:
            fed = cast_inputs(self.packaged.inputs, self.fed)
            if self.evaluator is None:
                return Reference(fed, {}), Vouched("")
            return Reference(fed, self.packaged.outputs), Vouched("packaged")
        if self.own_file is not None:
            inputs = own_inputs(self.own_file, self.inputs, point)
        else:
            inputs = seeded_inputs(self.inputs, point, self.seed, self.examples)
        fed = cast_inputs(inputs, self.fed)
        if self.evaluator is None:
            return Reference(fed, {}), Vouched("")
        given = cast_inputs(fed, self.inputs)
        expected = self.evaluator.expected(given, point)
        random = False
        if not self.evaluator.is_repeatable:
            again = self.evaluator.expected(given, point).outputs
            random = any(
                difference(again[name], array).unequal for name, array in expected.outputs.items()
            )
        return Reference(fed, expected.outputs), Vouched(expected.by, random)


def write_reference(
    folder: Path, evaluation: Evaluation, point: Point, batch_positions: Mapping[str, int] | None
) -> Made:
    """The step: inputs and expected outputs at this point as an .npz.

    `batch_positions`, for graphs whose rows do not depend on each other, is where each array
    (`input:NAME`, `output:NAME`) has its batch: beyond `LARGEST_COMPUTED` rows those are
    repeated, so that neither the export process nor the store grows with the batch.
    """
    path = folder / "reference.npz"
    batch = point.get("batch", 1)
    if batch_positions and batch > LARGEST_COMPUTED:
        small = folder / "small.npz"
        reference, vouched = evaluation.at({**point, "batch": LARGEST_COMPUTED})
        save_reference(str(small), reference)
        repeat_reference(str(small), str(path), batch_positions, batch)
    else:
        reference, vouched = evaluation.at(point)
        save_reference(str(path), reference)
    return Made({REFERENCE: path}, vouched)
