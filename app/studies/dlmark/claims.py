"""Two claims of dlmark's study, answered by the figures of a run.

It says that throughput increases with the batch size on logarithmic axes, and that the memory of
the device increases linearly with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from app.present.document import Block, Heading, Paragraph, Points
from app.results.measured import Measured
from app.studies.dlmark.cells import MEMORY, RATE, models
from app.studies.found import Found, figure
from app.studies.lines import BATCH, batch_sizes, lines_of

MORE, ALIKE = 1.1, 2.0
"""Throughput has grown from this ratio on; memory is linear if its slopes agree within this one."""


def claims(found: Found) -> Iterator[Block]:
    """For each line of the run how many networks bear out either claim."""
    answers = [
        sentence
        for label, line in lines_of(found.measured).items()
        for sentence in (
            _throughput(label, line, models(found)),
            _memory(label, line, models(found)),
        )
        if sentence
    ]
    if not answers:
        return
    yield Heading("The document's claims")
    yield Paragraph(
        "Throughput increases with the batch size, and memory increases linearly with it. "
        f"Throughput counts as increased from {MORE:g} times. Memory counts as linear if the "
        "growth by one image is the same from the smallest to the middle batch size as from there "
        f"to the largest, within a factor of {ALIKE:g}."
    )
    yield Points(tuple(answers))


def _throughput(label: str, line: Sequence[Measured], names: Sequence[str]) -> str:
    """The largest batch against the smallest; "" without two batch sizes."""
    sizes = batch_sizes(line)
    if len(sizes) < 2:
        return ""
    first, last = sizes[0], sizes[-1]
    curves = [_by_batch(line, model, RATE) for model in names]
    ratios = [own[last] / own[first] for own in curves if first in own and last in own]
    if not ratios:
        return ""
    rising = sum(_rises(own) for own in curves if first in own and last in own)
    return (
        f"{label}: throughput at batch {last} is over {MORE:g} times the throughput at batch "
        f"{first} in "
        f"{sum(ratio > MORE for ratio in ratios)} of {len(ratios)} networks and lower in "
        f"{sum(ratio < 1 for ratio in ratios)}; the median is {median(ratios):.2f} times. It "
        f"increases at every step in {rising}."
    )


def _memory(label: str, line: Sequence[Measured], names: Sequence[str]) -> str:
    """Two slopes of each network; "" without three batch sizes."""
    sizes = batch_sizes(line)
    if len(sizes) < 3:
        return ""
    low, middle, high = sizes[0], sizes[len(sizes) // 2], sizes[-1]
    curves = [_by_batch(line, model, MEMORY) for model in names]
    known = [own for own in curves if {low, middle, high} <= own.keys()]
    linear = sum(
        _are_alike(
            (own[middle] - own[low]) / (middle - low), (own[high] - own[middle]) / (high - middle)
        )
        for own in known
    )
    if not known:
        return ""
    return (
        f"{label}: memory is linear over the batch sizes {low}, {middle} and {high} in {linear} of "
        f"{len(known)} networks"
    )


def _are_alike(first: float, second: float) -> bool:
    return min(first, second) > 0 and max(first, second) <= ALIKE * min(first, second)


def _rises(by_batch: dict[int, float]) -> bool:
    values = [by_batch[batch] for batch in sorted(by_batch)]
    return all(values[place] < values[place + 1] for place in range(len(values) - 1))


def _by_batch(line: Sequence[Measured], model: str, column: str) -> dict[int, float]:
    return {
        one.case.axes.get(BATCH, 1): value
        for one in line
        if one.case.model == model and (value := figure(one, column)) is not None
    }
