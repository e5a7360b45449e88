"""The comparison of two runs case by case, with the variation between a machine's past runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cases.column import number_of
from app.cases.errors import ResultsError
from app.cases.objectives import BAND, THROUGHPUT
from app.cases.units import DEFAULT, name_of
from app.columns.rows import Rows
from app.comparison.judge import (
    Comparison,
    Key,
    NotCompared,
    Pair,
    RunVariations,
    clocks_apart,
    ending_of,
    judged,
    without_percentiles,
)
from app.comparison.measured_case import COMPARED, Measured
from app.formatting.case_labels import labels
from app.history.past_runs import past_run, past_runs, runs_beside
from app.history.trends import PERCENTILES, History, Trend, differences, history_of, is_well
from app.plan.reference_cases import ANCHOR_MODEL, is_anchor
from app.run_folder.hosts import environments, identity_of, paired_by
from app.run_folder.manifest import Manifest
from app.run_folder.run import Run
from app.stats.verdict import RunVariation, from_history


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


RUN_BY = ("runtime_version", "call_path")
"""Columns that say what a case was run by, beside the environment of the host."""
_WITH_FIGURES = ("ok", "partial", "imported")
"""Statuses of rows that can be compared with rows of the same status."""


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs: its name, its cases, the environments of the hosts that measured, by
    their names, and of its plan the percentiles and the band within which a change is none.
    `anchor` is the runtime of the case that only shows how the machine was, empty without one; it
    is judged too if `judges_anchor`, where the plan measures the same case for itself."""

    name: str
    cases: tuple[Measured, ...]
    environments: Mapping[str, Mapping[str, Any]]
    percentiles: tuple[float, ...] = DEFAULT
    band: float = BAND
    judge: tuple[str, ...] = COMPARED
    run_id: str = ""
    anchor: str = ""
    judges_anchor: bool = False


def side_of(run: Run, measured: Sequence[Measured] | None = None) -> RunSide:
    """A run folder as a side, under its path; `measured` are its cases, where they are known."""
    cases = Rows().measured(run) if measured is None else measured
    return side_of_manifest(str(run.path), run.manifest, run.environments, cases)


def side_of_manifest(
    name: str,
    manifest: Manifest,
    hosts: Mapping[str, Mapping[str, Any]],
    measured: Sequence[Measured],
) -> RunSide:
    """A run as a side under this name; `hosts` are the environments that its journals recorded."""
    cases, plan = tuple(measured), manifest.asked
    where = environments(manifest, hosts, (one.row for one in cases))
    return RunSide(
        name,
        cases,
        where,
        plan.percentiles,
        plan.band,
        plan.judge,
        manifest.run_id,
        plan.anchor,
        any(ANCHOR_MODEL in sweep.models for sweep in plan.sweeps),
    )


def compare_runs(
    first: RunSide,
    second: RunSide,
    band: float = BAND,
    history: History | None = None,
    judge: Sequence[str] = (),
) -> Comparison:
    """Cases are paired by what makes them, whichever schema named them; clocks are not mixed.

    The `history` of the machine says by how much two runs of it differ without a change. `judge`
    are the figures to judge; without any, those that the second run's plan judges.
    """
    before, after = _paired(first, second)
    names = _labels_of(before, after)
    pairs: list[Pair] = []
    left_out: list[NotCompared] = []
    for key, one in before.items():
        other = after.get(key)
        if other is None or _is_anchor_alone(first, second, one):
            continue
        pair = Pair(names[key], one, other)
        reason, why = _hindrance(pair, first.name)
        if reason:
            lost = _has_figures(one) and other.summary is None
            left_out.append(NotCompared(other.case.identity_id, names[key], reason, why, lost))
        else:
            pairs.append(pair)
    names_of_both = judge or figures_of(first, second)
    variations = _variations(first, second, history, names_of_both)
    cases = judged(pairs, band, False, names_of_both, variations)
    anchor = variations.anchor_ratios(names_of_both)
    return Comparison(
        first.name,
        second.name,
        band,
        False,
        cases,
        (*left_out, *without_percentiles(pairs, cases)),
        tuple(names[key] for key in before if key not in after),
        tuple(names[key] for key in after if key not in before),
        (*_of_hosts(first.environments, second.environments), *_of_cases(pairs)),
        anchor=anchor,
    )


