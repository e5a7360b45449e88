"""Trends over many runs: each case's figures over time, and where its level changed.

Cases are paired by what makes them; figures of other clocks, and unless asked for of other
machines, are other series. What all series of a machine share is taken out of them and is a series
itself, the machine's: a reboot is no change of any case.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from app.analysis.comparison.pairing import OTHER_CLOCK, UncomparedCase
from app.cases.case import Case, identity_of
from app.cases.column import Row, number_of
from app.cases.objectives import BAND
from app.formatting.case_labels import labels
from app.run_folder.journal import FOLDER as JOURNAL
from app.run_folder.manifest import FULL_TABLE
from app.runs.history.past_runs import PastRun, SkippedFolder, past_runs
from app.runs.verify import read_intact
from app.stats.change_points import (
    MINIMUM_RUNS,
    MINIMUM_SERIES,
    ChangePoint,
    change_points,
    common_factor,
)
from app.stats.intervals import MINIMUM_ROUNDS, t_quantile
from app.stats.quantiles import CONFIDENCE


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(name, first value, second value) of what the environments do not share."""
    a, b = _flat(first), _flat(second)
    return [
        (name, a.get(name, "not known"), b.get(name, "not known"))
        for name in dict.fromkeys([*a, *b])
        if a.get(name) != b.get(name)
    ]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif value not in (None, ""):
            flat[prefix + name] = f"{value:.4g}" if isinstance(value, float) else str(value)
    return flat


PERCENTILES = ("p50", "p99")
_TELLING = ("graphlap_version", "model_sha256", "runtime_version", "options", "call_path")
"""Columns that may explain a change, beside the environment."""
Attributes = Mapping[str, Any]
"""What a run tells of the machine and of how a case was run, by name."""
_ALWAYS_ANOTHER = frozenset({"load_1min"})


@dataclass(frozen=True, slots=True)
class Point:
    """One run's figure in microseconds; the ends of its interval are None where it has none, as
    the median over several hosts of one run has none. `machine` is how many times as slow as
    usual the machine was in this run; 1 where that is not known."""

    run: PastRun
    value_us: float
    low_us: float | None
    high_us: float | None
    machine: float = 1.0
    rounds: int = 0

    @property
    def error(self) -> float | None:
        """The standard error of the figure's logarithm by the run's rounds, where it is known."""
        if not (self.low_us and self.high_us) or self.rounds < MINIMUM_ROUNDS:
            return None
        reach = t_quantile(self.rounds - 1, 0.5 + CONFIDENCE / 2.0)
        return math.log(self.high_us / self.low_us) / (2.0 * reach)


@dataclass(frozen=True, slots=True)
class Change:
    """`point` is the first run of the new level; both levels are medians over runs, in
    microseconds of the machine as it usually is. `differs` is what that run does not share with
    the one before: name, before, after."""

    point: Point
    before_us: float
    after_us: float
    p_value: float
    differs: tuple[tuple[str, str, str], ...]

    @property
    def ratio(self) -> float:
        return self.after_us / self.before_us

    @property
    def word(self) -> str:
        """As verdicts are called."""
        return "slower" if self.ratio > 1.0 else "faster"


@dataclass(frozen=True, slots=True)
class Trend:
    """One percentile of one case on one machine, in order of time."""

    case_id: str
    label: str
    percentile: str
    host: str
    cpu: str
    clock: str
    points: tuple[Point, ...]
    changes: tuple[Change, ...]

    @property
    def typical_us(self) -> float:
        """The median of the runs since the last change, or of all, as they were measured."""
        begin = self.points.index(self.changes[-1].point) if self.changes else 0
        return statistics.median(point.value_us for point in self.points[begin:])

    def levels(self) -> list[tuple[int, int, float]]:
        """First run, last run and level in microseconds between changes; none without a change."""
        if not self.changes:
            return []
        begins = [self.points.index(change.point) for change in self.changes]
        levels_us = [self.changes[0].before_us, *(change.after_us for change in self.changes)]
        edges = pairwise([0, *begins, len(self.points)])
        return [
            (begin, end - 1, level) for (begin, end), level in zip(edges, levels_us, strict=True)
        ]

    @property
    def last_change(self) -> Change | None:
        return self.changes[-1] if self.changes else None


