"""Models and settings by runtimes: the medians of a run as a table, with the leader of each line.

Simulated and published figures stand apart: they are of another clock, or of another machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.cases.column import Row, Value, number_of
from app.cases.dimensions import MATCHING, without
from app.cases.status import TONES
from app.comparison.measured_case import Key, Measured, contender, names
from app.comparison.published_figures import Published, published_for
from app.comparison.ranking import Fastest
from app.console.answer.summary import EndedRun
from app.formatting import text
from app.formatting.case_labels import differences, model_names
from app.present.document import Cell, Column, Table, Tone
from app.present.terminal import width_of_text

MOST_LINES = 20
LEADS, UNDECIDED, SAME = "*", "?", "="
_P50 = "latency_p50_us"
_US = "us"
_BY_ENGINE = ("precision", "clock", "boundary", "concurrency", "host")
"""Dimensions that a row has only once it was measured, or that a simulated card has otherwise."""
_BY_PLAN = without(*_BY_ENGINE)
_PACING = {"paced": "spaced"}
"""Which published figures are of which scenario; others are of no pacing."""
_PUBLISHED = "published"
_ENOUGH_RUNTIMES = 3
"""So many columns of runtimes are never left out."""


@dataclass(slots=True)
class Line:
    """A model in one setting: what was measured there by contender, and what was simulated."""

    key: Key
    measured: dict[str, Measured] = field(default_factory=dict)
    simulated: dict[str, Measured] = field(default_factory=dict)
    published: Published | None = None

    @property
    def one(self) -> Measured:
        """Any of its cases."""
        return next(iter((*self.measured.values(), *self.simulated.values())))


@dataclass(frozen=True, slots=True)
class Matrix:
    """The lines with their labels; contenders in the plan's order."""

    lines: Sequence[Line]
    labels: Sequence[str]
    measured: Sequence[str]
    simulated: Sequence[str]
    marks: Mapping[str, str]

    @property
    def device(self) -> str:
        """Of which device published figures are shown; "" where there are none."""
        return next((line.published.device for line in self.lines if line.published), "")


def matrix_of(ended: EndedRun) -> Matrix:
    """The matrix of a run, without no-op copies."""
    lines: dict[Key, Line] = {}
    others: list[Measured] = []
    for one in ended.own:
        if _is_main(one):
            key = tuple(one.row.get(name) for name in MATCHING)
            lines.setdefault(key, Line(key)).measured[contender(one.row)] = one
        else:
            others.append(one)
    for one in others:
        line = _line_for(one, lines)
        side = line.simulated if one.row["clock"] == "simulated" else line.measured
        side.setdefault(contender(one.row), one)
    ordered = _in_order(lines.values(), ended.own)
    with_published = _with_published(ordered)
    simulated = dict.fromkeys(name for line in ordered for name in line.simulated)
    measured = dict.fromkeys(name for line in ordered for name in line.measured)
    return Matrix(
        with_published,
        _labels(with_published),
        tuple(name for name in measured if _is_here(name, ordered)),
        tuple(simulated),
        _marks(ended.contests, only_simulated=not measured),
    )


def matrix_table(matrix: Matrix, width: int) -> Table:
    """The table, turned on its side where it is too wide and has fewer lines than contenders."""
    if len(matrix.measured) == 1 and not matrix.simulated:
        return _alone(matrix)
    upright, turned = _upright(matrix), _turned(matrix)
    if _least_width(upright) > width and _least_width(turned) < _least_width(upright):
        return turned
    return upright


def legend(matrix: Matrix, band: float) -> str:
    """What the marks of the table mean, of those that are in it."""
    cells = [cell.text for line in matrix.lines for cell in _cells(matrix, line)]
    used = set(matrix.marks.values())
    parts = [
        "* fastest" if LEADS in used else "",
        "? leads, undecided" if UNDECIDED in used else "",
        f"= the same within {100 * band:g} %" if SAME in used else "",
        "() not ranked" if any(cell.startswith("(") for cell in cells) else "",
    ]
    return "  ".join(filter(None, parts))


def _is_main(one: Measured) -> bool:
    return one.row["clock"] not in (None, "", "simulated") and _value(one.row) is not None


def _line_for(one: Measured, lines: dict[Key, Line]) -> Line:
    """The line of a case that was not timed, or simulated: by its settings, then its precision."""
    shared = [one.row.get(name) for name in _BY_PLAN]
    fitting = [
        line
        for key, line in lines.items()
        if [value for name, value in zip(MATCHING, key, strict=True) if name in _BY_PLAN] == shared
    ]
    precision = one.row.get("precision_requested")
    place = MATCHING.index("precision")
    fitting.sort(key=lambda line: line.key[place] != precision)
    if fitting:
        return fitting[0]
    key = tuple(one.row.get(name) for name in MATCHING)
    return lines.setdefault(key, Line(key))


