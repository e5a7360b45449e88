"""The lines of a study's tables: the cases of a run by how they were measured.

A line is a runtime on a host with one set of settings. Its label has the settings in which the
lines of the run differ and no others, so that a run of one runtime and one setting reads like the
document's own table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from app.cases.axes import AXES
from app.cases.case import Case
from app.results.measured import Measured
from app.results.plain import printable

BATCH = "batch"
Lines = dict[str, list[Measured]]
"""By label, in the order of the plan."""


def lines_of(measured: Iterable[Measured], *, by_batch: bool = False) -> Lines:
    """The cases line by line; `by_batch` if a line has one batch size."""
    every = list(measured)
    words = [_words(one.case, by_batch) for one in every]
    counts = Counter(word for own in words for word in set(own))
    lines: Lines = {}
    for one, own in zip(every, words, strict=True):
        differing = [word for word in own if counts[word] < len(every)]
        label = printable(" ".join([one.case.runtime, *differing]))
        lines.setdefault(label, []).append(one)
    return lines


def case_at(line: Iterable[Measured], model: str, batch: int | None = None) -> Measured | None:
    """The first case of a model in a line, at a batch size if one is given; None without any."""
    return next(
        (
            one
            for one in line
            if one.case.model == model and batch in (None, one.case.axes.get(BATCH, 1))
        ),
        None,
    )


def batch_sizes(line: Iterable[Measured]) -> list[int]:
    """Ascending."""
    return sorted({one.case.axes.get(BATCH, 1) for one in line})


def _words(case: Case, by_batch: bool) -> list[str]:
    words = [axis.told(case) for axis in AXES]
    if by_batch and BATCH in case.axes:
        words.append(f"batch {case.axes[BATCH]}")
    words += [f"{name}={value}" for name, value in sorted(case.options.items())]
    words += [f"on {case.host}"] if case.host else []
    return [word for word in words if word]