@dataclass(frozen=True, slots=True)
class MachineChange:
    """A change of what all cases share, from `run` on: the levels before and after it are how many
    times as slow as usual the machine was. `differs` is of the environments alone."""

    run: PastRun
    previous_level: float
    new_level: float
    p_value: float
    differs: tuple[tuple[str, str, str], ...]

    @property
    def ratio(self) -> float:
        return self.new_level / self.previous_level

    @property
    def word(self) -> str:
        """As verdicts are called."""
        return "slower" if self.ratio > 1.0 else "faster"


@dataclass(frozen=True, slots=True)
class MachineTrend:
    """What so many `series` of one percentile share, by run: how many times as slow as usual."""

    percentile: str
    host: str
    cpu: str
    clock: str
    series: int
    factors: tuple[tuple[PastRun, float], ...]
    changes: tuple[MachineChange, ...]


@dataclass(frozen=True, slots=True)
class History:
    """`runs` are in order of time; `passed_over` are the folders that were not taken, with why.

    `machines` has what the series of each machine, clock and percentile share, where they are
    enough to tell that.
    """

    folder: str
    band: float
    runs: tuple[PastRun, ...]
    trends: tuple[Trend, ...]
    passed_over: tuple[SkippedFolder, ...]
    machines: tuple[MachineTrend, ...] = ()

    @property
    def without_factor(self) -> int:
        """How many series are judged as they are, since too few beside them show the machine."""
        groups = {(m.percentile, m.host, m.cpu, m.clock) for m in self.machines}
        keys = ((t.percentile, t.host, t.cpu, t.clock) for t in self.trends)
        return sum(group not in groups for group in keys)

    def trends_with(self, word: str) -> list[Trend]:
        """Those whose last change is of this word."""
        return [t for t in self.trends if t.last_change is not None and t.last_change.word == word]


@dataclass(frozen=True, slots=True)
class _Key:
    case_id: str
    percentile: str
    clock: str
    host: str
    cpu: str


def read_history(folder: Path, band: float = BAND, any_host: bool = False) -> History:
    """The history of the runs below a folder; ResultsError if there is none.

    `any_host` takes the runs of all machines for one series, of which each run is one point: of a
    merged run the median over its hosts.
    """
    runs, passed_over = past_runs(folder)
    return replace(
        history_of(runs, band, any_host), folder=str(folder), passed_over=tuple(passed_over)
    )


def history_of(runs: Sequence[PastRun], band: float = BAND, any_host: bool = False) -> History:
    """The same of runs that were read, the oldest first."""
    series: dict[_Key, list[tuple[Point, Attributes]]] = {}
    cases: dict[str, Case] = {}
    for run in runs:
        points_by_key: dict[_Key, list[tuple[Point, Attributes]]] = {}
        for case, row in run.cases:
            cases.setdefault(identity_of(case), case)
            for key, point in _points(run, case, row, any_host):
                points_by_key.setdefault(key, []).append((point, _attributes(run, row)))
        for key, host_points in points_by_key.items():
            series.setdefault(key, []).append(_merge_hosts(host_points))
    names = labels(list(cases.values()))
    machines = _separate_factors(series, runs, band)
    figures = [[p.value_us / p.machine for p, _ in points] for points in series.values()]
    change_lists = change_points(figures, band)
    trends = (
        Trend(
            key.case_id,
            names[cases[key.case_id].case_id],
            key.percentile,
            key.host,
            key.cpu,
            key.clock,
            tuple(point for point, _ in points),
            tuple(_change(points, change) for change in changes),
        )
        for (key, points), changes in zip(series.items(), change_lists, strict=True)
    )
    return History("", band, tuple(runs), tuple(trends), (), machines)


