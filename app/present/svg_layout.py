"""Layout of a figure that is drawn as SVG: places of axes, rows, names and legend, in pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from app.present.figure import (
    Axis,
    Figure,
    Scale,
    Series,
    scale_of,
    tick_text,
    value_span,
)
from app.present.terminal import width_of_text

SIZE, LINE = 12, 16
"""Of the font and from line to line, in pixels."""
_CHARACTER = 6.6
"""As wide as a character is at most on average, of the usual fonts in this size."""
_MAXIMUM_NAME_SHARE = 0.36
"""Names that take a greater share of the width stand above their marks."""
_NARROW = 500
_PLOT, _NARROW_PLOT = 300, 240
_ROW, _LANE, _SPAN = 26, 24, 9
_TICK_ROOM, _TICK_HEIGHT = 24, 42


@dataclass(frozen=True, slots=True)
class Frame:
    """In pixels from the upper left corner."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x: Scale
    y: Scale
    titled: bool
    y_title_at: float
    title_lines: tuple[str, ...]
    x_title_lines: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    is_stacked: bool
    row_height: float
    lane_height: float
    legend_top: float
    note_top: float
    note_lines: tuple[str, ...]

    @property
    def maximum_y_ticks(self) -> int:
        return max(2, int((self.bottom - self.top) / _TICK_HEIGHT))

    def place(self, y: float) -> float:
        """A value of the y axis; of names the middle of their lane."""
        if not self.names:
            return self.y(y)
        row = math.floor(y + 0.5)
        label_height = self.row_height - self.lane_height
        return self.top + self.row_height * row + label_height + self.lane_height * (y + 0.5 - row)


def text_width(text: str) -> float:
    """As wide as a text is at most."""
    return _CHARACTER * width_of_text(text)


def axis_ticks(axis: Axis, scale: Scale) -> list[tuple[float, str]]:
    """Places and texts along x; a text that would stand on the one before is left out."""
    maximum_count = max(2, int((scale.end - scale.begin) / 64))
    ticks = axis.ticks or [(tick, tick_text(axis, tick)) for tick in scale.ticks(maximum_count)]
    visible: list[tuple[float, str]] = []
    free = -math.inf
    for place, text in ticks:
        half = text_width(text) / 2
        position = scale(place)
        if scale.minimum <= place <= scale.maximum and position - half >= free:
            visible.append((place, text))
            free = position + half + 8
    return visible


def frame_of(figure: Figure, width: int, titled: bool) -> Frame:
    """The frame of a drawing so wide; one that is `titled` has room for its title."""
    title_lines = _lines(figure.title, width - 20) if titled else ()
    extra_lines = bool(figure.y.title and not figure.is_by_name) + _has_labels_above(figure)
    top = 12.0 + LINE * (len(title_lines) + extra_lines)
    names, is_stacked = _names(figure, width)
    left = _left_edge(figure, names, is_stacked)
    labels = max((text_width(mark.label) for mark in figure.marks if mark.label), default=0.0)
    right = width - 16 - min(labels, 0.45 * width)
    row, lane = _row(figure, names, is_stacked)
    plot_height = row * len(names) if names else (_NARROW_PLOT if width < _NARROW else _PLOT)
    bottom = top + plot_height
    x = scale_of(figure.x, value_span(figure, "x"), left, right)
    y = scale_of(figure.y, value_span(figure, "y"), bottom, top)
    x_title = _lines(figure.x.title, right - left)
    legend_top = bottom + _TICK_ROOM + LINE * len(x_title)
    note_lines = _lines(figure.note, width - 20)
    lines = 1 + max((line for _, (_, line, _) in legend_places(figure, width)), default=-1)
    note_top = legend_top + LINE * lines + (6 if lines else 0)
    height = note_top + LINE * len(note_lines) + 12
    y_title_at = 8.0 + LINE * (len(title_lines) + 0.5)
    return Frame(
        width, height, left, right, top, bottom, x, y, titled, y_title_at, title_lines, x_title,
        names, is_stacked, row, lane, legend_top, note_top, note_lines,
    )  # fmt: skip


def legend_places(figure: Figure, width: float) -> Iterator[tuple[Series, tuple[float, int, str]]]:
    """Of each series in the legend of a drawing so wide the left end, the line and the text."""
    legend_series = [series for series in figure.series if series.has_legend]
    if len(legend_series) < 2 and not any(series.dash for series in legend_series):
        return
    left, line = 10.0, 0
    maximum_length = int((width - 46) / _CHARACTER)
    for series in legend_series:
        text = series.name
        if width_of_text(text) > maximum_length:
            text = f"{text[: maximum_length - 1]}…"
        room = 26 + text_width(text) + 18
        if left > 10 and left + room > width:
            left, line = 10.0, line + 1
        yield series, (left, line, text)
        left += room


def _names(figure: Figure, width: int) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """The names in lines, and whether they stand above their marks."""
    widest = max(map(text_width, figure.y.names), default=0.0)
    is_stacked = widest > _MAXIMUM_NAME_SHARE * width
    room = width - 30 if is_stacked else _MAXIMUM_NAME_SHARE * width
    return tuple(_lines(name, room) or ("",) for name in figure.y.names), is_stacked


def _has_labels_above(figure: Figure) -> bool:
    """Whether lines across x have labels, which stand above the plot."""
    return any(line.label for line in figure.references if line.axis == "x")


def _left_edge(figure: Figure, names: Sequence[Sequence[str]], is_stacked: bool) -> float:
    if is_stacked:
        return 14.0
    if names:
        return 18 + max(text_width(line) for lines in names for line in lines)
    span = value_span(figure, "y")
    scale = scale_of(figure.y, span, _PLOT, 0.0)
    texts = [text for _, text in figure.y.ticks]
    texts = texts or [tick_text(figure.y, tick) for tick in scale.ticks(int(_PLOT / _TICK_HEIGHT))]
    return 18 + max(map(text_width, texts), default=0.0)


def _row(figure: Figure, names: Sequence[Sequence[str]], is_stacked: bool) -> tuple[float, float]:
    """How high a name's place is, and the part of it that is for marks."""
    if not names:
        return 0.0, 0.0
    lanes: dict[int, set[float]] = {}
    for mark in figure.marks:
        lanes.setdefault(math.floor(mark.y + 0.5), set()).add(mark.y)
    lane = max(_LANE, _SPAN * max(map(len, lanes.values()), default=1))
    lines = max(map(len, names))
    return (LINE * lines + 4 + lane, lane) if is_stacked else (max(_ROW, LINE * lines, lane), lane)


def _lines(text: str, room: float) -> tuple[str, ...]:
    """The words of a text in lines that have room."""
    return tuple(wrap(text, max(8, int(room / _CHARACTER)))) if text else ()
