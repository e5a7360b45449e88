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

from exporters.inputs import cast_inputs, seeded_inputs
from exporters.made import Made
from exporters.points import Point
from exporters.types import Reference, TensorSpec, repeat_reference, save_reference
from exporters.user_data import own_inputs

REFERENCE = "reference"
LARGEST_COMPUTED = 8
"""Rows of the largest batch whose every row is computed by itself."""


class Evaluator(Protocol):
    """Computes a model's expected outputs; `name` and `packages` say who does."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of ours that it runs."""

    def outputs(self, inputs: Mapping[str, np.ndarray], point: Point) -> dict[str, np.ndarray]:
        """The outputs by name, for inputs in the float32 graph's own types."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a model is fed, and who computes what is expected of it.

    `inputs` are those of the float32 graph, `fed` the same in the precision asked for. They
    come with the model (`packaged`, outputs and all), from the user's file, from `examples`
    of the model's own, or from the seed.
    """

    inputs: tuple[TensorSpec, ...]
    fed: tuple[TensorSpec, ...]
    seed: int
    own_file: Path | None
    packaged: Reference | None
    evaluator: Evaluator
    examples: Mapping[str, np.ndarray]

    def at(self, point: Point) -> Reference:
        """Inputs and expected outputs at this point."""
        if self.packaged is not None:
            return Reference(cast_inputs(self.packaged.inputs, self.fed), self.packaged.outputs)
        if self.own_file is not None:
            inputs = own_inputs(self.own_file, self.inputs, point)
        else:
            inputs = seeded_inputs(self.inputs, point, self.seed, self.examples)
        fed = cast_inputs(inputs, self.fed)
        return Reference(fed, self.evaluator.outputs(cast_inputs(fed, self.inputs), point))


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
        save_reference(str(small), evaluation.at({**point, "batch": LARGEST_COMPUTED}))
        repeat_reference(str(small), str(path), batch_positions, batch)
    else:
        save_reference(str(path), evaluation.at(point))
    return Made({REFERENCE: path})
