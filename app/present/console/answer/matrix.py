"""Models and settings by runtimes: the medians of a run as a table, with the leader of each line.

Simulated and published figures stand apart: they are of another clock, or of another machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.analysis.comparison.measured_case import Key, MeasuredCase, names, runtime_label
from app.analysis.comparison.published_figures import Published, published_for
from app.analysis.comparison.ranking import Fastest
from app.cases.column import Row, Value, number_of
from app.cases.dimensions import MATCHING, matching_key, without
from app.cases.status import TONES
from app.formatting import text
from app.formatting.case_labels import differences, model_names
from app.present.console.answer.summary import EMPTY, ENDS, RunResult, quoted_p50
from app.present.document import (
    Cell,
    Column,
    Table,
    Tone,
    latency_cell,
    latency_interval_cell,
    rate_cell,
)
from app.present.terminal import width_of_text
from app.run_folder.diagnostics import codes_in
from exporters.inputs import UNKNOWN

MAXIMUM_LINES = 20
LEADS, UNDECIDED, EQUIVALENT, IDLE = "*", "?", "=", "!"
_IDLE_MEANS = "! an output is empty, or an input was not understood"
_P50 = "latency_p50_us"
_BY_ENGINE = ("precision", "clock", "boundary", "concurrency", "host")
"""Dimensions that a row has only once it was measured, or that a simulated card has otherwise."""
_BY_PLAN = without(*_BY_ENGINE)
_PACING = {"paced": "spaced"}
"""Which published figures are of which scenario; others are of no pacing."""
_PUBLISHED_TITLE = "published"
_MINIMUM_RUNTIMES = 3
"""So many columns of runtimes are never left out."""


@dataclass(slots=True)
class Line:
    """A model in one setting: what was measured there by contender, and what was simulated."""

    key: Key
    measured: dict[str, MeasuredCase] = field(default_factory=dict)
    simulated: dict[str, MeasuredCase] = field(default_factory=dict)
    published: Published | None = None

    @property
    def representative(self) -> MeasuredCase:
        """Any of its cases."""
        return next(iter((*self.measured.values(), *self.simulated.values())))


@dataclass(frozen=True, slots=True)
class Matrix:
    """The lines with their labels; contenders in the plan's order. `device` is the one of which
    published figures are shown, "" where there are none."""

    lines: Sequence[Line]
    labels: Sequence[str]
    measured: Sequence[str]
    simulated: Sequence[str]
    marks: Mapping[str, str]
    device: str


def matrix_of(result: RunResult) -> Matrix:
    """The matrix of a run, without no-op copies."""
    lines: dict[Key, Line] = {}
    untimed_cases: list[MeasuredCase] = []
    for measurement in result.model_measurements:
        if _is_main(measurement):
            key = matching_key(measurement.row)
            lines.setdefault(key, Line(key)).measured[runtime_label(measurement.row)] = measurement
        else:
            untimed_cases.append(measurement)
    for measurement in untimed_cases:
        line = _line_for(measurement, lines)
        side = line.simulated if measurement.row["clock"] == "simulated" else line.measured
        side.setdefault(runtime_label(measurement.row), measurement)
    sorted_lines = _sort_lines(lines.values(), result.model_measurements)
    complete_lines = _add_published(sorted_lines)
    simulated = dict.fromkeys(name for line in sorted_lines for name in line.simulated)
    measured_names = dict.fromkeys(name for line in sorted_lines for name in line.measured)
    return Matrix(
        complete_lines,
        _labels(complete_lines),
        tuple(name for name in measured_names if _is_available(name, sorted_lines)),
        tuple(simulated),
        _marks(result.contests, only_simulated=not measured_names),
        next((line.published.device for line in complete_lines if line.published), ""),
    )


def matrix_table(matrix: Matrix, width: int) -> Table:
    """The table, turned on its side where it is too wide and has fewer lines than contenders."""
    if len(matrix.measured) == 1 and not matrix.simulated:
        return _single_runtime_table(matrix)
    upright, transposed_table = _upright(matrix), _transposed_table(matrix)
    upright_width = _minimum_width(upright)
    if upright_width > width and _minimum_width(transposed_table) < upright_width:
        return transposed_table
    return upright


def legend(matrix: Matrix, band: float) -> str:
    """What the marks of the table mean, of those that are in it."""
    cells = [cell.text for line in matrix.lines for cell in _cells(matrix, line)]
    used_marks = set(matrix.marks.values())
    parts = [
        "* fastest" if LEADS in used_marks else "",
        "? leads, undecided" if UNDECIDED in used_marks else "",
        f"= the same within {100 * band:g} %" if EQUIVALENT in used_marks else "",
        _IDLE_MEANS if any(cell.endswith(IDLE) for cell in cells) else "",
        "() not ranked" if any(cell.startswith("(") for cell in cells) else "",
    ]
    return "  ".join(filter(None, parts))


def _is_main(measurement: MeasuredCase) -> bool:
    return (
        measurement.row["clock"] not in (None, "", "simulated")
        and _value(measurement.row) is not None
    )


def _line_for(measurement: MeasuredCase, lines: dict[Key, Line]) -> Line:
    """The line of a case that was not timed, or simulated: by its settings, then its precision."""
    shared_values = [measurement.row.get(name) for name in _BY_PLAN]
    fitting = [
        line
        for key, line in lines.items()
        if [value for name, value in zip(MATCHING, key, strict=True) if name in _BY_PLAN]
        == shared_values
    ]
    precision = measurement.row.get("precision_requested")
    place = MATCHING.index("precision")
    fitting.sort(key=lambda line: line.key[place] != precision)
    if fitting:
        return fitting[0]
    key = matching_key(measurement.row)
    return lines.setdefault(key, Line(key))


def _sort_lines(lines: Iterable[Line], measurements: Sequence[MeasuredCase]) -> list[Line]:
    """By the first case of each in the plan's order."""
    places = {measurement.case.case_id: place for place, measurement in enumerate(measurements)}

    def first(line: Line) -> int:
        cases = (*line.measured.values(), *line.simulated.values())
        return min(places[measurement.case.case_id] for measurement in cases)

    return sorted(lines, key=first)


