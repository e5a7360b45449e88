"""`graphlap history DIR`: cases over many runs as a table, a figure, JSON or CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cases.column import Row
from app.cases.objectives import BAND, INTERVALS
from app.formatting import text
from app.present.console.output_files import write_output
from app.present.console.regression_gate import (
    FAILED,
    OK,
    SLOWER,
    Reason,
    as_lines,
    differences_json,
)
from app.present.console.regression_gate import as_json as gate_json
from app.present.document import Block, Cell, Column, Paragraph, Points, Table, names
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Series, with_interval
from app.present.svg import svg_document
from app.run_folder.table import to_csv
from app.runs.history.past_runs import PastRun
from app.runs.history.trends import (
    Change,
    History,
    MachineChange,
    MachineTrend,
    Point,
    Trend,
    read_history,
    uncompared_cases,
)
from app.stats.change_points import FALSE_ALARMS, MINIMUM_RUNS, MINIMUM_SERIES

_MINIMUM_SPAN = 0.1
"""The axis spans at least so much of the level, so that what is quiet looks quiet."""
_LEVEL_COLOR = 6


def trend_figure(trend: Trend) -> Figure:
    """Its runs, the level of each stretch, and a line with its words where another begins."""
    values = [point.value_us for point in trend.points]
    middle = (min(values) + max(values)) / 2.0
    height = max(max(values) - min(values), _MINIMUM_SPAN * middle)
    moments = [
        (float(index), _minute(point.run.created_at_utc)[5:])
        for index, point in enumerate(trend.points)
    ]
    runs = Series(
        "runs",
        tuple(_mark(index, point) for index, point in enumerate(trend.points)),
        "line",
        cases=(trend.case_id,),
        has_legend=False,
    )
    levels = [
        Series(
            "level",
            (Mark(first - 0.5, level), Mark(last + 0.5, level)),
            "line",
            _LEVEL_COLOR,
            dash=1,
            symbol="none",
            has_legend=False,
        )
        for first, last, level in trend.levels()
    ]
    places = {point.run.run_id: index for index, point in enumerate(trend.points)}
    changes = tuple(
        ReferenceLine(
            "x",
            places[change.point.run.run_id] - 0.5,
            f"{change.word} {_change_text(change)}, {text.latency(change.after_us)}",
            "error" if change.word == "slower" else "ok",
        )
        for change in trend.changes
    )
    return Figure(
        f"{trend.label}, {INTERVALS[trend.percentile]}, {trend.host or 'any host'}, {trend.clock}",
        Axis("runs in order of time", ticks=tuple(moments)),
        Axis("latency", "us", least=middle - height / 2.0, most=middle + height / 2.0),
        (*levels, runs),
        changes,
    )


def _mark(place: int, point: Point) -> Mark:
    """Hollow where a run has no interval: one round looks no surer than three."""
    words, low, high = with_interval(point.value_us, point.low_us, point.high_us, "us")
    description = f"{point.run.path} of {point.run.created_at_utc}: {words}"
    is_hollow = point.low_us is None
    return Mark(float(place), point.value_us, description, low, high, is_hollow=is_hollow)


COLUMNS = (
    "run_id",
    "path",
    "created_at_utc",
    "case_id",
    "case",
    "percentile",
    "host",
    "cpu",
    "clock",
    "value_us",
    "ci_low_us",
    "ci_high_us",
    "change",
    "ratio",
    "p_value",
    "machine_ratio",
)


def as_csv(timeline: History) -> bytes:
    """`change`, `ratio` and `p_value` stand on the first run of a new level; `machine_ratio` is how
    many times as slow as usual all cases were in that run."""
    return to_csv([row for trend in timeline.trends for row in _rows(trend)], COLUMNS)


def as_json(timeline: History, gate: Mapping[str, Any] | None = None) -> bytes:
    """Stable keys: what is added later is a new key, as `gate` is where a job fails by it."""
    document: dict[str, Any] = {
        "format": "graphlap-history",
        "version": 1,
        "folder": timeline.folder,
        "band": timeline.band,
        "counts": {word: len(timeline.trends_with(word)) for word in ("slower", "faster")},
        "runs": [
            {"run_id": run.run_id, "path": str(run.path), "created_at_utc": run.created_at_utc}
            for run in timeline.runs
        ],
        "series": [_series(trend) for trend in timeline.trends],
        "machines": [_machine(trend) for trend in timeline.machines],
        "series_without_machine": timeline.without_factor,
        "passed_over": [record.reason for record in timeline.passed_over],
    }
    if gate is not None:
        document["gate"] = gate
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode(
        errors="backslashreplace"
    )


def _rows(trend: Trend) -> list[Row]:
    changes = {change.point.run.run_id: change for change in trend.changes}
    rows: list[Row] = []
    for point in trend.points:
        change = changes.get(point.run.run_id)
        rows.append(
            {
                **_trend_fields(trend),
                **_point(point),
                "path": str(point.run.path),
                "created_at_utc": point.run.created_at_utc,
                "change": change.word if change else None,
                "ratio": change.ratio if change else None,
                "p_value": change.p_value if change else None,
            }
        )
    return rows


def _series(trend: Trend) -> dict[str, Any]:
    return {
        **_trend_fields(trend),
        "points": [_point(point) for point in trend.points],
        "changes": [
            _change(change, change.point.run, before_us=change.before_us, after_us=change.after_us)
            for change in trend.changes
        ],
    }


def _trend_fields(trend: Trend) -> Row:
    return {
        "case_id": trend.case_id,
        "case": trend.label,
        "percentile": trend.percentile,
        "host": trend.host,
        "cpu": trend.cpu,
        "clock": trend.clock,
    }


def _point(point: Point) -> Row:
    return {
        "run_id": point.run.run_id,
        "value_us": point.value_us,
        "ci_low_us": point.low_us,
        "ci_high_us": point.high_us,
        "machine_ratio": point.machine,
    }


def _machine(trend: MachineTrend) -> dict[str, Any]:
    return {
        "percentile": trend.percentile,
        "host": trend.host,
        "cpu": trend.cpu,
        "clock": trend.clock,
        "series": trend.series,
        "points": [
            {"run_id": run.run_id, "machine_ratio": factor} for run, factor in trend.factors
        ],
        "changes": [
            _change(change, change.run, before=change.previous_level, after=change.new_level)
            for change in trend.changes
        ],
    }


def _change(change: Change | MachineChange, run: PastRun, **levels: float) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "verdict": change.word,
        **levels,
        "ratio": change.ratio,
        "p_value": change.p_value,
        "environment": differences_json(change.differs),
    }


_MAXIMUM_ROWS = 20
"""So many series are in the table on a terminal; files have all."""


@dataclass(frozen=True, slots=True)
class HistoryReport:
    """A history with the exit code of a job, and why a job that fails by it can't pass."""

    timeline: History
    code: int = OK
    reasons: tuple[Reason, ...] = ()
    gated: bool = False

    def blocks(self) -> tuple[Block, ...]:
        """How many changed, each change, a table of all with those that changed last at its head,
        what to know of it, and why a gate can't pass."""
        return (
            Paragraph(_counts(self.timeline)),
            Points((*_changes(self.timeline), *_machine_changes(self.timeline))),
            _trend_table(self.timeline),
            Points((*_remarks(self.timeline), *as_lines(self.reasons))),
        )

    def json(self) -> str:
        """With stable keys; with the gate where a job fails by it."""
        gate = gate_json(self.code, self.reasons) if self.gated else None
        return as_json(self.timeline, gate).decode()

    def csv(self) -> str:
        """The figures of each run."""
        return as_csv(self.timeline).decode()

    def write(self, *, json_path: str | None, csv_path: str | None, plot_path: str | None) -> None:
        """The files that were asked for; DiskError if one can't be written."""
        if csv_path:
            write_output(Path(csv_path), as_csv(self.timeline))
        if plot_path:
            write_output(
                Path(plot_path), svg_document(list(map(trend_figure, self.timeline.trends)))
            )
        if json_path:
            write_output(Path(json_path), self.json().encode())


