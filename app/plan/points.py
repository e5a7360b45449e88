"""The sizes of a model's axes: those that a grid gives, else its own, in all combinations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from app.cases.errors import PlanError, suggestion
from app.plan.plan import Sweep
from app.plan.subjects import Subject, unreadable
from exporters.files.outline_request import with_sums


def given_sizes(sweep: Sweep, subject: Subject) -> dict[str, tuple[int, ...]]:
    """Axis name -> the sizes that the plan gives for it, in this model's own words."""
    given = dict(sweep.axes)
    if sweep.batch_size and subject.batch:
        given.setdefault(subject.batch, sweep.batch_size)
    if sweep.sequence_length and subject.sequence:
        given.setdefault(subject.sequence, sweep.sequence_length)
    return given


def assumed_sizes(sweep: Sweep, subject: Subject) -> Mapping[str, int]:
    """The axes that have a size only because it was assumed."""
    given = given_sizes(sweep, subject)
    return {
        axis: size
        for axis in subject.assumed
        if axis not in given and (size := subject.axes[axis]) is not None
    }


def _missing(sweep: Sweep, subject: Subject) -> list[str]:
    """The axes that neither the plan nor the model gives a size; sums follow from their addends."""
    given = given_sizes(sweep, subject)
    return [
        name
        for name, size in subject.axes.items()
        if size is None and not given.get(name) and name not in subject.sums
    ]


def with_sizes(sweep: Sweep, subjects: Sequence[Subject]) -> list[Subject]:
    """The models whose axes all have a size; PlanError names the axes of all that lack one.

    Of a glob's many files, those that lack one end as rows that say so.
    """
    missing = {s.model: _missing(sweep, s) for s in subjects if s.readable}
    some_complete = not all(missing.values())
    rows = {s.model for s in subjects if s.one_of_many and some_complete}
    _refuse_missing({model: axes for model, axes in missing.items() if axes and model not in rows})
    return [
        unreadable(subject.model) if missing.get(subject.model) else subject for subject in subjects
    ]


def _refuse_missing(missing: Mapping[str, Sequence[str]]) -> None:
    if not missing:
        return
    named = "; ".join(f"{', '.join(map(repr, axes))} of {model}" for model, axes in missing.items())
    axes = dict.fromkeys(axis for axes in missing.values() for axis in axes)
    flags = " ".join(f"--axis {axis}=1" for axis in axes)
    raise PlanError(f"--axis: no size is known for {named}", f"set the sizes, such as {flags}")


def points(sweep: Sweep, subject: Subject) -> Iterator[dict[str, int]]:
    """The sizes of its axes by name, in all combinations; sums follow from their addends."""
    given = given_sizes(sweep, subject)
    defaults = {name: (size,) for name, size in subject.axes.items() if size is not None}
    axes = subject.axes if subject.told else given
    sums = {axis: addends for axis, addends in subject.sums.items() if axis not in given}
    sizes = {name: given.get(name) or defaults[name] for name in axes if name not in sums}
    for point in product(*sizes.values()):
        complete = with_sums(dict(zip(sizes, point, strict=True)), sums)
        yield {name: complete[name] for name in axes}


def refuse_unknown_axes(sweep: Sweep, subjects: Sequence[Subject]) -> None:
    """An axis that no model of the sweep has is a mistake; one that only some lack is not."""
    if not all(subject.readable and subject.told for subject in subjects):
        return
    known = dict.fromkeys(axis for subject in subjects for axis in subject.axes)
    for axis in sweep.axes:
        if axis not in known:
            raise PlanError(
                f"none of the models has an axis {axis!r}",
                suggestion(axis, known) if known else "all their sizes are fixed",
            )
    if any(size > 1 for size in sweep.batch_size) and not any(s.batch for s in subjects):
        raise PlanError("none of the models has an open batch axis", "remove --batch")
    if sweep.sequence_length and not any(subject.sequence for subject in subjects):
        raise PlanError(
            "none of the models has an open sequence axis", "name a sequence model (…_seq)"
        )
