"""The sizes of a model's axes: those that a grid gives, else its own, in all combinations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from app.cases.errors import PlanError, suggestion
from app.plan.plan import Sweep
from app.plan.subjects import Subject, unreadable


def _asked(sweep: Sweep, subject: Subject) -> dict[str, tuple[int, ...]]:
    """Axis name -> the sizes that the plan gives for it, in this model's own words."""
    asked = dict(sweep.axes)
    if sweep.batch_size and subject.batch:
        asked.setdefault(subject.batch, sweep.batch_size)
    if sweep.sequence_length and subject.sequence:
        asked.setdefault(subject.sequence, sweep.sequence_length)
    return asked


def _missing(sweep: Sweep, subject: Subject) -> list[str]:
    """The axes that neither the plan nor the model gives a size."""
    asked = _asked(sweep, subject)
    return [n for n, size in subject.axes.items() if size is None and not asked.get(n)]


def without_sizes_as_rows(sweep: Sweep, subjects: Sequence[Subject]) -> list[Subject]:
    """An axis without a size is a mistake of the plan, but in a few of a glob's many files."""
    if all(_missing(sweep, subject) for subject in subjects if subject.readable):
        return list(subjects)
    return [
        unreadable(subject.model) if subject.one_of_many and _missing(sweep, subject) else subject
        for subject in subjects
    ]


def points(sweep: Sweep, subject: Subject) -> Iterator[dict[str, int]]:
    """The sizes of its axes by name, in all combinations; PlanError where one is left open."""
    asked = _asked(sweep, subject)
    defaults = {name: (size,) for name, size in subject.axes.items() if size is not None}
    axes = subject.axes if subject.told else asked
    sizes = {name: asked.get(name, defaults.get(name, ())) for name in axes}
    if missing := _missing(sweep, subject):
        flags = ["--batch 1,2,4" if n == subject.batch else f"--axis {n}=1,2,4" for n in missing]
        raise PlanError(
            f"{subject.model} leaves open how large {' and '.join(map(repr, missing))} is",
            f"set it with {' '.join(flags)}",
        )
    for point in product(*sizes.values()):
        yield dict(zip(sizes, point, strict=True))


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
        raise PlanError("none of the models has an open batch axis", "leave --batch out")
    if sweep.sequence_length and not any(subject.sequence for subject in subjects):
        raise PlanError(
            "none of the models has an open sequence axis", "name a sequence model (…_seq)"
        )