def history(
    folder: str, *, band: float | None, any_host: bool, fail_on_slower: bool
) -> HistoryReport:
    """The changes of each case below a folder; ResultsError for one without runs."""
    timeline = read_history(Path(folder), BAND if band is None else band, any_host)
    if not fail_on_slower:
        return HistoryReport(timeline)
    reasons = tuple(
        Reason.from_case(uncompared_case) for uncompared_case in uncompared_cases(timeline)
    )
    code = SLOWER if timeline.trends_with("slower") else FAILED if reasons else OK
    return HistoryReport(timeline, code, reasons, gated=True)


def _trend_table(timeline: History) -> Table:
    rows = [_cells(timeline, trend) for trend in _order_by_change(timeline.trends)]
    columns = (
        *names("case", "figure"),
        *map(Column, ("runs", "typical", "change")),
        *names("since (UTC)"),
    )
    return Table(
        columns, tuple(rows), maximum_rows=_MAXIMUM_ROWS, full_table="-f csv", is_main=True
    )


def _order_by_change(trends: Sequence[Trend]) -> list[Trend]:
    """The newest change first, the others in their own order."""
    changed_trends = [trend for trend in trends if trend.last_change is not None]
    return [
        *sorted(changed_trends, key=_change_time, reverse=True),
        *(t for t in trends if not t.changes),
    ]


