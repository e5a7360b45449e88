"""Cells and figures that the parts of dlmark's study share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.comparison.measured_case import MeasuredCase
from app.formatting import text
from app.present.figure import Figure, Kind, Mark, Series, Symbol
from app.present.svg import FILE_LOOK, svg_document
from app.studies.study import Found, batch_sizes, case_at, figure

Points = tuple[tuple[float, float, str], ...]
"""(x, y, what the point is), ascending in x where they are joined."""
_COLORS = len(FILE_LOOK.colors)
_SYMBOLS: tuple[Symbol, ...] = ("circle", "diamond")


def series_of(points: Mapping[str, Points], kind: Kind = "line") -> tuple[Series, ...]:
    """A series for each name that has points, each with another colour, or other dashes and
    another symbol."""
    nonempty_lines = [(name, places) for name, places in points.items() if places]
    return tuple(
        Series(
            name,
            tuple(Mark(x, y, text) for x, y, text in places),
            kind,
            number % _COLORS,
            number // _COLORS,
            _SYMBOLS[number // _COLORS % len(_SYMBOLS)],
        )
        for number, (name, places) in enumerate(nonempty_lines)
    )


def picture_files(pictures: Mapping[str, Sequence[Figure]]) -> dict[str, bytes]:
    """Files by their names, of figures with two places or more; a name without any is left out."""
    files = {}
    for name, figures in pictures.items():
        visible_figures = [
            plot for plot in figures if len({(mark.x, mark.y) for mark in plot.marks}) > 1
        ]
        if visible_figures:
            files[name] = svg_document(visible_figures)
    return files


RATE, MEMORY = "throughput_per_s", "rss_peak_mib"


def models(results: Found) -> list[str]:
    """Those of the run, in the plan's order."""
    return list(dict.fromkeys(measurement.case.model for measurement in results.measured))


def over_batch(line: Sequence[MeasuredCase], model: str, column: str) -> Points:
    """(batch, figure, in words) of what a line measured of a network, ascending."""
    batch_values = (
        (batch, figure(case_at(line, model, batch), column)) for batch in batch_sizes(line)
    )
    return tuple(
        (float(batch), value, f"{model} at batch {batch}: {text.significant(value)}")
        for batch, value in batch_values
        if value is not None
    )


def percent(share: float | None) -> str:
    """Of a share from 0 to 1."""
    return text.NOT_MEASURED if share is None else f"{100 * share:.2f} %"


def mib(value: float | None) -> str:
    """Of MiB, without the unit."""
    return text.NOT_MEASURED if value is None else f"{value:,.0f}"
