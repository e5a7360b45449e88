"""A figure as a table, for whoever has no pictures."""

from __future__ import annotations

from app.present.document import Cell, Column, Table
from app.present.figure import Axis, Figure, Mark
from app.present.scale import tick_text


def figure_table(figure: Figure) -> Table:
    """A row for each mark: its series, its place on both axes and its interval."""
    has_series = len(figure.series) > 1
    has_interval = any(mark.low is not None for mark in figure.marks)
    values = figure.x if figure.is_by_name else figure.y
    columns = [Column("series", is_name=True)] if has_series else []
    columns += [_column(figure.x), _column(figure.y)]
    columns += [Column("low"), Column("high")] if has_interval else []
    rows = []
    for series in figure.series:
        for mark in series.marks:
            cells: list[Cell | str] = [series.name] if has_series else []
            cells += [_cell(figure.x, mark.x), _cell(figure.y, mark.y)]
            cells += _interval(values, mark) if has_interval else []
            rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows), figure.note)


def _column(axis: Axis) -> Column:
    return Column(axis.title, is_name=bool(axis.names))


def _cell(axis: Axis, value: float) -> Cell | str:
    if axis.names:
        return axis.names[round(value)]
    text = next((text for place, text in axis.ticks if place == value), None)
    return Cell(text or tick_text(axis, value), value, unit=axis.unit)


def _interval(axis: Axis, mark: Mark) -> list[Cell | str]:
    ends = (mark.low, mark.high)
    return ["" if end is None else Cell(tick_text(axis, end), end, unit=axis.unit) for end in ends]
