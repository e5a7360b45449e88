"""Throughput and memory by batch size, dlmark's two claims, and its study as a whole."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.published_figures import zoo_rows
from app.formatting import text
from app.present.document import (
    Block,
    Column,
    Heading,
    Paragraph,
    Picture,
    Points,
    Table,
    names,
    table,
)
from app.present.figure import Axis, Figure
from app.present.studies.dlmark_parts import (
    ACCURACY,
    DEVICES,
    LARGEST,
    MEMORY,
    RATE,
    mib,
    models,
    over_batch,
    percent,
    picture_files,
    series_of,
)
from app.present.studies.study import (
    BATCH,
    Found,
    Study,
    Whole,
    batch_sizes,
    case_at,
    cell,
    figure,
    lines_of,
)

MORE, ALIKE = 1.1, 2.0
"""Throughput has grown from this ratio on; memory is linear if its slopes agree within this one."""


def claims(results: Found) -> Iterator[Block]:
    """For each line of the run how many networks bear out either claim."""
    answers = [
        sentence
        for label, line in lines_of(results.measured).items()
        for sentence in (
            _throughput(label, line, models(results)),
            _memory(label, line, models(results)),
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


def _throughput(label: str, line: Sequence[MeasuredCase], model_names: Sequence[str]) -> str:
    """The largest batch against the smallest; "" without two batch sizes."""
    sizes = batch_sizes(line)
    if len(sizes) < 2:
        return ""
    first, last = sizes[0], sizes[-1]
    curves = [_by_batch(line, model, RATE) for model in model_names]
    ratios = [curve[last] / curve[first] for curve in curves if first in curve and last in curve]
    if not ratios:
        return ""
    rising = sum(_rises(curve) for curve in curves if first in curve and last in curve)
    return (
        f"{label}: throughput at batch {last} is over {MORE:g} times the throughput at batch "
        f"{first} in "
        f"{sum(ratio > MORE for ratio in ratios)} of {text.counted(len(ratios), 'network')} and "
        "lower in "
        f"{sum(ratio < 1 for ratio in ratios)}; the median is {median(ratios):.2f} times. It "
        f"increases at every step in {rising}."
    )


def _memory(label: str, line: Sequence[MeasuredCase], model_names: Sequence[str]) -> str:
    """Two slopes of each network; "" without three batch sizes."""
    sizes = batch_sizes(line)
    if len(sizes) < 3:
        return ""
    low, middle, high = sizes[0], sizes[len(sizes) // 2], sizes[-1]
    curves = [_by_batch(line, model, MEMORY) for model in model_names]
    full_curves = [curve for curve in curves if {low, middle, high} <= curve.keys()]
    linear = sum(
        _are_alike(
            (curve[middle] - curve[low]) / (middle - low),
            (curve[high] - curve[middle]) / (high - middle),
        )
        for curve in full_curves
    )
    if not full_curves:
        return ""
    return (
        f"{label}: memory is linear over the batch sizes {low}, {middle} and {high} in {linear} of "
        f"{text.counted(len(full_curves), 'network')}"
    )


def _are_alike(first: float, second: float) -> bool:
    return min(first, second) > 0 and max(first, second) <= ALIKE * min(first, second)


def _rises(by_batch: dict[int, float]) -> bool:
    return all(by_batch[less] < by_batch[more] for less, more in pairwise(sorted(by_batch)))


def _by_batch(line: Sequence[MeasuredCase], model: str, column: str) -> dict[int, float]:
    return {int(batch): value for batch, value, _ in over_batch(line, model, column)}


_STUDY_BATCH = 64
"""The batch size at which it sets accuracy against throughput."""
_MAXIMUM_CURVES = 9
"""It draws a quarter of its networks, which are so many."""
_BY_BATCH, _PUBLISHED_FILE = "throughput.svg", "published-accuracy.svg"


def tables(results: Found) -> Iterator[Block]:
    """Tables of networks by batch size, what they say of the document's claims, and one with what
    is published beside the measured throughput."""
    yield Heading("Throughput by batch size (images/s)")
    yield Picture(
        _BY_BATCH, f"images a second and memory over batch, of {_MAXIMUM_CURVES} networks at most"
    )
    yield _throughput_by_batch(results, RATE, text.rate_text)
    yield Heading("Memory by batch size (MiB)")
    yield Paragraph(
        "The peak of host memory in the measuring process, with engine and weights. Engines keep "
        "memory in pools, so this is not an exact requirement."
    )
    yield _throughput_by_batch(results, MEMORY, mib)
    yield from claims(results)
    yield Heading("Published accuracy against throughput")
    batch = _common_batch(results)
    if batch is None:
        yield Paragraph("No network has been measured.")
        return
    instead = "" if batch == _STUDY_BATCH else f", which most have; the study has {_STUDY_BATCH}"
    yield Paragraph(
        f"Throughput is measured here, with random weights, at batch {batch}{instead}. Top-1 is "
        "published, for trained networks on ImageNet's validation set, and not measured here."
    )
    yield Picture(
        _PUBLISHED_FILE, "published top-1 over the images a second that were measured here"
    )
    lines = lines_of(results.measured)
    columns = (
        *names("model", "family"),
        *(Column("images/s, measured", label if len(lines) > 1 else "") for label in lines),
        Column("top-1, published"),
    )
    model_names = set(models(results))
    rows = [
        (
            row.model,
            row.family,
            *(
                cell(case_at(line, row.model, batch), RATE, text.rate_text)
                for line in lines.values()
            ),
            percent(row.top1),
        )
        for row in zoo_rows()
        if row.model in model_names
    ]
    yield table(columns, rows)


def files(results: Found) -> Mapping[str, bytes]:
    """The pictures of what was measured, those of each line below each other."""
    model_names = models(results)
    plotted_models = model_names[:: math.ceil(len(model_names) / _MAXIMUM_CURVES)]
    lines = lines_of(results.measured)
    by_batch = tuple(
        Figure(
            f"{title}: {label}" if len(lines) > 1 else title,
            Axis("batch size", "count", "log"),
            Axis(y_title, "count", "log"),
            series_of({model: over_batch(line, model, column) for model in plotted_models}),
        )
        for label, line in lines.items()
        for title, y_title, column in (
            ("Throughput by batch size", "images per second", RATE),
            ("Memory by batch size", "MiB", MEMORY),
        )
    )
    batch = _common_batch(results) or 1
    published_figures = tuple(
        _accuracy_figure(line, batch, f", {label}" if len(lines) > 1 else "")
        for label, line in lines.items()
    )
    return picture_files({_BY_BATCH: by_batch, _PUBLISHED_FILE: published_figures})


def _throughput_by_batch(
    results: Found, column: str, as_text: Callable[[float | None], str]
) -> Table:
    """A line for each network and way of measuring, a column for each batch size."""
    sizes, lines = batch_sizes(results.measured), lines_of(results.measured)
    several = len(lines) > 1
    rows = tuple(
        (
            model,
            *([label] if several else []),
            *(cell(case_at(line, model, batch), column, as_text) for batch in sizes),
        )
        for model in models(results)
        for label, line in lines.items()
    )
    titles = names("model", "device") if several else names("model")
    return table((*titles, *(Column(str(size)) for size in sizes)), rows)


def _common_batch(results: Found) -> int | None:
    """The one that most of the networks have; of several the largest, up to the study's own."""
    rated_cases = (
        measurement for measurement in results.measured if figure(measurement, RATE) is not None
    )
    counts = Counter(measurement.case.axes.get(BATCH, 1) for measurement in rated_cases)
    in_order = sorted(counts, key=lambda batch: (batch > _STUDY_BATCH, -batch))
    return max(in_order, key=lambda batch: counts[batch], default=None)