def _change_time(trend: Trend) -> str:
    change = trend.last_change
    return "" if change is None else change.point.run.created_at_utc


def _cells(timeline: History, trend: Trend) -> tuple[Cell | str, ...]:
    change = trend.last_change
    runs = len(trend.points)
    cells = (
        _name(timeline, trend),
        INTERVALS[trend.percentile],
        Cell(str(runs), runs),
        Cell(text.latency(trend.typical_us), trend.typical_us, unit="us"),
    )
    if change is None:
        return (*cells, text.NOT_MEASURED, "")
    change_cell = Cell(_change_text(change), change.ratio, unit="times")
    return (*cells, change_cell, _minute(_change_time(trend)))


def _name(timeline: History, trend: Trend) -> str:
    """With the machine where there are several, with the clock where it is another's."""
    several = len({(item.host, item.cpu) for item in timeline.trends}) > 1
    simulated = len({item.clock for item in timeline.trends}) > 1 and trend.clock != "wall"
    words = [trend.label, *([trend.host] if several else []), *([trend.clock] if simulated else [])]
    return " · ".join(words)


def _changes(timeline: History) -> Iterator[str]:
    for trend in _order_by_change(timeline.trends):
        for change in trend.changes:
            before, after = text.latency(change.before_us), text.latency(change.after_us)
            head = (
                f"{change.word}: {_name(timeline, trend)}, {INTERVALS[trend.percentile]}: "
                f"{before}, then {after}"
            )
            yield _told(head, change, change.point.run)


def _machine_changes(timeline: History) -> Iterator[str]:
    for trend in timeline.machines:
        machine = f"the machine{f' {trend.host}' if trend.host else ''}"
        for change in trend.changes:
            head = (
                f"{machine}, {INTERVALS[trend.percentile]}: {trend.series} cases together "
                f"{change.word}"
            )
            yield _told(head, change, change.run)


def _told(head: str, change: Change | MachineChange, run: PastRun) -> str:
    """With its size, its chance, its first run, and what else differs there."""
    differs = "".join(
        f"; differs: {name}: {first}, then {second}" for name, first, second in change.differs
    )
    return (
        f"{head} ({_change_text(change)}, p {_p_text(change.p_value)}) since {run.path} of "
        f"{_minute(run.created_at_utc)}{differs}"
    )


def _counts(timeline: History) -> str:
    counts = [f"{len(timeline.trends_with(word))} {word}" for word in ("slower", "faster")]
    return (
        f"{len(timeline.trends)} series of {text.counted(len(timeline.runs), 'run')}: "
        f"{', '.join(counts)} since their last change"
    )


def _remarks(timeline: History) -> Iterator[str]:
    yield (
        f"a change within {timeline.band:.0%} does not count; of histories without a "
        "change, at most "
        f"{FALSE_ALARMS:.0%} show one"
    )
    if timeline.machines:
        yield (
            "what all cases of a machine share, such as a reboot or a new kernel, is taken out of "
            "each case and reported as the machine's; it fails no gate"
        )
    if timeline.without_factor:
        yield (
            f"{timeline.without_factor} series judged with the machine's own changes in them: "
            f"fewer than {MINIMUM_SERIES} cases show what they share"
        )
    short = sum(len(trend.points) < MINIMUM_RUNS for trend in timeline.trends)
    if short:
        yield f"too few to detect a change: fewer than {MINIMUM_RUNS} runs in {short} series"
    for folder in timeline.passed_over:
        yield f"passed over: {folder.reason}"


def _change_text(change: Change | MachineChange) -> str:
    return f"{change.ratio - 1.0:+.1%}"


def _p_text(p_value: float) -> str:
    return "below 0.001" if p_value < 0.001 else f"{p_value:.2g}"


def _minute(created_at_utc: str) -> str:
    """`2026-11-03 02:00` of a moment in ISO 8601."""
    return created_at_utc[:16].replace("T", " ")