def _labels(lines: Sequence[Line]) -> list[str]:
    """The model with the settings that tell a line from others, and with what the engine made of
    it where these do not."""
    cases = [replace(line.representative.case, runtime="", options={}, suite="") for line in lines]
    short_names, words = model_names(case.model for case in cases), differences(cases)
    texts = [" · ".join([short_names[case.model], *words[case.case_id]]) for case in cases]
    uses = Counter(texts)
    return [
        label if uses[label] == 1 else full
        for label, full in zip(texts, _full_labels(lines), strict=True)
    ]


def _full_labels(lines: Sequence[Line]) -> list[str]:
    """A line without figures has the usual values."""
    default_key = next(
        (line.key for line in lines if any(map(_is_main, line.measured.values()))), None
    )
    keys = []
    for line in lines:
        pairs = zip(MATCHING, line.key, default_key or line.key, strict=True)
        keys.append(
            tuple(
                default if name in _BY_ENGINE and value in (None, "") else value
                for name, value, default in pairs
            )
        )
    names_by_key = names(keys)
    return [names_by_key[key] for key in keys]


def _is_available(name: str, lines: Sequence[Line]) -> bool:
    """Whether a contender has a column: not one that is nowhere on this machine."""
    cases = [line.measured[name] for line in lines if name in line.measured]
    return any(measurement.row["status"] != "unavailable" for measurement in cases)