def _accuracy_figure(line: Sequence[MeasuredCase], batch: int, label: str) -> Figure:
    """A mark for each family, as the document colours them."""
    families: dict[str, list[tuple[float, float, str]]] = {}
    for row in zoo_rows():
        rate = figure(case_at(line, row.model, batch), RATE)
        if rate is not None and row.top1 is not None:
            told = f"{row.model}: {text.rate_text(rate)}, published top-1 {percent(row.top1)}"
            families.setdefault(row.family, []).append((rate, 100 * row.top1, told))
    return Figure(
        "Published top-1 accuracy over measured throughput",
        Axis(f"images per second at batch {batch}, measured{label}", "count", "log"),
        Axis("top-1, published", "percent"),
        series_of({name: tuple(points) for name, points in families.items()}, "points"),
    )


STUDY = Study(
    name="dlmark/throughput",
    title="Throughput and memory by batch size",
    repeats=(
        "The 34 networks of the Gluon model zoo, at each batch size on each device. Throughput is "
        "the batch over the mean time of a run in a closed loop."
    ),
    tables=tables,
    files=files,
)


WHOLE = Whole(
    name="dlmark",
    title="dlmark's convolutional networks",
    repeats=(
        "The study of MXNet's Gluon model zoo has four figures: throughput by batch size, the "
        "largest batch and memory, throughput by device, and accuracy against throughput. Each is "
        "reproduced here with the same architectures. Their weights are random, which does not "
        "change the speed. Accuracy is measured on networks that are trained; the zoo's accuracy "
        "is published, in a column of that name."
    ),
    parts=(STUDY, LARGEST, DEVICES, ACCURACY),
    shares=(0.4, 0.2, 0.2, 0.2),
)
