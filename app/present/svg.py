"""Figures drawn as SVG: for a page, whose style sheet has the colours, and as a file of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, pairwise

from app.formatting.text import printable
from app.present.figure import (
    Figure,
    Mark,
    ReferenceLine,
    Series,
    tick_text,
)
from app.present.svg_layout import (
    LINE,
    SIZE,
    Frame,
    axis_ticks,
    frame_of,
    legend_places,
    text_width,
)


def safe_text(text: str) -> str:
    """Text that a page or picture shows as it is; of control characters XML has hardly any form."""
    return escape(printable(text))


def element(name: str, attributes: Mapping[str, str], content: str | None = None) -> str:
    """An element with its attributes escaped; `content` is escaped already, and None where there
    can be none."""
    attribute_text = "".join(f' {key}="{safe_text(value)}"' for key, value in attributes.items())
    if content is None:
        return f"<{name}{attribute_text}/>"
    return f"<{name}{attribute_text}>{content}</{name}>"


FILE_WIDTH = 800
_DASHES = ("", "6 3", "2 3", "8 3 2 3")


@dataclass(frozen=True, slots=True)
class Look:
    """Colours as SVG or a style sheet names them."""

    ink: str
    quiet: str
    line: str
    background: str
    ok: str
    error: str
    colors: tuple[str, ...]

    def tone(self, tone: str) -> str:
        return {"ok": self.ok, "error": self.error}.get(tone, self.quiet)

    def color(self, series: Series) -> str:
        return self.colors[series.color % len(self.colors)]


# After Okabe and Ito's palette, which stays apart for those who see fewer colours, each darkened
# until it has a contrast of 3 on white. https://jfly.uni-koeln.de/color/
FILE_LOOK = Look(
    "#1b1f24",
    "#5b6470",
    "#d5dae0",
    "#ffffff",
    "#0b7a4b",
    "#b42318",
    ("#0072b2", "#c25200", "#00795a", "#a8508a", "#8a6a00", "#3d7fb5", "#5f5f5f"),
)
PAGE_LOOK = Look(
    "var(--ink)",
    "var(--quiet)",
    "var(--line)",
    "var(--back)",
    "var(--ok)",
    "var(--error)",
    tuple(f"var(--c{number})" for number in range(len(FILE_LOOK.colors))),
)


def svg(figure: Figure, width: int) -> str:
    """The figure as an element of a page, whose caption is its title."""
    frame = frame_of(figure, width, titled=False)
    attributes = {
        "class": "plot",
        "viewBox": f"0 0 {width} {frame.height:.0f}",
        "width": str(width),
        "height": f"{frame.height:.0f}",
        "role": "img",
        "aria-label": figure.title,
        "font-size": str(SIZE),
    }
    return element("svg", attributes, "".join(_figure(figure, frame, PAGE_LOOK)))


def svg_document(figures: Sequence[Figure], width: int = FILE_WIDTH) -> bytes:
    """A file with the figures one above the other, each with its title."""
    frames = [frame_of(figure, width, titled=True) for figure in figures]
    height = sum(frame.height for frame in frames)
    size = {"width": str(width), "height": f"{height:.0f}"}
    parts = [element("rect", {**size, "fill": FILE_LOOK.background})]
    top = 0.0
    for figure, frame in zip(figures, frames, strict=True):
        place = {"transform": f"translate(0 {top:.0f})"}
        parts.append(element("g", place, "\n".join(_figure(figure, frame, FILE_LOOK))))
        top += frame.height
    attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        **size,
        "viewBox": f"0 0 {width} {height:.0f}",
        "font-family": "sans-serif",
        "font-size": str(SIZE),
    }
    return (element("svg", attributes, "\n".join(parts)) + "\n").encode("utf-8")


def _short(coordinate: float) -> str:
    """In tenths of a pixel: a page has a hundred thousand of them."""
    return f"{coordinate:.1f}".removesuffix(".0")


def _figure(figure: Figure, frame: Frame, look: Look) -> Iterator[str]:
    if frame.titled:
        for number, line in enumerate(frame.title_lines):
            yield _text(10, LINE * (number + 1), line, look.ink, weight="bold")
    for region in figure.regions:
        left, right = frame.x(region.low), frame.x(region.high)
        box = _box(left, frame.top, right - left, frame.bottom - frame.top)
        yield element("rect", {**box, "fill": look.error, "fill-opacity": "0.12"})
    yield from _x_axis(figure, frame, look)
    y_axis = _svg_names if figure.is_by_name else _y_axis
    yield from y_axis(figure, frame, look)
    for reference in figure.references:
        yield from _reference(reference, frame, look)
    for series in figure.series:
        yield _series(figure, series, frame, look)
    yield from _legend(figure, frame, look)
    for number, text in enumerate(frame.note_lines):
        yield _text(10, frame.note_top + LINE * (number + 1), text, look.quiet)


def _x_axis(figure: Figure, frame: Frame, look: Look) -> Iterator[str]:
    for place, text in axis_ticks(figure.x, frame.x):
        x = frame.x(place)
        yield _line(x, frame.top, x, frame.bottom, look.line)
        yield _text(x, frame.bottom + LINE, text, look.quiet, "middle")
    middle = (frame.left + frame.right) / 2
    for number, text in enumerate(frame.x_title_lines):
        yield _text(middle, frame.bottom + LINE * (number + 2) + 4, text, look.ink, "middle")


def _y_axis(figure: Figure, frame: Frame, look: Look) -> Iterator[str]:
    if figure.y.title:
        yield _text(10, frame.y_title_at, figure.y.title, look.ink)
    ticks = figure.y.ticks or [
        (tick, tick_text(figure.y, tick)) for tick in frame.y.ticks(frame.maximum_y_ticks)
    ]
    for place, text in ticks:
        y = frame.y(place)
        yield _line(frame.left, y, frame.right, y, look.line)
        yield _text(frame.left - 8, y + 4, text, look.quiet, "end")


def _svg_names(figure: Figure, frame: Frame, look: Look) -> Iterator[str]:
    """Left of the marks, or above them; a long one in several lines."""
    for place, lines in enumerate(frame.names):
        if frame.is_stacked:
            top = frame.top + frame.row_height * place
            yield _line(frame.left, top, frame.right, top, look.line)
            for number, line in enumerate(lines):
                yield _text(
                    frame.left, top + LINE * (number + 1), line, look.ink, halo=look.background
                )
            continue
        y = frame.place(place)
        yield _line(frame.left, y, frame.right, y, look.line)
        for number, line in enumerate(lines):
            down = y + 4 + LINE * (number - (len(lines) - 1) / 2)
            yield _text(frame.left - 8, down, line, look.ink, "end")


def _reference(line: ReferenceLine, frame: Frame, look: Look) -> Iterator[str]:
    color = look.tone(line.tone)
    if line.axis == "y":
        position = frame.place(line.value)
        yield _line(frame.left, position, frame.right, position, color, "4 3")
        yield _text(frame.left + 4, position - 4, line.label, color)
        return
    position = frame.x(line.value)
    yield _line(position, frame.top, position, frame.bottom, color, "4 3")
    fits = position + text_width(line.label) <= frame.right
    yield _text(position, frame.top - 6, line.label, color, "start" if fits else "end")


def _series(figure: Figure, series: Series, frame: Frame, look: Look) -> str:
    color = look.color(series)
    attributes = {"fill": color, "stroke": color}
    if series.cases:
        attributes["data-cases"] = " ".join(series.cases)
    parts: list[str] = []
    if series.kind in ("line", "steps"):
        parts.append(_path(series, frame))
    for mark in series.marks:
        if series.kind == "bars":
            parts.append(_bar(mark, series, frame, look))
        elif series.kind != "steps":
            parts += _interval(figure, mark, frame)
            parts.append(_symbol(mark, series, frame, look))
        if mark.label:
            end = mark.high if mark.high is not None and figure.is_by_name else mark.x
            place = frame.x(max(end, mark.x)) + 8
            parts.append(_text(place, frame.place(mark.y) + 4, mark.label, look.quiet))
    return element("g", attributes, "".join(parts))


def _path(series: Series, frame: Frame) -> str:
    """A line from mark to mark; steps are level until the next mark."""
    places = [(frame.x(mark.x), frame.place(mark.y)) for mark in series.marks]
    if series.kind == "steps":
        corners = [((x, previous_y), (x, y)) for (_, previous_y), (x, y) in pairwise(places)]
        places = [*places[:1], *chain.from_iterable(corners)]
    attributes = {
        "points": " ".join(f"{_short(x)},{_short(y)}" for x, y in places),
        "fill": "none",
        "stroke-width": "1.6",
    }
    if dash := _DASHES[series.dash % len(_DASHES)]:
        attributes["stroke-dasharray"] = dash
    title = _title(series.name) if series.kind == "steps" else ""
    return element("polyline", attributes, title)


def _bar(mark: Mark, series: Series, frame: Frame, look: Look) -> str:
    bar_height = max(2.0, frame.lane_height * series.thickness)
    left, right = sorted((frame.x(mark.start), frame.x(mark.x)))
    box = _box(left, frame.place(mark.y) - bar_height / 2, max(right - left, 0.5), bar_height)
    if mark.is_hollow:
        box["fill"] = look.background
    elif series.is_pale:
        box |= {"fill-opacity": "0.35", "stroke": "none"}
    else:
        box["stroke"] = "none"
    return element("rect", box, _title(mark.text))


def _interval(figure: Figure, mark: Mark, frame: Frame) -> Iterator[str]:
    if mark.low is None or mark.high is None:
        return
    if figure.is_by_name:
        position = frame.place(mark.y)
        left, right = frame.x(mark.low), frame.x(mark.high)
        top = position - 4
        path = f"M{_short(left)} {_short(position)}H{_short(right)}"
        path += f"M{_short(left)} {_short(top)}v8M{_short(right)} {_short(top)}v8"
    else:
        position = frame.x(mark.x)
        low, high = frame.place(mark.low), frame.place(mark.high)
        caps = f"M{_short(position - 4)} {_short(low)}h8M{_short(position - 4)} {_short(high)}h8"
        path = f"M{_short(position)} {_short(low)}V{_short(high)}{caps}"
    yield element("path", {"d": path, "fill": "none", "stroke-width": "1.6"})


def _symbol(mark: Mark, series: Series, frame: Frame, look: Look) -> str:
    hollow = {"fill": look.background} if mark.is_hollow else {}
    return _shape(series, frame.x(mark.x), frame.place(mark.y), hollow, _title(mark.text))


def _shape(
    series: Series, center_x: float, down: float, attributes: Mapping[str, str], title: str = ""
) -> str:
    if series.symbol == "none":
        return ""
    if series.symbol == "circle":
        place = {"cx": f"{_short(center_x)}", "cy": f"{_short(down)}", "r": "4"}
        return element("circle", {**place, **attributes}, title)
    diamond, cross = "l5 5 -5 5 -5 -5z", "m-4 1l8 8m-8 0l8-8"
    path = (
        f"M{_short(center_x)} {_short(down - 5)}{diamond if series.symbol == 'diamond' else cross}"
    )
    return element("path", {"d": path, **attributes}, title)


def _legend(figure: Figure, frame: Frame, look: Look) -> Iterator[str]:
    for series, (left, line, text) in legend_places(figure, frame.width):
        down = frame.legend_top + LINE * (line + 1)
        parts = [*_sample(series, left, down, look), _text(left + 26, down, text, look.ink)]
        cases = {"data-cases": " ".join(series.cases)} if series.cases else {}
        yield element("g", cases, "".join([_title(series.name), *parts]))


def _sample(series: Series, left: float, down: float, look: Look) -> Iterator[str]:
    """What the series looks like, before its name."""
    color = look.color(series)
    if series.kind == "bars":
        pale = {"fill-opacity": "0.35"} if series.is_pale else {}
        yield element("rect", {**_box(left, down - 9, 18, 9), "fill": color, **pale})
        return
    if series.kind != "points":
        dash = _DASHES[series.dash % len(_DASHES)]
        yield _line(left, down - 4, left + 20, down - 4, color, dash, 1.6)
    if series.kind != "steps":
        yield _shape(series, left + 10, down - 4, {"fill": color})


def _box(left: float, top: float, width: float, height: float) -> dict[str, str]:
    return {
        "x": f"{_short(left)}",
        "y": f"{_short(top)}",
        "width": f"{_short(width)}",
        "height": f"{_short(height)}",
    }


def _line(
    x1: float, y1: float, x2: float, y2: float, color: str, dash: str = "", width: float = 1.0
) -> str:
    attributes = {
        "x1": f"{_short(x1)}",
        "y1": f"{_short(y1)}",
        "x2": f"{_short(x2)}",
        "y2": f"{_short(y2)}",
    }
    attributes |= {"stroke": color, "stroke-width": f"{width:g}"}
    return element("line", attributes | ({"stroke-dasharray": dash} if dash else {}))


def _text(
    x: float,
    y: float,
    text: str,
    color: str,
    anchor: str = "start",
    weight: str = "",
    halo: str = "",
) -> str:
    """A `halo` keeps what is behind the text off it."""
    attributes = {"x": f"{_short(x)}", "y": f"{_short(y)}", "fill": color, "stroke": "none"}
    if anchor != "start":
        attributes["text-anchor"] = anchor
    if weight:
        attributes["font-weight"] = weight
    if halo:
        attributes |= {"stroke": halo, "stroke-width": "4", "paint-order": "stroke"}
    return element("text", attributes, safe_text(text))


def _title(text: str) -> str:
    return element("title", {}, safe_text(text)) if text else ""