def _add_published(lines: Sequence[Line]) -> list[Line]:
    """Each with the published figure of its scenario, all of one device: the first simulated one,
    else the first that has any."""
    scenarios: dict[Value, set[Value]] = {}
    for row in (line.representative.row for line in lines):
        scenarios.setdefault(row["model"], set()).add(row["scenario"])
    figures_by_line = {line.key: _published_figures(line, scenarios) for line in lines}
    simulated = {
        str(measurement.row["runtime"]).partition("@")[0]
        for line in lines
        for measurement in line.simulated.values()
    }
    all_figures = [figure for figures in figures_by_line.values() for figure in figures]
    candidates = [figure for figure in all_figures if figure.runtime in simulated] or all_figures
    device = candidates[0].device if candidates else ""
    return [
        replace(
            line, published=next((f for f in figures_by_line[line.key] if f.device == device), None)
        )
        for line in lines
    ]


def _published_figures(line: Line, scenarios: Mapping[Value, set[Value]]) -> list[Published]:
    """The figures for a model at batch 1: those of its scenario, where the run has several of the
    model."""
    row = line.representative.row
    if row["batch_size"] not in (None, 1):
        return []
    figures = [figure for figure in published_for(str(row["model"])) if figure.mean_us]
    pacing = _PACING.get(str(row["scenario"]), "")
    if len(scenarios[row["model"]]) == 1:
        return figures
    return [figure for figure in figures if figure.pacing == pacing]


def _marks(contests: Sequence[Fastest], only_simulated: bool) -> dict[str, str]:
    """By case id; of simulated cases only where nothing else is in the table."""
    marks: dict[str, str] = {}
    for contest in contests:
        if contest.between_hosts or contest.simulated is not only_simulated:
            continue
        if contest.parted:
            marks[contest.ranking[0]] = LEADS
        elif contest.verdict.word == "same":
            marks |= dict.fromkeys(contest.ranking[:2], EQUIVALENT)
        else:
            marks[contest.ranking[0]] = UNDECIDED
    return marks


def _upright(matrix: Matrix) -> Table:
    """A row for each line."""
    columns = [Column("p50", is_name=True, key="model"), *_columns(matrix)]
    rows = [
        (Cell(label), *_cells(matrix, line))
        for label, line in zip(matrix.labels, matrix.lines, strict=True)
    ]
    return _table(columns, rows)


def _single_runtime_table(matrix: Matrix) -> Table:
    """A runtime that is compared with none: more of each line than its median."""
    (name,) = matrix.measured
    rows = []
    for label, line in zip(matrix.labels, matrix.lines, strict=True):
        measurement, (cell, *published_cells) = line.measured.get(name), _cells(matrix, line)
        rows.append((Cell(label), cell, *_single_runtime_cells(measurement), *published_cells))
    columns = [
        Column(name, is_name=True, key="model"),
        Column("p50"),
        Column("95 % interval", priority=2),
        Column("p99", priority=1),
    ]
    if matrix.device:
        columns.append(Column(matrix.device, _PUBLISHED_TITLE, priority=3, has_bar=True))
    return _table(columns, rows)


def _table(columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]]) -> Table:
    """The answer of the document."""
    return Table(
        tuple(columns),
        tuple(rows),
        maximum_rows=MAXIMUM_LINES,
        full_table="results.csv",
        is_main=True,
    )


def _single_runtime_cells(measurement: MeasuredCase | None) -> tuple[Cell, Cell]:
    """The interval of the median, and the p99."""
    row = measurement.row if measurement is not None else {}
    low, high = (number_of(row.get(quoted_p50(row) + end)) for end in ENDS)
    p99 = number_of(row.get("latency_p99_us"))
    return latency_interval_cell(low, high), latency_cell(p99)


def labels_of_cases(matrix: Matrix) -> dict[str, str]:
    """By the id of a measured case the label of its line."""
    return {
        measurement.case.case_id: label
        for label, line in zip(matrix.labels, matrix.lines, strict=True)
        for measurement in line.measured.values()
    }


