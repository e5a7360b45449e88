"""Sources of models: what an export needs of a model, from a torch module or a user's file.

`exporters.pytorch` and `exporters.onnx_files` give a source each; the pipeline knows this one form.
A source's evaluator computes the references at each point of the model's axes. Further inputs are
fed in turn, so that no cache favours one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np

from exporters.agreement import (
    NO_OUTPUTS,
    Arrays,
    Bound,
    Computed,
    Node,
    Outputs,
    difference,
    reconciled,
)
from exporters.cache import Store, done
from exporters.diagnostics import Diagnostic
from exporters.file_access import arrays_sha256
from exporters.inputs import cast_inputs, cast_specs, largest_of, limited_inputs, seeded_inputs
from exporters.types import (
    PACKAGED,
    Dimension,
    ExportError,
    Factory,
    Leeway,
    Made,
    NoReference,
    NotBenchmarkable,
    Precision,
    Reference,
    StatePair,
    TensorSpec,
    axes_key,
    repeat_reference,
    save_reference,
)
from exporters.user_arrays import own_inputs

Point = Mapping[str, int]
"""A size for each axis."""


def full_points(
    model: str,
    requested_points: Sequence[Point],
    axes: Sequence[str],
    default: Point,
    may_be_empty: Collection[str] = (),
) -> tuple[Point, ...]:
    """The points asked for, or the default one; ExportError unless each sets every axis.

    What a point leaves out has its default size, where the model has one. A size must be a
    whole number of at least 1, or of 0 for an axis of `may_be_empty`.
    """
    points = tuple({**default, **point} for point in requested_points) or (default,)
    axis_names = ", ".join(axes) or "none"
    for point in points:
        for name in point:
            if name not in axes:
                raise ExportError(f"{model} has no axis {name!r}", f"its axes are: {axis_names}")
        if missing := [name for name in axes if name not in point]:
            raise ExportError(
                f"no size is known for {', '.join(map(repr, missing))} of {model}",
                f"set the sizes, such as {' '.join(f'--axis {name}=1' for name in missing)}",
            )
        for name in axes:
            least = 0 if name in may_be_empty else 1
            if point[name] < least:
                raise ExportError(
                    f"the axis {name!r} of {model} cannot be {point[name]}",
                    f"the least is {least}",
                )
    return points


REFERENCE = "reference"
LARGEST_COMPUTED = 8
"""Rows of the largest batch whose every row is computed by itself."""


@dataclass(frozen=True, slots=True)
class Vouched:
    """Whose outputs a file has, empty for nobody.

    A second run gave the `random` outputs otherwise, and the `repeated` ones again. `refusal` is
    why no reference could compute any.
    """

    by: str
    repeated: tuple[str, ...] = ()
    random: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()


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
        self, inputs: Arrays, point: Point, bound: Bound, known_outputs: Outputs = NO_OUTPUTS
    ) -> Computed:
        """The outputs of each reference, for inputs in the float32 graph's own types.

        `bound` is how far they may differ. What is `known_outputs` comes first. NotBenchmarkable or
        ExportError if there is no reference.
        """

    def leeway(self, inputs: Arrays, others: Arrays | None) -> Leeway:
        """Where outputs may differ for these inputs, which were computed last, and which are the
        same for others."""

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
            return self._reference_at(point)

    def limited(self, point: Point) -> tuple[str, ...]:
        """The inputs of which finite values are limited to those of the precision at this point;
        ExportError likewise."""
        if not any(map(self._may_overflow, self.inputs, self.fed)):
            return ()
        with self._room(point):
            return limited_inputs(self._drawn(point), self.fed, self.precision)

    def _may_overflow(self, spec: TensorSpec, fed_spec: TensorSpec) -> bool:
        """Whether values of an input have to be looked at: those drawn from a seed rarely do."""
        largest = largest_of(fed_spec, self.precision)
        if largest_of(spec, "fp32") <= largest:
            return False
        has_own_values = self.own_file or self.packaged or spec.name in self.examples
        return bool(has_own_values) or max(abs(spec.low or 0.0), abs(spec.high or 0.0)) > largest

    @contextmanager
    def _room(self, point: Point) -> Iterator[None]:
        try:
            yield
        except MemoryError as error:
            location = f" at {axes_key(point)}" if point else ""
            raise ExportError(
                f"{self.called} needs more memory than there is{location}", "make it smaller"
            ) from error

    def _reference_at(self, point: Point) -> tuple[Reference, Vouched]:
        drawn = self._drawn(point)
        fed = cast_inputs(drawn, self.fed, self.precision)
        given = drawn if self.packaged is not None else cast_inputs(fed, self.inputs)
        evaluator = self.evaluator
        if evaluator is None:
            return Reference(fed, {}), Vouched("")
        try:
            computed = self._compute_outputs(evaluator, given, point)
        except NoReference as error:
            return Reference(fed, {}), Vouched("", refusal=(error.cause, error.remedy))
        locate = partial(evaluator.first_difference, given, self.bound)
        if evaluator.is_repeatable:
            found = reconciled(given, computed, self.bound, locate)
            leeway = evaluator.leeway(given, self._others(point))
            whole = replace(found, inputs=fed, leeway=leeway)
            return whole, Vouched(found.by[0], tuple(found.outputs))
        random = _random_outputs(computed, self._compute_outputs(evaluator, given, point))
        names = tuple(dict.fromkeys(name for each in random.values() for name in each))
        repeated = {
            by: {name: array for name, array in outputs.items() if name not in names}
            for by, outputs in computed.outputs.items()
        }
        if not any(repeated.values()):
            drawing = next(iter(random))
            return Reference(fed, computed.outputs[drawing], (drawing,)), Vouched(drawing)
        compared = replace(computed, outputs=repeated)
        found = reconciled(given, compared, self.bound, _no_node if names else locate)
        first, others = found.by[0], {by: computed.outputs[by] for by in found.others}
        # With the random ones, whose shapes are of use.
        whole = replace(found, inputs=fed, outputs=computed.outputs[first], others=others)
        return whole, Vouched(first, tuple(repeated[first]), names)

    def _drawn(self, point: Point) -> Arrays:
        if self.packaged is not None:
            return self.packaged.inputs
        if self.own_file is not None:
            return own_inputs(self.own_file, self.inputs, point)
        return seeded_inputs(self.inputs, point, self.seed, self.examples)

    def _others(self, point: Point) -> Arrays | None:
        """Inputs of another seed, None where those that came with the model are no draw."""
        if self.packaged is not None or self.own_file is not None or self.examples:
            return None
        return seeded_inputs(self.inputs, point, self.seed + 1, self.examples)

    def _compute_outputs(self, evaluator: Evaluator, given: Arrays, point: Point) -> Computed:
        known = NO_OUTPUTS if self.packaged is None else {PACKAGED: self.packaged.outputs}
        found = evaluator.computed(given, point, self.bound, known)
        return Computed(found.outputs, {**self.missing, **found.missing})


def _random_outputs(computation: Computed, again: Computed) -> dict[str, list[str]]:
    """By reference, the outputs that it gave otherwise in a second run; references without such
    outputs are left out."""
    random_outputs = {
        reference_name: [
            name
            for name, array in outputs.items()
            if difference(again.outputs[reference_name].get(name), array).unequal
        ]
        for reference_name, outputs in computation.outputs.items()
        if reference_name in again.outputs
    }
    return {reference_name: names for reference_name, names in random_outputs.items() if names}


def _no_node() -> None:
    raise ValueError("values between inputs and outputs are drawn in each run")


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
    small_point = computed_point(point, batch_positions)
    reference, reference_facts = evaluation.at(small_point)
    if batch_positions and small_point != point:
        small = folder / "small.npz"
        leeway = replace(reference.leeway, candidates={}, axes={})
        save_reference(str(small), replace(reference, leeway=leeway))
        repeat_reference(str(small), str(path), batch_positions, point["batch"])
    else:
        save_reference(str(path), reference)
    return Made({REFERENCE: path}, reference_facts)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of a model before anything is exported.

    `name` is its row's, `called` what messages call it. `default` gives each of the `axes` a
    size, or is empty for a file, which has none of its own. `batch` and `sequence` are the
    axes (or the fixed sizes) that play those parts. With `independent_rows`, no row of a
    batch depends on another. `examples` are inputs that came with the model, by name. `past` is
    the axis of what a decoder's caches hold.
    """

    name: str
    called: str
    inputs: tuple[TensorSpec, ...]
    axes: tuple[str, ...]
    default: Point
    batch: Dimension | None
    sequence: Dimension | None
    suite: str = ""
    family: str = ""
    states: tuple[StatePair, ...] = ()
    layers: int | None = None
    width: int | None = None
    independent_rows: bool = False
    past: Dimension | None = None
    examples: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counts:
    """As `ExportedModel` has them; None where a shape or an operator is not known."""

    parameters: int | None
    parameters_with_buffers: int | None
    macs: int | None


