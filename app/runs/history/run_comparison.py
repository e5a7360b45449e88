"""The comparison of two runs case by case, with the variation between a machine's past runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from app.analysis.columns.rows import Rows
from app.analysis.comparison.judge import (
    Comparison,
    judge_pairs,
    missing_percentiles,
)
from app.analysis.comparison.measured_case import COMPARED, MeasuredCase
from app.analysis.comparison.pairing import (
    CYCLES,
    Key,
    Pair,
    RunVariations,
    ending_reason,
    pairing_of,
    timing_obstacle,
)
from app.cases.case import identity_of, pairing_keys
from app.cases.column import Row, number_of
from app.cases.errors import PlanError, ResultsError
from app.cases.objectives import BAND, THROUGHPUT
from app.cases.process_settings import ProcessSettings
from app.cases.units import DEFAULT, name_of
from app.formatting.case_labels import labels
from app.run_folder.manifest import Manifest, environments
from app.run_folder.run import Run
from app.runs.history.past_runs import neighbouring_runs, past_run, past_runs
from app.runs.history.trends import PERCENTILES, History, Trend, differences, history_of, is_well
from app.stats.verdict import RunVariation, from_history


def past_variations(
    history: History, excluded_ids: Collection[str], names: Collection[str] = PERCENTILES
) -> dict[Key, RunVariation]:
    """By case and figure how far the runs of a history differ, those that are `excluded_ids` left
    out: two runs say nothing of their own difference. `names` are the figures that are asked
    for."""
    row_figures = [CYCLES, *(name for name in names if name not in PERCENTILES)]
    return _past_variations(history, excluded_ids) | _past_variations_of_rows(
        history, excluded_ids, row_figures
    )


def history_for(
    folders: Collection[Path],
    sides: Collection[tuple[Run, Sequence[MeasuredCase]]] = (),
    history_folder: Path | None = None,
) -> History | None:
    """What a comparison of these run folders takes the machine's variation from: the runs below a
    folder that was `history_folder`, else those in the same folders as these; None where none can
    be read. `sides` are runs that were read whole, with their cases. ResultsError for a
    `history_folder` folder without a run.
    """
    if history_folder is not None:
        return _history_below(history_folder)
    known_runs = {
        run.path.absolute(): past_run(run, [measurement.row for measurement in measurements])
        for run, measurements in sides
    }
    runs = neighbouring_runs(folders, known_runs)
    return history_of(runs) if runs else None


def _history_below(folder: Path) -> History:
    if not folder.is_dir():
        raise ResultsError(
            f"--history: {folder} is no folder", "Name a folder with run folders in it"
        )
    runs, _ = past_runs(folder)
    return history_of(runs)


def _past_variations(history: History, excluded_ids: Collection[str]) -> dict[Key, RunVariation]:
    variations = {}
    for trend in history.trends:
        points = [point for point in trend.points if point.run.run_id not in excluded_ids]
        logs, levels = _without_levels(trend)
        errors = [error for point in points if (error := point.error) is not None]
        values = [logs[point.run.run_id] for point in points]
        variation = from_history(values, levels, errors)
        if variation is not None:
            key = (trend.case_id, trend.percentile, trend.clock, trend.host, trend.cpu)
            variations[key] = variation
    return variations


def _past_variations_of_rows(
    history: History, excluded_ids: Collection[str], names: Collection[str]
) -> dict[Key, RunVariation]:
    """The same of figures that a history does not follow, such as the mean, with whatever changes
    there were in them."""
    logs: dict[Key, list[float]] = {}
    for run in history.runs:
        for case, row in run.cases if run.run_id not in excluded_ids else ():
            host = str(row["host"] or "")
            cpu = str(run.environment_of(host).get("cpu") or "")
            for name in names:
                if is_well(row) and (value := _figure_of(row, name)):
                    key = (identity_of(case), name, str(row["clock"] or ""), host, cpu)
                    logs.setdefault(key, []).append(math.log(value))
    variations = {key: from_history(values) for key, values in logs.items()}
    return {key: variation for key, variation in variations.items() if variation is not None}


def _figure_of(row: Row, name: str) -> float | None:
    if name == CYCLES:
        p50_us, mhz = (number_of(row.get(f"typical_clock_{part}")) for part in ("p50_us", "mhz"))
        return p50_us * mhz if p50_us and mhz else None
    return number_of(row.get("throughput_per_s" if name == THROUGHPUT else f"latency_{name}_us"))


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


_WITH_FIGURES = ("ok", "partial", "imported")
"""Statuses of rows that can be compared with rows of the same status."""


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs: its name, its cases, the environments of the hosts that measured, by
    their names, and of its plan the percentiles, the band within which a change is none, and what
    was asked of the measuring processes."""

    name: str
    cases: tuple[MeasuredCase, ...]
    environments: Mapping[str, Mapping[str, Any]]
    percentiles: tuple[float, ...] = DEFAULT
    band: float = BAND
    judge: tuple[str, ...] = COMPARED
    run_ids: frozenset[str] = frozenset()
    asked: ProcessSettings = field(default_factory=ProcessSettings)


