"""The variation between runs of a machine, from its past: what two runs are compared with."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path

from app.cases.column import number_of
from app.cases.errors import ResultsError
from app.cases.judged import THROUGHPUT
from app.results.history import PERCENTILES, History, Trend, history_of, is_well
from app.results.hosts import identity_of
from app.results.measured import Measured
from app.results.past_runs import past_run, past_runs, runs_beside
from app.results.run import Run
from app.results.run_variation import Key
from app.stats.run_variation import RunVariation, from_history


def past_variations(
    history: History, compared: Collection[str], names: Collection[str] = PERCENTILES
) -> dict[Key, RunVariation]:
    """By case and figure how far the runs of a history differ, those that are `compared` left out:
    two runs say nothing of their own difference. `names` are the figures that are asked for."""
    of_rows = [name for name in names if name not in PERCENTILES]
    return _past(history, compared) | _past_of_rows(history, compared, of_rows)


def history_for(
    folders: Collection[Path],
    sides: Collection[tuple[Run, Sequence[Measured]]] = (),
    named: Path | None = None,
) -> History | None:
    """What a comparison of these run folders takes the machine's variation from: the runs below a
    folder that was `named`, else those in the same folders as these; None where none can be read.
    `sides` are runs that were read whole, with their cases. ResultsError for a `named` folder
    without a run.
    """
    if named is not None:
        return _history_below(named)
    known = {
        run.path.absolute(): past_run(run, [one.row for one in measured]) for run, measured in sides
    }
    runs = runs_beside(folders, known)
    return history_of(runs) if runs else None


def _history_below(folder: Path) -> History:
    if not folder.is_dir():
        raise ResultsError(
            f"--history: {folder} is no folder", "Name a folder with run folders in it"
        )
    runs, _ = past_runs(folder)
    return history_of(runs)


def _past(history: History, compared: Collection[str]) -> dict[Key, RunVariation]:
    found = {}
    for trend in history.trends:
        points = [point for point in trend.points if point.run.run_id not in compared]
        logs, levels = _without_levels(trend)
        errors = [error for point in points if (error := point.error) is not None]
        own = [logs[point.run.run_id] for point in points]
        variation = from_history(own, levels, errors)
        if variation is not None:
            key = (trend.case_id, trend.percentile, trend.clock, trend.host, trend.cpu)
            found[key] = variation
    return found


def _past_of_rows(
    history: History, compared: Collection[str], names: Collection[str]
) -> dict[Key, RunVariation]:
    """The same of figures that a history does not follow, such as the mean, with whatever changes
    there were in them."""
    logs: dict[Key, list[float]] = {}
    for run in history.runs:
        for case, row in run.cases if run.run_id not in compared else ():
            host = str(row["host"] or "")
            cpu = str(run.environment_of(host).get("cpu") or "")
            for name in names:
                column = "throughput_per_s" if name == THROUGHPUT else f"latency_{name}_us"
                value = number_of(row.get(column)) if is_well(row) else None
                if value:
                    key = (identity_of(case), name, str(row["clock"] or ""), host, cpu)
                    logs.setdefault(key, []).append(math.log(value))
    known = {key: from_history(own) for key, own in logs.items()}
    return {key: variation for key, variation in known.items() if variation is not None}


def _without_levels(trend: Trend) -> tuple[dict[str, float], int]:
    """The logarithms of a series by run with its changes taken out, and how many levels it has:
    what a change of the code moved is no variation of the machine."""
    logs, level = {}, 0.0
    changes = {change.point.run.run_id: change for change in trend.changes}
    for point in trend.points:
        change = changes.get(point.run.run_id)
        if change is not None:
            level += math.log(change.ratio)
        logs[point.run.run_id] = math.log(point.value_us) - level
    return logs, len(changes) + 1
