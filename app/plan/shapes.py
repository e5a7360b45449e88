"""A user's file of shapes: a CSV whose header names axes, with a line for each request or shape.

The file is read while a plan is expanded, so that a run needs it no more.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from app.cases.batcher import NO_BATCHER
from app.cases.condition import NO_CONDITION, Condition
from app.cases.errors import PlanError, suggestion
from app.cases.shapes import Shapes
from app.plan.plan import Sweep
from app.plan.subjects import Subject
from exporters.regular import read_file, user_path

LEAST_SHAPES, MOST_SHAPES = 2, 64
LARGEST_SIZE = 2**31 - 1
_WEIGHT = "weight"
_MOST_BYTES = 8 << 20
_EXAMPLE = "begin it with a line such as batch,sequence or batch,weight"


def parts(
    sweep: Sweep, subjects: Sequence[Subject]
) -> Iterator[tuple[Sweep, Sequence[Subject], Condition]]:
    """The grid in parts: that of all conditions but shapes, then one for each file of shapes.

    The grid and the models of the latter lack the axes that the file gives sizes, and the condition
    has what is in it. PlanError for a file that can't be used, or not beside the rest of the plan.
    """
    asked = {word: Condition.parse(word) for word in sweep.conditions}
    fixed = tuple(word for word, condition in asked.items() if condition.kind != "shapes")
    if fixed:
        yield sweep.model_copy(update={"conditions": fixed}), subjects, NO_CONDITION
    for word, condition in asked.items():
        if condition.kind != "shapes":
            continue
        _refuse_batcher(sweep, word)
        shapes = read_shapes(condition.file)
        _refuse_unknown(shapes, condition.file, subjects)
        if not fixed:
            _refuse_given_twice(sweep, subjects, shapes, word)
        axes = {name: sizes for name, sizes in sweep.axes.items() if name not in shapes.axes}
        yield (
            sweep.model_copy(update={"conditions": (word,), "axes": axes}),
            [_without(subject, shapes.axes) for subject in subjects],
            replace(condition, shapes=shapes),
        )


def read_shapes(path: str) -> Shapes:
    """What the file holds, the weights of equal lines added; PlanError says what is wrong in it."""
    try:
        text = read_file(user_path(path), most_bytes=_MOST_BYTES).decode("utf-8-sig")
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
        told = dict(zip(header, row, strict=True))
        sizes = tuple(_size(told[axis], axis, number, path) for axis in axes)
        weights[sizes] = weights.get(sizes, 0.0) + _weight(told.get(_WEIGHT, "1"), number, path)
    if not LEAST_SHAPES <= len(weights) <= MOST_SHAPES:
        few, many = "measure one shape with --batch or --axis", "give the most frequent"
        raise PlanError(
            f"{path} has {len(weights)} different shapes, and a session is given "
            f"{LEAST_SHAPES} to {MOST_SHAPES}",
            few if len(weights) < LEAST_SHAPES else many,
        )
    return Shapes(axes, tuple(weights), tuple(weights.values()))


def _without(subject: Subject, axes: Sequence[str]) -> Subject:
    """The model as one that does not have these axes."""
    return replace(
        subject,
        axes={name: size for name, size in subject.axes.items() if name not in axes},
        batch=None if subject.batch in axes else subject.batch,
        sequence=None if subject.sequence in axes else subject.sequence,
    )


def _refuse_batcher(sweep: Sweep, told: str) -> None:
    if any(word != NO_BATCHER for word in sweep.batcher):
        raise PlanError(
            f"a batcher makes batches by itself, and {told} gives sizes", "leave one of them out"
        )


def _refuse_unknown(shapes: Shapes, path: str, subjects: Iterable[Subject]) -> None:
    for subject in subjects:
        unknown = [axis for axis in shapes.axes if axis not in subject.axes]
        if unknown and subject.readable and subject.told:
            raise PlanError(
                f"{path} has sizes of {unknown[0]!r}, and {subject.model} has no such axis",
                suggestion(unknown[0], tuple(subject.axes)) if subject.axes else "name another",
            )


def _refuse_given_twice(
    sweep: Sweep, subjects: Iterable[Subject], shapes: Shapes, told: str
) -> None:
    """A size that no case would have; beside another condition it is that one's."""
    given: set[str | None] = set(sweep.axes)
    for subject in subjects:
        given |= {subject.batch} if sweep.batch_size else set()
        given |= {subject.sequence} if sweep.sequence_length else set()
    if twice := [axis for axis in shapes.axes if axis in given]:
        raise PlanError(
            f"{told} gives {twice[0]!r} its sizes, and so does the plan", "leave the plan's out"
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