@dataclass(frozen=True, slots=True)
class Graph:
    """A model's float32 graph in the store, and what was counted; `stored`: it was there already.

    An output's dimension is a size, an axis, or a name of the file's own. `factory` builds
    the module that the graph was exported from, with the store's copy of its weights. `sources`
    are the files of a user's graph, by their place in its folder, with their sha256. `point`
    are the only sizes that it takes, None for a graph that takes all. `warnings` are what rows
    should say of it. `beside` are the files of the store that hold weights of the graph's.
    `written_inputs` are those that the torch module behind it writes to.
    """

    path: Path
    opset: int
    outputs: tuple[TensorSpec, ...]
    counts: Counts
    stored: bool
    factory: Factory | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    point: Point | None = None
    warnings: tuple[Diagnostic, ...] = ()
    beside: tuple[Path, ...] = ()
    written_inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Packaged:
    """Inputs that came with a model, with outputs or as an .npz, and what they are called;
    `refused` says why data there is not taken."""

    reference: Reference | None
    refused: str = ""
    name: str = ""
    inputs: Path | None = None


class Source(Protocol):
    """A model that can be exported: what it is, its graph, and who vouches for its outputs."""

    @property
    def subject(self) -> Subject:
        """What is known beforehand."""

    def graphs(self, store: Store, points: Sequence[Point]) -> tuple[Graph, ...]:
        """The checked graph, made where the store lacks it, or one for each of the points.

        Multiply-accumulates are at the default sizes, or at the first point without any.
        """

    def evaluator(self, graph: Graph) -> Evaluator:
        """Who computes the references."""

    def packaged(self, points: Sequence[Point]) -> Packaged:
        """Inputs and outputs that came with the model, if they fit at all the points."""