def _separate_factors(
    series: dict[_Key, list[tuple[Point, Attributes]]], runs: Sequence[PastRun], band: float
) -> tuple[MachineTrend, ...]:
    """What the series of each machine, clock and percentile share, and the points of `series` told
    of it, where they are three or more."""
    groups: dict[tuple[str, str, str, str], list[_Key]] = {}
    for key in series:
        groups.setdefault((key.percentile, key.host, key.cpu, key.clock), []).append(key)
    shared_groups: list[tuple[tuple[str, str, str, str], int, list[PastRun], np.ndarray]] = []
    for group, keys in groups.items():
        if len(keys) < MINIMUM_SERIES:
            continue
        ids = {point.run.run_id for key in keys for point, _ in series[key]}
        group_runs = [run for run in runs if run.run_id in ids]
        places = {run.run_id: place for place, run in enumerate(group_runs)}
        logs = np.full((len(keys), len(group_runs)), np.nan)
        for row, key in enumerate(keys):
            for point, _ in series[key]:
                logs[row, places[point.run.run_id]] = np.log(point.value_us)
        factor = common_factor(logs)
        if factor is None:
            continue
        slow = np.exp(factor)
        for key in keys:
            series[key] = [
                (replace(point, machine=float(slow[places[point.run.run_id]])), attributes)
                for point, attributes in series[key]
            ]
        shared_groups.append((group, len(keys), group_runs, slow))
    change_lists = change_points([slow.tolist() for _, _, _, slow in shared_groups], band)
    return tuple(
        MachineTrend(
            *group,
            count,
            tuple(zip(group_runs, slow.tolist(), strict=True)),
            tuple(_machine_change(group_runs, group[1], change) for change in changes),
        )
        for (group, count, group_runs, slow), changes in zip(
            shared_groups, change_lists, strict=True
        )
    )


def _machine_change(runs: Sequence[PastRun], host: str, change: ChangePoint) -> MachineChange:
    previous, first = (_environment(run, host) for run in runs[change.place - 1 : change.place + 1])
    differs = tuple(differences(previous, first))
    return MachineChange(
        runs[change.place], change.previous_level, change.new_level, change.p_value, differs
    )


def _environment(run: PastRun, host: str) -> Attributes:
    environment = run.environment_of(host)
    return {name: environment[name] for name in environment if name not in _ALWAYS_ANOTHER}


def is_well(row: Row) -> bool:
    """Whether its figures are points of a series."""
    return row["status"] == "ok" and row["valid"] is not False


def _points(run: PastRun, case: Case, row: Row, any_host: bool) -> Iterator[tuple[_Key, Point]]:
    """What is well in a row, one for each percentile."""
    if not is_well(row):
        return
    host = str(row["host"] or "")
    cpu = str(run.environment_of(host).get("cpu") or "")
    machine = ("", "") if any_host else (host, cpu)
    for name in PERCENTILES:
        value = number_of(row[f"latency_{name}_us"])
        if value:
            low, high = (number_of(row[f"latency_{name}_ci_{end}_us"]) for end in ("low", "high"))
            key = _Key(identity_of(case), name, str(row["clock"] or ""), *machine)
            rounds = int(number_of(row["rounds"]) or 0)
            yield key, Point(run, value, low, high, rounds=rounds)


def _merge_hosts(host_points: Sequence[tuple[Point, Attributes]]) -> tuple[Point, Attributes]:
    """One point of a run and what is the same on all of the hosts that measured it."""
    (first, attributes), *rest = host_points
    if not rest:
        return first, attributes
    value_us = statistics.median(point.value_us for point, _ in host_points)
    shared_attributes = {
        name: value
        for name, value in attributes.items()
        if all(name in other and other[name] == value for _, other in rest)
    }
    return Point(first.run, value_us, None, None), shared_attributes


def _change(series: Sequence[tuple[Point, Attributes]], change: ChangePoint) -> Change:
    (_, previous), (first, current) = series[change.place - 1 : change.place + 1]
    differs = differences(previous, current)
    return Change(first, change.previous_level, change.new_level, change.p_value, tuple(differs))


def _attributes(run: PastRun, row: Row) -> Attributes:
    return {**_environment(run, str(row["host"] or "")), **{name: row[name] for name in _TELLING}}


DAMAGED, NOT_PLANNED = "damaged", "no_longer_planned"
OTHER_HOST, TOO_FEW_RUNS = "other_host", "too_few_runs"
"""Reasons, beside the statuses of rows and `OTHER_CLOCK`."""


