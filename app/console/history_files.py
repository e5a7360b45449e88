"""A history for other programs: one JSON object, or CSV with a line for each run and percentile."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from app.cases.column import Row
from app.results.history import Change, History, MachineTrend, Point, Trend
from app.results.table import to_csv

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


def as_csv(found: History) -> bytes:
    """`change`, `ratio` and `p_value` stand on the first run of a new level; `machine_ratio` is how
    many times as slow as usual all cases were in that run."""
    return to_csv([row for trend in found.trends for row in _rows(trend)], COLUMNS)


def as_json(found: History, gate: Mapping[str, Any] | None = None) -> bytes:
    """Stable keys: what is added later is a new key, as `gate` is where a job fails by it."""
    told: dict[str, Any] = {
        "format": "graphlap-history",
        "version": 1,
        "folder": found.folder,
        "band": found.band,
        "counts": {word: len(found.called(word)) for word in ("slower", "faster")},
        "runs": [
            {"run_id": run.run_id, "path": str(run.path), "created_at_utc": run.created_at_utc}
            for run in found.runs
        ],
        "series": [_series(trend) for trend in found.trends],
        "machines": [_machine(trend) for trend in found.machines],
        "series_without_machine": found.without_factor,
        "passed_over": [one.why for one in found.passed_over],
    }
    if gate is not None:
        told["gate"] = gate
    return (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode(errors="backslashreplace")


def _rows(trend: Trend) -> list[Row]:
    changes = {change.point.run.run_id: change for change in trend.changes}
    rows: list[Row] = []
    for point in trend.points:
        change = changes.get(point.run.run_id)
        rows.append(
            {
                **_of(trend),
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
        **_of(trend),
        "points": [_point(point) for point in trend.points],
        "changes": [_change(change) for change in trend.changes],
    }


def _of(trend: Trend) -> Row:
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
        "points": [{"run_id": run.run_id, "machine_ratio": one} for run, one in trend.factors],
        "changes": [
            {
                "run_id": change.run.run_id,
                "verdict": change.word,
                "before": change.before,
                "after": change.after,
                "ratio": change.ratio,
                "p_value": change.p_value,
                "environment": _environment(change.differs),
            }
            for change in trend.changes
        ],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "run_id": change.point.run.run_id,
        "verdict": change.word,
        "before_us": change.before_us,
        "after_us": change.after_us,
        "ratio": change.ratio,
        "p_value": change.p_value,
        "environment": _environment(change.differs),
    }


def _environment(differs: Sequence[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "first": first, "second": second} for name, first, second in differs]
