"""The table at the end of a sweep: measured rows, and published figures under them.

What is the same in every row is told once, in the caption. Where there is no room for all
columns those go that matter least, and names are folded; figures never are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.cases.axes import AXES
from app.cases.columns import BY_NAME, Row, Value
from app.cases.errors import PlanError, suggestion
from app.cases.status import STATUSES, Tone
from app.results import text
from app.results.labels import model_labels, unusual_options
from app.results.plain import printable
from app.results.published import Published, published_for

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

_VARIABLE = (
    *(axis.column for axis in AXES),
    "sequence_length",
    "options",
    "clock",
    "accuracy_top1",
)
_STYLES: dict[Tone, str] = {"good": "green", "doubtful": "yellow", "bad": "red"}
_PUBLISHED = "dim"
_GAP = 2
_NAME_WIDTH = 24
"""A name may take so much before columns go for its sake."""
_SHORT_NAME = 12
"""A name is folded to this before what tells rows apart gives up its columns."""
_HEADINGS = {
    "model": "model",
    "parameters": "parameters",
    "batch": "batch_size",
    "runtime": "runtime",
    "mean": "latency_mean_us",
    "p50": "latency_p50_us",
    "p99": "latency_p99_us",
    "status": "status",
}


@dataclass(frozen=True, slots=True)
class _Column:
    """`cells` gives a row's text. Where there is no room for all, the least `spare` is fitted in
    first; 0 stays. A name may be folded, a figure may not."""

    heading: str
    cells: Callable[[Row], str]
    published: Callable[[Published], str] = lambda _: ""
    spare: int = 0
    figure: bool = False


def sort_column(word: str) -> str:
    """The column that --sort names: one of results.csv, or a heading of the table; PlanError."""
    column = _HEADINGS.get(word, word)
    if column not in BY_NAME:
        remedy = suggestion(word, [*_HEADINGS, *BY_NAME])
        raise PlanError(f"--sort {word} is no column", remedy)
    return column


def in_order(rows: Sequence[Row], column: str) -> list[Row]:
    """The rows by one column, the better figures first and what was not measured last."""
    best_last = BY_NAME[column].better == "higher"
    known = [row for row in rows if row[column] is not None]
    known.sort(key=lambda row: _sortable(row[column]), reverse=best_last)
    return known + [row for row in rows if row[column] is None]


def row_table(rows: Sequence[Row], marks: Mapping[str, str], width: int, sort: str = "") -> Table:
    """A rich table of the rows, grouped by model in the plan's order, or as `sort` has them.

    `marks` are the numbers of the notes on a row, by its case id; a row with any is not shown
    as if all were well.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    figures = {model: published_for(str(model)) for model in _distinct(rows, "model")}
    columns, caption = _fitting(rows, marks, [f for some in figures.values() for f in some], width)
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - 1, 0, 0),
        caption=Text(caption),
        caption_justify="left",
    )
    for column in columns:
        justify: JustifyMethod = "right" if column.figure else "left"
        table.add_column(column.heading, justify=justify, no_wrap=column.figure, overflow="fold")
    ordered = in_order(rows, sort) if sort else rows
    for group in [ordered] if sort else _groups(ordered):
        for row in group:
            cells = [Text(column.cells(row)) for column in columns]
            cells[-1].stylize(_STYLES[_tone(row, marks)])
            table.add_row(*cells)
        for model in _distinct(group, "model"):
            for figure in figures[model]:
                table.add_row(*(Text(c.published(figure)) for c in columns), style=_PUBLISHED)
    return table