def uncompared_cases(history: History) -> tuple[UncomparedCase, ...]:
    """What is damaged of the newest run, its cases that were measured before and can't be judged
    now, and one for all if no series is long enough; its samples are read."""
    newest = history.runs[-1]
    return (
        *_damage_reports(history, newest),
        *_unusable_cases(history, newest),
        *_dropped_cases(history, newest),
        *_short_series(history, newest),
    )


def _damage_reports(history: History, newest: PastRun) -> Iterator[UncomparedCase]:
    """Of a run that can't be dated nobody knows that it is not the newest."""
    for folder in history.passed_over:
        date = folder.created_at_utc
        if folder.damaged and (date is None or date >= newest.created_at_utc):
            yield UncomparedCase("", "", DAMAGED, folder.reason)
    intact = read_intact(newest.path)
    for sentence in intact.damage_texts:
        yield UncomparedCase("", "", DAMAGED, f"{newest.path}: {sentence}")
    missing_cases = [
        case for case, row in newest.cases if is_well(row) and not intact.run.rounds_of(case)
    ]
    if missing_cases:
        count = len(missing_cases)
        detail = f"{FULL_TABLE} has {count} cases of which no round is left: restore {JOURNAL}"
        yield UncomparedCase("", "", DAMAGED, f"{newest.path}: {detail}")


def _unusable_cases(history: History, newest: PastRun) -> Iterator[UncomparedCase]:
    labels, clocks = dict[str, str](), dict[str, set[str]]()
    for trend in history.trends:
        if any(point.run is not newest for point in trend.points):
            labels[trend.case_id] = trend.label
            clocks.setdefault(trend.case_id, set()).add(trend.clock)
    for case, row in newest.cases:
        case_id, clock = identity_of(case), str(row["clock"] or "")
        if case_id not in labels:
            continue
        if not is_well(row):
            detail = f"{row['status']} in {newest.path}: {row['reason'] or 'not valid'}"
            reason = str(row["status"]) if row["status"] != "ok" else "not_valid"
            yield UncomparedCase(case_id, labels[case_id], reason, detail)
        elif clock not in clocks[case_id]:
            previous_clocks = ", ".join(sorted(clocks[case_id]))
            detail = f"the clock was {previous_clocks}, and is {clock} in {newest.path}"
            yield UncomparedCase(case_id, labels[case_id], OTHER_CLOCK, detail)


def _dropped_cases(history: History, newest: PastRun) -> Iterator[UncomparedCase]:
    """What the run before it measured and it has no case of, if they have others in common: the
    one before of the same plan's name."""
    current_ids = {identity_of(case) for case, _ in newest.cases}
    labels = {trend.case_id: trend.label for trend in history.trends}
    for previous in reversed([run for run in history.runs[:-1] if run.name == newest.name]):
        usable_ids = [identity_of(case) for case, row in previous.cases if is_well(row)]
        if current_ids.intersection(usable_ids):
            detail = f"in {previous.path}, and not in {newest.path}"
            missing_ids = [
                case_id
                for case_id in dict.fromkeys(usable_ids)
                if case_id not in current_ids and case_id in labels
            ]
            yield from (
                UncomparedCase(case_id, labels[case_id], NOT_PLANNED, detail)
                for case_id in missing_ids
            )
            return


def _short_series(history: History, newest: PastRun) -> Iterator[UncomparedCase]:
    """Where no series with the newest run has runs enough."""
    long = [trend for trend in history.trends if len(trend.points) >= MINIMUM_RUNS]
    current = [trend for trend in history.trends if trend.points[-1].run is newest]
    if any(trend in long for trend in current):
        return
    long_keys = {(trend.case_id, trend.clock) for trend in long}
    if any((trend.case_id, trend.clock) in long_keys for trend in current):
        detail = (
            f"{newest.path} is of another machine than the runs before it: --any-host takes the "
            "runs of all machines for one series"
        )
        yield UncomparedCase("", "", OTHER_HOST, detail)
    else:
        detail = f"no series with {newest.path} has the {MINIMUM_RUNS} runs that a change takes"
        yield UncomparedCase("", "", TOO_FEW_RUNS, detail)