INPUTS = "inputs"
DRAWN_SETS = 8
"""So many sets are rotated where none are given, the reference's among them."""


def rotation_of(
    store: Store,
    subject: Subject,
    points: Sequence[Point],
    precision: Precision,
    files: Sequence[Path],
    seed: int,
) -> dict[str, tuple[str, ...]]:
    """For each point by `axes_key` the files of all sets but the first.

    `files` are the user's own sets, the first included; without any they are drawn from the
    seeds that follow. NotBenchmarkable if there is only one set.
    """
    drawn_names = [s.name for s in subject.inputs if s.name not in subject.examples]
    if len(files) == 1 or not (files or drawn_names):
        raise NotBenchmarkable(
            f"{subject.called} has one set of inputs, and --rotate-inputs needs several",
            "remove it, or give several sets as --inputs a.npz --inputs b.npz",
        )
    return {
        axes_key(point): tuple(
            _store_inputs(store, subject, precision, arrays)
            for arrays in _sets(subject, point, files, seed)
        )
        for point in points
    }


def _sets(subject: Subject, point: Point, files: Sequence[Path], seed: int) -> list[Arrays]:
    if files:
        return [own_inputs(file, subject.inputs, point) for file in files[1:]]
    seeds = range(seed + 1, seed + DRAWN_SETS)
    return [seeded_inputs(subject.inputs, point, set_seed, subject.examples) for set_seed in seeds]


def _store_inputs(store: Store, subject: Subject, precision: Precision, arrays: Arrays) -> str:
    fed = cast_inputs(arrays, cast_specs(subject.inputs, precision), precision)
    about: Mapping[str, str] = {"inputs of a rotation": arrays_sha256(fed)}
    return str(
        done(store, _write_inputs, fed, key_facts=about, packages=("numpy",)).entry.files[INPUTS]
    )


def _write_inputs(folder: Path, arrays: Arrays) -> Made:
    path = folder / "inputs.npz"
    save_reference(str(path), Reference(arrays, {}))
    return Made({INPUTS: path})
