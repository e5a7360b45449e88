"""Sizes of a model's axes: those of a grid, or of a user's file of shapes."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from app.cases.errors import PlanError, suggestion
from app.cases.scenario import NO_BATCHER, NO_CONDITION, Condition, Shapes
from app.plan.models import ResolvedModel, unreadable
from app.plan.settings.sweep import Sweep
from exporters.file_access import read_file, user_path
from exporters.messages import with_sums


def explicit_sizes(sweep: Sweep, subject: ResolvedModel) -> dict[str, tuple[int, ...]]:
    """Axis name -> the sizes that the plan gives for it, in this model's own words."""
    plan_sizes = dict(sweep.axes)
    if sweep.batch_size and subject.batch:
        plan_sizes.setdefault(subject.batch, sweep.batch_size)
    if sweep.sequence_length and subject.sequence:
        plan_sizes.setdefault(subject.sequence, sweep.sequence_length)
    return plan_sizes


def assumed_sizes(sweep: Sweep, subject: ResolvedModel) -> Mapping[str, int]:
    """The axes that have a size only because it was assumed."""
    plan_sizes = explicit_sizes(sweep, subject)
    defaults = {**subject.axes, **_prefill(subject, *plan_sizes.get(subject.past, (1,)))}
    return {
        axis: size
        for axis in subject.assumed
        if axis not in plan_sizes and (size := defaults[axis]) is not None
    }


def _prefill(subject: ResolvedModel, *past: int) -> Mapping[str, int]:
    """The sizes that are assumed where all of these pasts are none."""
    return {} if any(past) else subject.prefill


def _missing(sweep: Sweep, subject: ResolvedModel) -> list[str]:
    """The axes that neither the plan nor the model gives a size; sums follow from their addends."""
    plan_sizes = explicit_sizes(sweep, subject)
    return [
        name
        for name, size in subject.axes.items()
        if size is None and not plan_sizes.get(name) and name not in subject.sums
    ]


def with_sizes(sweep: Sweep, subjects: Sequence[ResolvedModel]) -> list[ResolvedModel]:
    """The models whose axes all have a size; PlanError names the axes of all that lack one.

    Of a glob's many files, those that lack one end as rows that say so.
    """
    missing = {s.model: _missing(sweep, s) for s in subjects if s.readable}
    some_complete = not all(missing.values())
    rows = {s.model for s in subjects if s.one_of_many and some_complete}
    _reject_missing({model: axes for model, axes in missing.items() if axes and model not in rows})
    return [unreadable(s.model) if missing.get(s.model) else s for s in subjects]


def _reject_missing(missing: Mapping[str, Sequence[str]]) -> None:
    if not missing:
        return
    axes_text = "; ".join(
        f"{', '.join(map(repr, axes))} of {model}" for model, axes in missing.items()
    )
    axes = dict.fromkeys(axis for axes in missing.values() for axis in axes)
    flags = " ".join(f"--axis {axis}=1" for axis in axes)
    raise PlanError(f"--axis: no size is known for {axes_text}", f"set the sizes, such as {flags}")


def points(sweep: Sweep, subject: ResolvedModel) -> Iterator[dict[str, int]]:
    """The sizes of its axes by name, in all combinations; sums follow from their addends."""
    plan_sizes = explicit_sizes(sweep, subject)
    defaults = {name: (size,) for name, size in subject.axes.items() if size is not None}
    axes = subject.axes if subject.axes_known else plan_sizes
    sums = {axis: addends for axis, addends in subject.sums.items() if axis not in plan_sizes}
    sizes = {name: plan_sizes.get(name) or defaults[name] for name in axes if name not in sums}
    for point in product(*sizes.values()):
        chosen = dict(zip(sizes, point, strict=True))
        prefill = _prefill(subject, chosen.get(subject.past, 1))
        chosen |= {axis: size for axis, size in prefill.items() if axis not in plan_sizes}
        complete = with_sums(chosen, sums)
        yield {name: complete[name] for name in axes}


def reject_unknown_axes(sweep: Sweep, subjects: Sequence[ResolvedModel]) -> None:
    """An axis that no model of the sweep has is a mistake; one that only some lack is not."""
    if not all(subject.readable and subject.axes_known for subject in subjects):
        return
    known_axes = dict.fromkeys(axis for subject in subjects for axis in subject.axes)
    for axis in sweep.axes:
        if axis not in known_axes:
            raise PlanError(
                f"none of the models has an axis {axis!r}",
                suggestion(axis, known_axes) if known_axes else "all their sizes are fixed",
            )
    if any(size > 1 for size in sweep.batch_size) and not any(s.batch for s in subjects):
        raise PlanError("none of the models has an open batch axis", "remove --batch")
    if sweep.sequence_length and not any(subject.sequence for subject in subjects):
        raise PlanError(
            "none of the models has an open sequence axis", "name a sequence model (…_seq)"
        )


MINIMUM_SHAPES, MAXIMUM_SHAPES = 2, 64
LARGEST_SIZE = 2**31 - 1
_WEIGHT = "weight"
_MAXIMUM_BYTES = 8 << 20
_EXAMPLE = "begin it with a line such as batch,sequence or batch,weight"