def _in_order(lines: Iterable[Line], measured: Sequence[Measured]) -> list[Line]:
    """By the first case of each in the plan's order."""
    places = {one.case.case_id: place for place, one in enumerate(measured)}

    def first(line: Line) -> int:
        known = (*line.measured.values(), *line.simulated.values())
        return min(places[one.case.case_id] for one in known)

    return sorted(lines, key=first)


def _labels(lines: Sequence[Line]) -> list[str]:
    """The model with the settings that tell a line from others, and with what the engine made of
    it where these do not."""
    cases = [replace(line.one.case, runtime="", options={}, suite="") for line in lines]
    called, words = model_names(case.model for case in cases), differences(cases)
    found = [" · ".join([called[case.model], *words[case.case_id]]) for case in cases]
    uses = Counter(found)
    return [
        label if uses[label] == 1 else full
        for label, full in zip(found, _full_labels(lines), strict=True)
    ]


def _full_labels(lines: Sequence[Line]) -> list[str]:
    """A line without figures has the usual values."""
    usual = next((line.key for line in lines if any(map(_is_main, line.measured.values()))), None)
    keys = []
    for line in lines:
        pairs = zip(MATCHING, line.key, usual or line.key, strict=True)
        keys.append(
            tuple(
                other if name in _BY_ENGINE and own in (None, "") else own
                for name, own, other in pairs
            )
        )
    called = names(keys)
    return [called[key] for key in keys]


def _is_here(name: str, lines: Sequence[Line]) -> bool:
    """Whether a contender has a column: not one that is nowhere on this machine."""
    known = [line.measured[name] for line in lines if name in line.measured]
    return any(one.row["status"] != "unavailable" for one in known)


def _with_published(lines: Sequence[Line]) -> list[Line]:
    """Each with the published figure of its scenario, all of one device: the first simulated one,
    else the first that has any."""
    found = {line.key: _published(line, lines) for line in lines}
    simulated = {
        str(one.row["runtime"]).partition("@")[0]
        for line in lines
        for one in line.simulated.values()
    }
    known = [figure for figures in found.values() for figure in figures]
    preferred = [figure for figure in known if figure.runtime in simulated] or known
    device = preferred[0].device if preferred else ""
    return [
        replace(line, published=next((f for f in found[line.key] if f.device == device), None))
        for line in lines
    ]


def _published(line: Line, lines: Sequence[Line]) -> list[Published]:
    """The figures for a model at batch 1: those of its scenario, where the run has several."""
    row = line.one.row
    figures = [figure for figure in published_for(str(row["model"])) if figure.mean_us]
    if row["batch_size"] not in (None, 1):
        return []
    scenarios = {
        other.one.row["scenario"] for other in lines if other.one.row["model"] == row["model"]
    }
    pacing = _PACING.get(str(row["scenario"]), "")
    if len(scenarios) == 1:
        return figures
    return [figure for figure in figures if figure.pacing == pacing]


def _marks(contests: Sequence[Fastest], only_simulated: bool) -> dict[str, str]:
    """By case id; of simulated cases only where nothing else is in the table."""
    marks: dict[str, str] = {}
    for one in contests:
        if one.between_hosts or one.simulated is not only_simulated:
            continue
        if one.parted:
            marks[one.ranking[0]] = LEADS
        elif one.verdict.word == "same":
            marks |= dict.fromkeys(one.ranking[:2], SAME)
        else:
            marks[one.ranking[0]] = UNDECIDED
    return marks


def _upright(matrix: Matrix) -> Table:
    """A row for each line."""
    columns = [Column("p50", is_name=True), *_columns(matrix)]
    rows = [
        (Cell(label), *_cells(matrix, line))
        for label, line in zip(matrix.labels, matrix.lines, strict=True)
    ]
    return _table(columns, rows)


def _alone(matrix: Matrix) -> Table:
    """A runtime that is compared with none: more of each line than its median."""
    (name,) = matrix.measured
    rows = []
    for label, line in zip(matrix.labels, matrix.lines, strict=True):
        one, (cell, *published) = line.measured.get(name), _cells(matrix, line)
        rows.append((Cell(label), cell, *_alone_cells(one), *published))
    columns = [
        Column(name, is_name=True),
        Column("p50"),
        Column("95 % interval", priority=2),
        Column("p99", priority=1),
    ]
    if matrix.device:
        columns.append(Column(matrix.device, _PUBLISHED, priority=3, apart=True))
    return _table(columns, rows)


