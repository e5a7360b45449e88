"""Every row of a run as a table, with the columns that differ, and published figures below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.analysis.columns.table import BY_NAME, percentile_columns
from app.analysis.columns.table import column as column_of
from app.analysis.comparison.published_figures import Published, published_for
from app.cases.column import Row, Value, number_of, pairs_in
from app.cases.dimensions import DIMENSIONS, EMPTY_IS_VALUE, scenario_of
from app.cases.errors import PlanError, suggestion
from app.cases.status import TONES, Tone
from app.cases.units import DEFAULT, name_of, percentile_label, with_default_percentiles
from app.formatting import text
from app.formatting.case_labels import model_labels, unusual_options
from app.formatting.text import printable
from app.present.document import Cell, Column, Table, latency_cell, rate_cell
from app.run_folder.folder import RESULTS

_TABLE_DIMENSIONS = tuple(dimension for dimension in DIMENSIONS if dimension.table_column)
_TOP1 = "accuracy_top1"
_VARIABLE = (*(dimension.table_column for dimension in _TABLE_DIMENSIONS), _TOP1)
"""Columns that are shown where rows differ in them."""
_WHEN_VARIED = {one.table_column for one in _TABLE_DIMENSIONS if one.when_varied}
_SORTED_BY = {"batch": "batch_size", "mean": "latency_mean_us"}
"""The headings that are called otherwise in results.csv; percentiles are too."""
DEFAULT_PERCENTILES = ("p50", "p99")
"""The percentiles that have columns where a plan chose none."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """`cell` gives a row's text. Where there is no room for all, the least `spare` is fitted in
    first; 0 stays. A name may be folded, a figure may not: `figure` is the column of results.csv
    that it is the text of, "" for a name; of an interval its lower end."""

    heading: str
    cell: Callable[[Row], str]
    spare: int = 0
    figure: str = ""


def sort_column(word: str, percentiles: tuple[float, ...]) -> str:
    """The column that --sort names: one of results.csv, or a heading of the table; PlanError.

    `percentiles` are those of the plan: of others there are columns in other runs.
    """
    headings = {
        percentile_label(name_of(p)): f"latency_{name_of(p)}_us"
        for p in with_default_percentiles(percentiles)
    }
    headings |= _SORTED_BY
    column = headings.get(word, word)
    if column in BY_NAME or column in percentile_columns(percentiles):
        return column
    visible = map(percentile_label, shown_percentiles(percentiles))
    remedy = suggestion(word, [*visible, *_SORTED_BY, *BY_NAME])
    raise PlanError(f"--sort {word} is no column", remedy)


def shown_percentiles(percentiles: tuple[float, ...]) -> tuple[str, ...]:
    """The names of the percentiles that have columns in the table, for those of a plan."""
    return DEFAULT_PERCENTILES if percentiles == DEFAULT else tuple(map(name_of, percentiles))


def in_order(rows: Sequence[Row], column: str) -> list[Row]:
    """The rows by one column, the better figures first and what was not measured last."""
    definition = column_of(column)
    best_last = definition is not None and definition.better == "higher"
    present = [row for row in rows if row[column] is not None]
    present.sort(key=lambda row: _sortable(row[column]), reverse=best_last)
    return present + [row for row in rows if row[column] is None]


def _columns(
    rows: Sequence[Row], marks: Mapping[str, str], has_published: bool, percentiles: Sequence[str]
) -> list[TableColumn]:
    """Every column; `marks` are put behind the status. Of the `percentiles` the first two are
    always there, the others where they fit."""
    labels = model_labels(str(row["model"]) for row in rows)

    def status(row: Row) -> str:
        return f"{row['status']} {marks.get(str(row['case_id']), '')}".rstrip()

    return [
        TableColumn("model", lambda row: printable(labels[str(row["model"])])),
        _count("parameters", "parameters", spare=3),
        *[_count("batch", "batch_size")] * (len({row["batch_size"] for row in rows}) != 1),
        TableColumn("runtime", lambda row: printable(str(row["runtime"]))),
        *(
            TableColumn(heading(name), column_text(name), figure=name if name == _TOP1 else "")
            for name in varied_columns(rows)
        ),
        _number("mean", "latency_mean_us", spare=0 if has_published else 2),
        *(
            _number(
                percentile_label(name),
                f"latency_{name}_us",
                spare=0 if place < len(DEFAULT_PERCENTILES) else place,
            )
            for place, name in enumerate(percentiles)
        ),
        TableColumn("p50 95 % interval", _interval, 1, "latency_p50_ci_low_us"),
        *_level_columns(rows),
        *_throughput_columns(rows),
        *_deadline_columns(rows),
        TableColumn("status", status),
    ]


def varied_columns(rows: Sequence[Row]) -> list[str]:
    """The optional columns in which these rows differ."""
    return [column for column in _VARIABLE if len(_values(rows, column)) > 1]


def shared_settings(rows: Sequence[Row]) -> str:
    """`every measured case: threads 1, batch 1`: what all rows with timings have in common; "" for
    rows without. A size that some of their graphs do not have is not shared."""
    measured_rows = [row for row in rows if row["iterations"]]
    if not measured_rows:
        return ""
    columns = [column for column in (*_VARIABLE, "batch_size") if column not in _WHEN_VARIED]
    words = [
        f"{heading(column)} {texts.pop()}"
        for column in columns
        if len(texts := set(map(column_text(column), measured_rows))) == 1 and texts != {""}
    ]
    first, *rest = [set(pairs_in(row["axes"]).items()) for row in measured_rows]
    sizes = sorted(first.intersection(*rest))
    words += [f"{name} {size}" for name, size in sizes if name not in ("batch", "sequence")]
    if fractions := list(filter(None, (number_of(r["huge_page_fraction"]) for r in measured_rows))):
        ends = dict.fromkeys(text.share(end) for end in (min(fractions), max(fractions)))
        words.append(f"huge pages ({' to '.join(ends)} of memory)")
    return f"every measured case: {', '.join(words)}" if words else ""


def _values(rows: Sequence[Row], column: str) -> set[str]:
    """What the rows have there; an empty cell of a row without timings may be not known."""
    texts = {text for row in rows if (text := column_text(column)(row)) or row["iterations"]}
    return texts if column in EMPTY_IS_VALUE or column == "sequence_length" else texts - {""}


def heading(column: str) -> str:
    return BY_NAME[column].title.lower()


def column_text(column: str) -> Callable[[Row], str]:
    def format_cell(row: Row) -> str:
        value = row[column]
        if column == "scenario":
            return scenario_of(row).words
        if column == "options":
            return printable(unusual_options(row))
        if column == _TOP1 and isinstance(value, float):
            return f"{100 * value:.1f} %"
        if column == "precision" and value is None:
            value = row["precision_requested"]  # nothing was executed
        return "" if value is None else printable(str(value))

    return format_cell


def _number(
    name: str,
    column: str,
    as_text: Callable[[float | None], str] = text.latency,
    spare: int = 0,
) -> TableColumn:
    return TableColumn(name, lambda row: as_text(number_of(row[column])), spare, column)


def _count(name: str, column: str, spare: int = 0) -> TableColumn:
    return TableColumn(name, lambda row: text.count(_integer(row[column])), spare, column)


def _published_cells(columns: Sequence[TableColumn], figure: Published) -> tuple[Cell, ...]:
    """The line of a published figure below those of its model."""
    mean = figure.mean_us
    cells = {
        "runtime": Cell(figure.device),
        "mean": latency_cell(mean) if mean else rate_cell(figure.throughput_per_s),
        "p99": latency_cell(figure.p99_us) if figure.p99_us else Cell(""),
        "status": Cell(f"published ({figure.conditions})"),
    }
    return tuple(replace(cells.get(c.heading, Cell("")), tone="quiet") for c in columns)


def _interval(row: Row) -> str:
    low, high = (number_of(row[f"latency_p50_ci_{end}_us"]) for end in ("low", "high"))
    return text.interval(low, high)


def _level_columns(rows: Sequence[Row]) -> list[TableColumn]:
    """The fastest level, its share of the time and the rest, where the machine had two speeds."""
    if not any(row.get("level_seen") for row in rows):
        return []
    return [
        _number("undisturbed", "undisturbed_p50_us", spare=1),
        _number("of time", "undisturbed_fraction", text.share, spare=3),
        _number("else", "disturbed_factor", _times, spare=3),
    ]


def _times(factor: float | None) -> str:
    return "" if factor is None else f"x{text.significant(factor)}"


def _throughput_columns(rows: Sequence[Row]) -> list[TableColumn]:
    """The inputs in a second, where runs were queued that have no latency each."""
    if all(row["scenario"] != "ahead" for row in rows):
        return []
    return [_number("inputs/s", "throughput_per_s", text.rate_text)]


def _deadline_columns(rows: Sequence[Row]) -> list[TableColumn]:
    """The share of runs that were later, where a deadline was asked for."""
    deadline_us = next((number_of(row["deadline_us"]) for row in rows if row["deadline_us"]), None)
    if deadline_us is None:
        return []
    return [
        _number(f"> {text.latency(deadline_us)}", "deadline_miss_rate", text.share),
        TableColumn("late 95 % interval", _late_interval, 1, "deadline_miss_rate_ci_low"),
    ]


def _late_interval(row: Row) -> str:
    low, high = (number_of(row[f"deadline_miss_rate_ci_{end}"]) for end in ("low", "high"))
    return text.NOT_MEASURED if high is None else f"{text.share(low)} to {text.share(high)}"


def _sortable(value: Value) -> tuple[float, str]:
    return (float(value), "") if isinstance(value, (int, float)) else (0.0, str(value))


def _integer(value: Value) -> int | None:
    return value if isinstance(value, int) else None


def row_table(
    rows: Sequence[Row],
    marks: Mapping[str, str],
    sort: str = "",
    percentiles: Sequence[str] = DEFAULT_PERCENTILES,
) -> Table:
    """The rows, grouped by model in the plan's order, or as `sort` has them.

    `marks` are the numbers of the notes on a row, by its case id; a row with any is not shown
    as if all were well.
    """
    figures = {model: published_for(str(model)) for model in _models(rows)}
    columns = _columns(rows, marks, any(figures.values()), percentiles)
    cells: list[tuple[Cell, ...]] = []
    ids: list[str] = []
    for group in [in_order(rows, sort)] if sort else _models(rows).values():
        for row in group:
            row_cells = [_cell(column, row) for column in columns]
            row_cells[-1] = Cell(columns[-1].cell(row), tone=_tone(row, marks))
            cells.append(tuple(row_cells))
            ids.append(str(row["case_id"]))
        for model in _models(group):
            for figure in figures[model]:
                cells.append(_published_cells(columns, figure))
                ids.append("")
    return Table(
        tuple(Column(c.heading, is_name=not c.figure, priority=c.spare) for c in columns),
        tuple(cells),
        shared_settings(rows),
        full_table=RESULTS,
        is_main=True,
        row_ids=tuple(ids),
    )


_LOWER_END, _UPPER_END = "_ci_low", "_ci_high"


def _cell(column: TableColumn, row: Row) -> Cell:
    definition = column_of(column.figure) if column.figure else None
    value = row[column.figure] if column.figure else None
    unit = definition.unit if definition else ""
    if _LOWER_END not in column.figure:
        return Cell(column.cell(row), value, unit=unit)
    high = number_of(row[column.figure.replace(_LOWER_END, _UPPER_END)])
    return Cell(column.cell(row), unit=unit, low=number_of(value), high=high)


def _tone(row: Row, marks: Mapping[str, str]) -> Tone:
    tone = TONES[str(row["status"])]
    return "warning" if tone == "ok" and str(row["case_id"]) in marks else tone


def _models(rows: Sequence[Row]) -> dict[Value, list[Row]]:
    """The rows of each model, in the order in which the models appear."""
    rows_by_model: dict[Value, list[Row]] = {}
    for row in rows:
        rows_by_model.setdefault(row["model"], []).append(row)
    return rows_by_model