def reject_same_run(first: Run, second_ids: frozenset[str]) -> None:
    """PlanError for runs that are one run or copies of one, or unions with the same run: such
    rounds show nothing of a change."""
    shared_ids = sorted(first.run_ids & second_ids)
    if shared_ids:
        raise PlanError(
            f"{first.path}: both are of run {shared_ids[0]}, so the two can't show a difference",
            "Name two runs that were measured apart",
        )


def side_of(run: Run, measurements: Sequence[MeasuredCase] | None = None) -> RunSide:
    """A run folder as a side, under its path; `measurements` are its cases, where they are
    known."""
    cases = Rows().measured(run) if measurements is None else measurements
    name = " ".join(map(str, run.paths))
    side = side_of_manifest(name, run.manifest, run.environments, cases)
    return replace(side, run_ids=run.run_ids)


def side_of_manifest(
    name: str,
    manifest: Manifest,
    hosts: Mapping[str, Mapping[str, Any]],
    measurements: Sequence[MeasuredCase],
) -> RunSide:
    """A run as a side under this name; `hosts` are the environments that its journals recorded."""
    cases, plan = tuple(measurements), manifest.requested_plan
    where = environments(manifest, hosts, (measurement.row for measurement in cases))
    return RunSide(
        name,
        cases,
        where,
        plan.percentiles,
        plan.band,
        plan.judge,
        frozenset({manifest.run_id}),
        plan,
    )