def _table(columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]]) -> Table:
    """The answer of the document."""
    return Table(
        tuple(columns),
        tuple(rows),
        most_rows=MOST_LINES,
        elsewhere="results.csv",
        is_main=True,
    )


def _alone_cells(one: Measured | None) -> tuple[Cell, Cell]:
    """The interval of the median, and the p99."""
    row = one.row if one is not None else {}
    low, high = (number_of(row.get(f"latency_p50_ci_{end}_us")) for end in ("low", "high"))
    p99 = number_of(row.get("latency_p99_us"))
    return Cell(text.interval(low, high), high, unit=_US), Cell(text.latency(p99), p99, unit=_US)


def labels_of_cases(matrix: Matrix) -> dict[str, str]:
    """By the id of a measured case the label of its line."""
    return {
        one.case.case_id: label
        for label, line in zip(matrix.labels, matrix.lines, strict=True)
        for one in line.measured.values()
    }


def _turned(matrix: Matrix) -> Table:
    """A row for each contender."""
    columns = [Column("p50", is_name=True), *(Column(label) for label in matrix.labels)]
    lines = [_cells(matrix, line) for line in matrix.lines]
    heads = [column.title for column in _columns(matrix)]
    rows = [(Cell(head), *(cells[at] for cells in lines)) for at, head in enumerate(heads)]
    return _table(columns, rows)


def _columns(matrix: Matrix) -> Iterator[Column]:
    leads = [
        sum(mark_of(matrix, line, name) != "" for line in matrix.lines) for name in matrix.measured
    ]
    ranks = sorted(range(len(leads)), key=lambda at: -leads[at])
    for at, name in enumerate(matrix.measured):
        rank = ranks.index(at)
        yield Column(name, priority=0 if rank < _ENOUGH_RUNTIMES else 1 + rank)
    for at, name in enumerate(matrix.simulated):
        yield Column(name, "simulated", priority=100 + at if matrix.measured else 0, apart=at == 0)
    if matrix.device:
        yield Column(matrix.device, _PUBLISHED, priority=200, apart=not matrix.simulated)


def mark_of(matrix: Matrix, line: Line, name: str) -> str:
    """The mark of a contender in a line."""
    one = line.measured.get(name) or line.simulated.get(name)
    return matrix.marks.get(one.case.case_id, "") if one else ""


def _cells(matrix: Matrix, line: Line) -> list[Cell]:
    cells = [_cell(matrix, line.measured.get(name)) for name in matrix.measured]
    cells += [_cell(matrix, line.simulated.get(name)) for name in matrix.simulated]
    if matrix.device:
        figure = line.published
        mean_us = figure.mean_us if figure else None
        cells.append(Cell(text.latency(mean_us), mean_us, "quiet", _US))
    return cells


def _cell(matrix: Matrix, one: Measured | None) -> Cell:
    """Room for a mark is left in all, so that figures stand below each other."""
    if one is None:
        return Cell(f"{text.NOT_MEASURED} ")
    row = one.row
    value = _value(row)
    if value is None:
        status = str(row["status"])
        return Cell(f"{status.replace('_', ' ')} ", tone=TONES[status])
    told = _figure(row)
    if not one.is_well:
        return Cell(f"({told})", value, "warning", _US)
    mark = matrix.marks.get(str(row["case_id"]), "")
    doubted: Tone = "warning" if row["warnings"] else ""
    return Cell(told + (mark or " "), value, doubted or ("ok" if mark == LEADS else ""), _US)


def _value(row: Row) -> Value:
    """The median, or the throughput where runs have no latency of their own."""
    return row[_P50] if row[_P50] is not None else row["throughput_per_s"]


def _figure(row: Row) -> str:
    if row[_P50] is not None:
        return text.latency(number_of(row[_P50]))
    return text.rate_text(number_of(row["throughput_per_s"]))


def _least_width(table: Table) -> int:
    """What the columns take that are never left out, with names folded."""
    from app.present.terminal import GAP, NAME_WIDTH

    widths = []
    for at, column in enumerate(table.columns):
        cells = (row[at] for row in table.rows)
        widest = max(
            width_of_text(cell.text if isinstance(cell, Cell) else cell)
            for cell in (Cell(column.heading), *cells)
        )
        widths.append(min(widest, NAME_WIDTH) if column.is_name else widest)
    main = [w for w, c in zip(widths, table.columns, strict=True) if c.priority < 100]
    return sum(main) + GAP * (len(main) - 1)