def _transposed_table(matrix: Matrix) -> Table:
    """A row for each contender."""
    columns = [
        Column("p50", is_name=True, key="runtime"),
        *(Column(label) for label in matrix.labels),
    ]
    lines = [_cells(matrix, line) for line in matrix.lines]
    heads = [column.title for column in _columns(matrix)]
    rows = [(Cell(head), *(cells[at] for cells in lines)) for at, head in enumerate(heads)]
    return _table(columns, rows)


def _columns(matrix: Matrix) -> Iterator[Column]:
    leads = [
        sum(mark_of(matrix, line, name) != "" for line in matrix.lines) for name in matrix.measured
    ]
    ranks = sorted(range(len(leads)), key=lambda position: -leads[position])
    for index, name in enumerate(matrix.measured):
        rank = ranks.index(index)
        yield Column(name, priority=0 if rank < _MINIMUM_RUNTIMES else 1 + rank)
    for index, name in enumerate(matrix.simulated):
        yield Column(
            name, "simulated", priority=100 + index if matrix.measured else 0, has_bar=index == 0
        )
    if matrix.device:
        yield Column(matrix.device, _PUBLISHED_TITLE, priority=200, has_bar=not matrix.simulated)


def mark_of(matrix: Matrix, line: Line, name: str) -> str:
    """The mark of a contender in a line."""
    measurement = line.measured.get(name) or line.simulated.get(name)
    return matrix.marks.get(measurement.case.case_id, "") if measurement else ""


def _cells(matrix: Matrix, line: Line) -> list[Cell]:
    cells = [_cell(matrix, line.measured.get(name)) for name in matrix.measured]
    cells += [_cell(matrix, line.simulated.get(name)) for name in matrix.simulated]
    if matrix.device:
        figure = line.published
        mean_us = figure.mean_us if figure else None
        cells.append(replace(latency_cell(mean_us), tone="quiet"))
    return cells


def _cell(matrix: Matrix, measurement: MeasuredCase | None) -> Cell:
    """Room for a mark is left in all, so that figures stand below each other."""
    if measurement is None:
        return Cell(f"{text.NOT_MEASURED} ")
    row = measurement.row
    value = _value(row)
    if value is None:
        status = str(row["status"])
        return Cell(f"{status.replace('_', ' ')} ", tone=TONES[status])
    cell = _figure(row)
    if not measurement.is_well:
        return replace(cell, text=f"({cell.text})", tone="warning")
    mark = matrix.marks.get(str(row["case_id"]), "")
    warning_tone: Tone = "warning" if row["warnings"] else ""
    tone = warning_tone or ("ok" if mark == LEADS else "")
    return replace(cell, text=cell.text + (f"{mark}{_idle(row)}" or " "), tone=tone)


def _idle(row: Row) -> str:
    """The mark of a row that may compute less than a user's program does."""
    is_empty = EMPTY in codes_in(row["warning_codes"])
    return IDLE if is_empty or UNKNOWN in str(row.get("assumed")) else ""


def _value(row: Row) -> Value:
    """The median, or the throughput where runs have no latency of their own."""
    return row[_P50] if row[_P50] is not None else row["throughput_per_s"]


def _figure(row: Row) -> Cell:
    if row[_P50] is not None:
        return latency_cell(number_of(row[f"{quoted_p50(row)}_us"]))
    return rate_cell(number_of(row["throughput_per_s"]))


def _minimum_width(table: Table) -> int:
    """What the columns take that are never left out, with names folded."""
    from app.present.terminal import GAP, NAME_WIDTH

    widths = []
    for index, column in enumerate(table.columns):
        cells = (row[index] for row in table.rows)
        widest = max(
            width_of_text(cell.text if isinstance(cell, Cell) else cell)
            for cell in (Cell(column.heading), *cells)
        )
        widths.append(min(widest, NAME_WIDTH) if column.is_name else widest)
    main = [w for w, c in zip(widths, table.columns, strict=True) if c.priority < 100]
    return sum(main) + GAP * (len(main) - 1)