def compare_runs(
    first: RunSide,
    second: RunSide,
    band: float = BAND,
    history: History | None = None,
    judge: Sequence[str] = (),
) -> Comparison:
    """Cases are paired by what makes them; clocks are not mixed.

    The `history` of the machine says by how much two runs of it differ without a change. `judge`
    are the figures to judge; without any, those that the second run's plan judges.
    """
    first_cases, second_cases = _cases_by_key(first, second)
    names = _labels_of(first_cases, second_cases)
    candidates = (
        Pair(names[key], first_case, second_cases[key])
        for key, first_case in first_cases.items()
        if key in second_cases
    )
    pairing = pairing_of(candidates, partial(_obstacle, first=first.name), _is_lost)
    figures = judge or figures_of(first, second)
    variations = _variations(first, second, history, figures)
    cases = judge_pairs(pairing.pairs, band, False, figures, variations)
    return Comparison(
        first.name,
        second.name,
        band,
        False,
        cases,
        (*pairing.not_compared, *missing_percentiles(pairing.pairs, cases)),
        tuple(names[key] for key in first_cases if key not in second_cases),
        tuple(names[key] for key in second_cases if key not in first_cases),
        (
            *_host_differences(first.environments, second.environments),
            *differences(*map(_process_settings, (first, second))),
            *_case_differences(pairing.pairs),
        ),
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
    cores = {
        host: int(second.environments[host]["cores_logical"])
        for host in cpus
        if second.environments[host].get("cores_logical")
    }
    history_variations = (
        {} if history is None else past_variations(history, first.run_ids | second.run_ids, names)
    )
    return RunVariations(history_variations, cpus, cores)


def _obstacle(pair: Pair, first: str) -> tuple[str, str]:
    """Why a pair can have no verdict: a code and a sentence, both empty if it can have one.

    Rows that are partial, or imported, are compared with their like alone.
    """
    if not _has_figures(pair.first):
        reason, detail = ending_reason(pair.first)
        return reason, f"not measured in {first}: {detail}"
    if not _has_figures(pair.second):
        return ending_reason(pair.second)
    statuses = [str(side.row["status"]) for side in (pair.first, pair.second)]
    if statuses[0] != statuses[1]:
        reason = next(status for status in reversed(statuses) if status != "ok")
        return reason, f"{statuses[1]}, and {statuses[0]} in {first}"
    return timing_obstacle(pair)


def _is_lost(pair: Pair) -> bool:
    """Whether the first run measured the case and the second did not."""
    return _has_figures(pair.first) and pair.second.summary is None


def _has_figures(side: MeasuredCase) -> bool:
    is_usable = side.row["status"] in _WITH_FIGURES and side.row["valid"] is not False
    return is_usable and side.summary is not None


def _labels_of(
    first_cases: Mapping[str, MeasuredCase], second_cases: Mapping[str, MeasuredCase]
) -> Mapping[str, str]:
    """What each case of either side is called, so that no two are called the same: the cases of the
    first as among themselves, where that sets them apart from those that only the second has."""
    cases = {
        key: measurement.case for key, measurement in (*second_cases.items(), *first_cases.items())
    }
    all_labels = labels(list(cases.values()))
    first_labels = labels([measurement.case for measurement in first_cases.values()])
    names = {
        key: first_labels[case.case_id] if key in first_cases else all_labels[case.case_id]
        for key, case in cases.items()
    }
    if len(set(names.values())) == len(names):
        return names
    return {key: all_labels[case.case_id] for key, case in cases.items()}


def _host_differences(
    first: Mapping[str, Mapping[str, Any]], second: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    """What the two hosts do not share; of several each with itself, and which they are."""
    if max(len(first), len(second)) <= 1:
        yield from differences(*(next(iter(by_host.values()), {}) for by_host in (first, second)))
        return
    if first.keys() != second.keys():
        yield "hosts", ", ".join(first), ", ".join(second)
    for host in (name for name in first if name in second):
        for name, first_value, second_value in differences(first[host], second[host]):
            yield f"{host} {name}", first_value, second_value


def _process_settings(side: RunSide) -> dict[str, Any]:
    """What a run asked of its measuring processes, which no environment shows."""
    return {one.name: getattr(side.asked, one.name) for one in fields(ProcessSettings)}


def _case_differences(pairs: Sequence[Pair]) -> tuple[tuple[str, str, str], ...]:
    """What the same cases were run by, where it is not the same: each difference once."""
    name = "runtime_version"
    versions = ((str(pair.first.row[name]), str(pair.second.row[name])) for pair in pairs)
    return tuple(dict.fromkeys((name, old, new) for old, new in versions if old != new))


def figures_of(first: RunSide, second: RunSide) -> tuple[str, ...]:
    """What the second plan judges; where it leaves that open the percentiles that both plans chose,
    p50 and p99 where neither chose any."""
    if second.judge != COMPARED:
        return second.judge
    if first.percentiles == second.percentiles == DEFAULT:
        return COMPARED
    return tuple(
        name_of(percentile) for percentile in first.percentiles if percentile in second.percentiles
    )


def _cases_by_key(*sides: RunSide) -> list[dict[str, MeasuredCase]]:
    """The cases of each side by what pairs them with the other's."""
    keys = pairing_keys(
        [
            [(measurement.case, measurement.row.get("host")) for measurement in side.cases]
            for side in sides
        ]
    )
    return [
        dict(zip(case_keys, side.cases, strict=True))
        for case_keys, side in zip(keys, sides, strict=True)
    ]