def _variations(
    first: RunSide, second: RunSide, history: History | None, names: Sequence[str]
) -> RunVariations:
    """What is known of how far these two runs differ; hosts count that have the same processor in
    both."""
    cpus = {
        host: str(environment.get("cpu") or "")
        for host, environment in second.environments.items()
        if first.environments.get(host, {}).get("cpu") == environment.get("cpu")
    }
    past = {} if history is None else past_variations(history, {first.run_id, second.run_id}, names)
    return RunVariations(past, cpus, _anchors(first, second))


def _anchors(first: RunSide, second: RunSide) -> tuple[Measured, Measured] | None:
    """The anchor of both runs, if it is the same case and well in both."""
    one, other = _anchor_of(first), _anchor_of(second)
    if one is None or other is None or one.case.identity_id != other.case.identity_id:
        return None
    return one, other


def _anchor_of(side: RunSide) -> Measured | None:
    wanted = (one for one in side.cases if one.is_well and is_anchor(one.case, side.anchor))
    return next(wanted, None)


def _is_anchor_alone(first: RunSide, second: RunSide, one: Measured) -> bool:
    """Whether neither plan measures this case for itself: it shows the machine and is no result."""
    return not (first.judges_anchor or second.judges_anchor) and (
        is_anchor(one.case, first.anchor) and is_anchor(one.case, second.anchor)
    )


def _hindrance(pair: Pair, first: str) -> tuple[str, str]:
    """Why a pair can have no verdict: a code and a sentence, both empty if it can have one.

    Rows that are partial, or imported, are compared with their like alone.
    """
    if not _has_figures(pair.first):
        reason, why = ending_of(pair.first)
        return reason, f"not measured in {first}: {why}"
    if not _has_figures(pair.second):
        return ending_of(pair.second)
    statuses = [str(side.row["status"]) for side in (pair.first, pair.second)]
    if statuses[0] != statuses[1]:
        reason = next(status for status in reversed(statuses) if status != "ok")
        return reason, f"{statuses[1]}, and {statuses[0]} in {first}"
    return clocks_apart(pair)


def _has_figures(side: Measured) -> bool:
    known = side.row["status"] in _WITH_FIGURES and side.row["valid"] is not False
    return known and side.summary is not None


def _labels_of(before: Mapping[str, Measured], after: Mapping[str, Measured]) -> Mapping[str, str]:
    """What each case of either side is called, so that no two are called the same: the cases of the
    first as among themselves, where that sets them apart from those that only the second has."""
    cases = {key: one.case for key, one in (*after.items(), *before.items())}
    of_both = labels(list(cases.values()))
    of_first = labels([one.case for one in before.values()])
    names = {
        key: of_first[case.case_id] if key in before else of_both[case.case_id]
        for key, case in cases.items()
    }
    if len(set(names.values())) == len(names):
        return names
    return {key: of_both[case.case_id] for key, case in cases.items()}


def _of_hosts(
    first: Mapping[str, Mapping[str, Any]], second: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    """What the two hosts do not share; of several each with itself, and which they are."""
    if max(len(first), len(second)) <= 1:
        yield from differences(*(next(iter(known.values()), {}) for known in (first, second)))
        return
    if first.keys() != second.keys():
        yield "hosts", ", ".join(first), ", ".join(second)
    for host in (name for name in first if name in second):
        for name, one, other in differences(first[host], second[host]):
            yield f"{host} {name}", one, other


def _of_cases(pairs: Sequence[Pair]) -> tuple[tuple[str, str, str], ...]:
    """What the same cases were run by, where it is not the same: each difference once."""
    return tuple(
        dict.fromkeys(
            (name, str(pair.first.row.get(name)), str(pair.second.row.get(name)))
            for pair in pairs
            for name in RUN_BY
            if pair.first.row.get(name) != pair.second.row.get(name)
        )
    )


def figures_of(first: RunSide, second: RunSide) -> tuple[str, ...]:
    """What the second plan judges; where it leaves that open the percentiles that both plans chose,
    p50 and p99 where neither chose any."""
    if second.judge != COMPARED:
        return second.judge
    if first.percentiles == second.percentiles == DEFAULT:
        return COMPARED
    return tuple(name_of(one) for one in first.percentiles if one in second.percentiles)


def _paired(*sides: RunSide) -> list[dict[str, Measured]]:
    """The cases of each side by what pairs them with the other's."""
    keys = paired_by([[(one.case, one.row.get("host")) for one in side.cases] for side in sides])
    return [dict(zip(own, side.cases, strict=True)) for own, side in zip(keys, sides, strict=True)]