def _fitting(
    rows: Sequence[Row], marks: Mapping[str, str], published: Sequence[Published], width: int
) -> tuple[list[_Column], str]:
    """The columns that there is room for, and the caption with what is the same in all rows."""
    varied, common = _varied(rows)
    labels = model_labels(str(row["model"]) for row in rows)
    columns = [
        _Column("model", lambda row: printable(labels[str(row["model"])])),
        _Column("parameters", lambda r: text.count(_whole(r["parameters"])), spare=3, figure=True),
        _Column("batch", lambda row: text.count(_whole(row["batch_size"])), figure=True),
        _Column("runtime", lambda row: printable(str(row["runtime"])), lambda f: f.device),
        *(_Column(_heading(name), _shown_as(name)) for name in varied),
        _Column(
            "mean",
            lambda row: _latency(row, "mean"),
            lambda f: text.latency(f.mean_us) if f.mean_us else text.rate_text(f.throughput_per_s),
            spare=0 if published else 2,
            figure=True,
        ),
        _Column("p50", lambda row: _latency(row, "p50"), figure=True),
        _Column(
            "p99",
            lambda row: _latency(row, "p99"),
            lambda figure: text.latency(figure.p99_us) if figure.p99_us else "",
            figure=True,
        ),
        _Column("p50 95 % interval", _interval, spare=1, figure=True),
        _Column(
            "status",
            lambda row: f"{row['status']} {marks.get(str(row['case_id']), '')}".rstrip(),
            lambda figure: f"published ({figure.conditions})",
        ),
    ]
    sizes = {row["batch_size"] for row in rows}
    if _too_wide(columns, rows, published, width) and len(sizes) == 1:
        columns = [column for column in columns if column.heading != "batch"]
        common += [f"batch {size}" for size in sizes if size is not None]
    kept = {0}
    for spare in (1, 2, 3):
        fuller = [column for column in columns if column.spare in kept | {spare}]
        if not _too_wide(fuller, rows, published, width):
            kept.add(spare)
    columns = [column for column in columns if column.spare in kept]
    if _too_wide(columns, rows, published, width, _SHORT_NAME):
        columns = _below_the_runtime(columns, varied)
    return columns, "every measured row: " + ", ".join(common) if common else ""


def _below_the_runtime(columns: Sequence[_Column], varied: Sequence[str]) -> list[_Column]:
    """The same with what tells rows apart under the runtime's name, instead of in columns."""

    def cells(row: Row) -> str:
        told = " ".join(filter(None, (_shown_as(name)(row) for name in varied)))
        runtime = printable(str(row["runtime"]))
        return f"{runtime}\n{told}" if told else runtime

    folded = {_heading(name) for name in varied}
    return [
        replace(column, cells=cells) if column.heading == "runtime" else column
        for column in columns
        if column.heading not in folded
    ]


def _too_wide(
    columns: Sequence[_Column],
    rows: Sequence[Row],
    published: Sequence[Published],
    width: int,
    name_width: int = _NAME_WIDTH,
) -> bool:
    from rich.cells import cell_len

    needed = -_GAP
    for column in columns:
        shown = [column.cells(row) for row in rows] + [column.published(f) for f in published]
        own = max(map(cell_len, [column.heading, *shown]))
        needed += _GAP + (own if column.figure else min(own, name_width))
    return needed > width


def _varied(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """The optional columns that differ between rows, and the others with their one value."""
    varied, common = [], []
    for column in _VARIABLE:
        # Options left out are the defaults; anything else left out was not come to.
        values = {_shown_as(column)(row) for row in rows}
        values -= {""} if column != "options" or values == {""} else set()
        if len(values) > 1:
            varied.append(column)
        elif values:
            common.append(f"{_heading(column)} {values.pop()}")
    return varied, common


def _heading(column: str) -> str:
    return BY_NAME[column].title.lower()


def _shown_as(column: str) -> Callable[[Row], str]:
    def shown(row: Row) -> str:
        value = row[column]
        if column == "scenario" and row["gap_us"] is not None:
            return f"{value}:{row['gap_us']:g}us"
        if column == "options":
            return printable(unusual_options(str(row["runtime"]), str(value or "")))
        if column == "accuracy_top1" and isinstance(value, float):
            return f"{100 * value:.1f} %"
        if column == "precision" and value is None:
            value = row["precision_asked"]  # nothing was executed
        return "" if value is None else printable(str(value))

    return shown


def _tone(row: Row, marks: Mapping[str, str]) -> Tone:
    tone = next(facts.tone for name, facts in STATUSES.items() if name == row["status"])
    return "doubtful" if tone == "good" and str(row["case_id"]) in marks else tone


def _latency(row: Row, name: str) -> str:
    return text.latency(_number(row[f"latency_{name}_us"]))


def _interval(row: Row) -> str:
    low, high = (_number(row[f"latency_p50_ci_{end}_us"]) for end in ("low", "high"))
    return text.interval(low, high)


def _groups(rows: Sequence[Row]) -> Iterable[list[Row]]:
    for model in _distinct(rows, "model"):
        yield [row for row in rows if row["model"] == model]


def _distinct(rows: Sequence[Row], column: str) -> list[Value]:
    return list(dict.fromkeys(row[column] for row in rows))


def _sortable(value: Value) -> tuple[float, str]:
    return (float(value), "") if isinstance(value, (int, float)) else (0.0, str(value))


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _whole(value: Value) -> int | None:
    return value if isinstance(value, int) else None