def parts(
    sweep: Sweep, subjects: Sequence[ResolvedModel]
) -> Iterator[tuple[Sweep, Sequence[ResolvedModel], Condition]]:
    """The grid in parts: that of all conditions but shapes, then one for each file of shapes.

    The grid and the models of the latter lack the axes that the file gives sizes, and the condition
    has what is in it. PlanError for a file that can't be used, or not beside the rest of the plan.
    """
    conditions = {word: Condition.parse(word) for word in sweep.conditions}
    fixed_words = tuple(w for w, c in conditions.items() if c.kind != "shapes")
    if fixed_words:
        yield sweep.model_copy(update={"conditions": fixed_words}), subjects, NO_CONDITION
    for word, condition in conditions.items():
        if condition.kind != "shapes":
            continue
        _reject_batcher(sweep, word)
        shapes = read_shapes(condition.file)
        _reject_unknown(shapes, condition.file, subjects)
        if not fixed_words:
            _reject_double_sizes(sweep, subjects, shapes, word)
        axes = {name: sizes for name, sizes in sweep.axes.items() if name not in shapes.axes}
        yield (
            sweep.model_copy(update={"conditions": (word,), "axes": axes}),
            [_remove_axes(subject, shapes.axes) for subject in subjects],
            replace(condition, shapes=shapes),
        )


def read_shapes(path: str) -> Shapes:
    """What the file holds, the weights of equal lines added; PlanError says what is wrong in it."""
    try:
        text = read_file(user_path(path), most_bytes=_MAXIMUM_BYTES).decode("utf-8-sig")
        rows = list(csv.reader(text.splitlines()))
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or (
            str(error) if isinstance(error, csv.Error) else "it is no text"
        )
        raise PlanError(f"the shapes in {path} can't be read ({reason})", "give a CSV") from None
    lines = [(row, number) for number, row in enumerate(rows, 1) if row]
    if not lines:
        raise PlanError(f"{path} is empty", _EXAMPLE)
    header = [name.strip() for name in lines[0][0]]
    axes = tuple(name for name in header if name != _WEIGHT)
    if not axes or "" in axes or len(set(header)) < len(header):
        raise PlanError(f"the first line of {path} names no axes, or one twice", _EXAMPLE)
    weights: dict[tuple[int, ...], float] = {}
    for row, number in lines[1:]:
        if len(row) != len(header):
            raise PlanError(
                f"line {number} of {path} has {len(row)} values for {len(header)} columns",
                "give each column one",
            )
        cells = dict(zip(header, row, strict=True))
        sizes = tuple(_size(cells[axis], axis, number, path) for axis in axes)
        weights[sizes] = weights.get(sizes, 0.0) + _weight(cells.get(_WEIGHT, "1"), number, path)
    if not MINIMUM_SHAPES <= len(weights) <= MAXIMUM_SHAPES:
        few = len(weights) < MINIMUM_SHAPES
        raise PlanError(
            f"{path} has {len(weights)} different shapes, and a session is given "
            f"{MINIMUM_SHAPES} to {MAXIMUM_SHAPES}",
            "measure one shape with --batch or --axis" if few else "give the most frequent",
        )
    return Shapes(axes, tuple(weights), tuple(weights.values()))


def _remove_axes(subject: ResolvedModel, axes: Sequence[str]) -> ResolvedModel:
    """The model as one that does not have these axes."""
    return replace(
        subject,
        axes={name: size for name, size in subject.axes.items() if name not in axes},
        batch=None if subject.batch in axes else subject.batch,
        sequence=None if subject.sequence in axes else subject.sequence,
    )


def _reject_batcher(sweep: Sweep, condition_text: str) -> None:
    if any(word != NO_BATCHER for word in sweep.batcher):
        raise PlanError(
            f"a batcher makes batches by itself, and {condition_text} gives sizes",
            "leave one of them out",
        )


def _reject_unknown(shapes: Shapes, path: str, subjects: Iterable[ResolvedModel]) -> None:
    for subject in subjects:
        unknown_axes = [axis for axis in shapes.axes if axis not in subject.axes]
        if unknown_axes and subject.readable and subject.axes_known:
            raise PlanError(
                f"{path} has sizes of {unknown_axes[0]!r}, and {subject.model} has no such axis",
                suggestion(unknown_axes[0], tuple(subject.axes))
                if subject.axes
                else "name another",
            )


def _reject_double_sizes(
    sweep: Sweep, subjects: Iterable[ResolvedModel], shapes: Shapes, condition_text: str
) -> None:
    """A size that no case would have; beside another condition it is that one's."""
    plan_axes: set[str | None] = set(sweep.axes)
    for subject in subjects:
        plan_axes |= {subject.batch} if sweep.batch_size else set()
        plan_axes |= {subject.sequence} if sweep.sequence_length else set()
    if duplicates := [axis for axis in shapes.axes if axis in plan_axes]:
        raise PlanError(
            f"{condition_text} gives {duplicates[0]!r} its sizes, and so does the plan",
            "leave the plan's out",
        )


def _size(text: str, axis: str, number: int, path: str) -> int:
    try:
        size = int(text)
    except ValueError:
        size = 0
    if not 1 <= size <= LARGEST_SIZE:
        raise PlanError(
            f"line {number} of {path} has {text.strip()!r} as the size of {axis!r}",
            f"give an integer from 1 to {LARGEST_SIZE}",
        )
    return size


def _weight(text: str, number: int, path: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not (math.isfinite(weight) and weight > 0):
        raise PlanError(
            f"line {number} of {path} has the weight {text.strip()!r}",
            "give a number above 0, or leave the line out",
        )
    return weight
