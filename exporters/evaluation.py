"""What a model is fed at one point of its axes, and its references there, written to a file.

In float32 whatever the precision: an fp16 graph is fed float16, and who evaluates it the same
values in float32, so that the error of a row is the runtime's and not that of rounding its
inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np

from exporters.agreement import Bound, difference
from exporters.consensus import NO_OUTPUTS, Arrays, Computed, Node, Outputs, reconciled
from exporters.inputs import cast_inputs, largest_of, limited_inputs, seeded_inputs
from exporters.made import Made
from exporters.points import Point
from exporters.types import (
    PACKAGED,
    ExportError,
    Precision,
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
class Vouched:
    """Whose outputs a file has, empty for nobody; `random` if a second run gave other outputs."""

    by: str
    random: bool = False


class Evaluator(Protocol):
    """Computes a model's references; `name` is the first of them, `packages` compute them all."""

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

    def computed(
        self, inputs: Arrays, point: Point, bound: Bound, known: Outputs = NO_OUTPUTS
    ) -> Computed:
        """The outputs of each reference, for inputs in the float32 graph's own types.

        `bound` is how far they may differ. What is `known` comes first. NotBenchmarkable or
        ExportError if there is no reference.
        """

    def first_difference(self, inputs: Arrays, bound: Bound) -> Node | None:
        """The first node whose outputs ONNX's evaluator and ONNX Runtime compute differently."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a model is fed, and who computes what is expected of it.

    `inputs` are those of the float32 graph, `fed` the same in the precision asked for. They
    come with the model (`packaged`, outputs and all), from the user's file, from `examples`
    of the model's own, or from the seed. Without an evaluator nothing is expected. References
    of the float32 graph agree if they are within `bound`; `missing` says of some why the model
    cannot have them. `precision` is that of the graph that is fed.
    """

    inputs: tuple[TensorSpec, ...]
    fed: tuple[TensorSpec, ...]
    seed: int
    own_file: Path | None
    packaged: Reference | None
    evaluator: Evaluator | None
    examples: Mapping[str, np.ndarray]
    called: str
    bound: Bound
    missing: Mapping[str, str]
    precision: Precision

    def at(self, point: Point) -> tuple[Reference, Vouched]:
        """Inputs and expected outputs at this point; ExportError where they find no room."""
        with self._room(point):
            return self._at(point)

    def limited(self, point: Point) -> tuple[str, ...]:
        """The inputs of which finite values are limited to those of the precision at this point;
        ExportError likewise."""
        if not any(map(self._may_overflow, self.inputs, self.fed)):
            return ()
        with self._room(point):
            return limited_inputs(self._drawn(point), self.fed, self.precision)

    def _may_overflow(self, spec: TensorSpec, fed: TensorSpec) -> bool:
        """Whether values of an input have to be looked at: those drawn from a seed rarely do."""
        largest = largest_of(fed, self.precision)
        if largest_of(spec, "fp32") <= largest:
            return False
        own = self.own_file or self.packaged or spec.name in self.examples
        return bool(own) or max(abs(spec.low or 0.0), abs(spec.high or 0.0)) > largest

    @contextmanager
    def _room(self, point: Point) -> Iterator[None]:
        try:
            yield
        except MemoryError as error:
            at = f" at {axes_key(point)}" if point else ""
            raise ExportError(
                f"{self.called} needs more memory than there is{at}", "make it smaller"
            ) from error

    def _at(self, point: Point) -> tuple[Reference, Vouched]:
        drawn = self._drawn(point)
        fed = cast_inputs(drawn, self.fed, self.precision)
        given = drawn if self.packaged is not None else cast_inputs(fed, self.inputs)
        evaluator = self.evaluator
        if evaluator is None:
            return Reference(fed, {}), Vouched("")
        computed = self._computed(evaluator, given, point)
        if not evaluator.is_repeatable:
            drawing = _drawing(computed, self._computed(evaluator, given, point))
            if drawing:
                outputs = computed.outputs[drawing]
                return Reference(fed, outputs, (drawing,)), Vouched(drawing, random=True)
        found = reconciled(
            given, computed, self.bound, lambda: evaluator.first_difference(given, self.bound)
        )
        return replace(found, inputs=fed), Vouched(found.by[0])

    def _drawn(self, point: Point) -> Arrays:
        if self.packaged is not None:
            return self.packaged.inputs
        if self.own_file is not None:
            return own_inputs(self.own_file, self.inputs, point)
        return seeded_inputs(self.inputs, point, self.seed, self.examples)

    def _computed(self, evaluator: Evaluator, given: Arrays, point: Point) -> Computed:
        known = NO_OUTPUTS if self.packaged is None else {PACKAGED: self.packaged.outputs}
        found = evaluator.computed(given, point, self.bound, known)
        return Computed(found.outputs, {**self.missing, **found.missing})


def _drawing(computed: Computed, again: Computed) -> str:
    """The first reference whose outputs were others in a second run; empty for none."""
    return next(
        (
            by
            for by, outputs in computed.outputs.items()
            if by in again.outputs
            and any(difference(again.outputs[by][n], a).unequal for n, a in outputs.items())
        ),
        "",
    )


def computed_point(point: Point, batch_positions: Mapping[str, int] | None) -> Point:
    """The point whose rows are drawn and computed; those of a larger batch repeat them."""
    if batch_positions and point.get("batch", 1) > LARGEST_COMPUTED:
        return {**point, "batch": LARGEST_COMPUTED}
    return point


def write_reference(
    folder: Path, evaluation: Evaluation, point: Point, batch_positions: Mapping[str, int] | None
) -> Made:
    """The step: inputs and expected outputs at this point as an .npz.

    `batch_positions`, for graphs whose rows do not depend on each other, is where each array
    (`input:NAME`, `output:NAME`) has its batch: beyond `LARGEST_COMPUTED` rows those are
    repeated, so that neither the export process nor the store grows with the batch.
    """
    path = folder / "reference.npz"
    computed = computed_point(point, batch_positions)
    reference, vouched = evaluation.at(computed)
    if batch_positions and computed != point:
        small = folder / "small.npz"
        save_reference(str(small), reference)
        repeat_reference(str(small), str(path), batch_positions, point["batch"])
    else:
        save_reference(str(path), reference)
    return Made({REFERENCE: path}, vouched)
