"""Two runs compared case by case, and where their environments differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.cases.percentiles import DEFAULT, name_of
from app.cases.verdict import BAND
from app.results.hosts import environments, paired_by
from app.results.labels import labels
from app.results.measured import COMPARED, Measured
from app.results.rows import Rows
from app.results.run import Run
from app.results.verdicts import Comparison, Pair, judged

RUN_BY = ("runtime_version", "call_path")
"""Columns that say what a case was run by, beside the environment of the host."""


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs: its name, its cases, the environments of the hosts that measured, by
    their names, and of its plan the percentiles and the band within which a change is none."""

    name: str
    cases: tuple[Measured, ...]
    environments: Mapping[str, Mapping[str, Any]]
    percentiles: tuple[float, ...] = DEFAULT
    band: float = BAND


def side_of(run: Run, measured: Sequence[Measured] | None = None) -> RunSide:
    """A run folder as a side, under its path; `measured` are its cases, where they are known."""
    manifest, plan = run.manifest, run.manifest.asked
    cases = tuple(Rows().measured(run) if measured is None else measured)
    where = environments(manifest, run.environments, (one.row for one in cases))
    return RunSide(str(run.path), cases, where, plan.percentiles, plan.band)


def compare_runs(first: RunSide, second: RunSide, band: float = BAND) -> Comparison:
    """Cases are paired by what makes them, whichever schema named them; clocks are not mixed."""
    before, after = _paired(first, second)
    names = labels([one.case for one in first.cases])
    lost: dict[str, str] = {}
    pairs: list[Pair] = []
    for key, one in before.items():
        other = after.get(key)
        if other is None or one.summary is None:
            continue
        label = names[one.case.case_id]
        if other.summary is None:
            lost[label] = f"{other.row['status']}: {other.row['reason'] or 'not measured'}"
        elif one.row["clock"] == other.row["clock"]:
            pairs.append(Pair(label, one, other))
    return Comparison(
        first.name,
        second.name,
        band,
        False,
        judged(pairs, band, in_turn=False, names=_told_by_both(first, second)),
        lost,
        _absent(before, after),
        _absent(after, before),
        (*_of_hosts(first.environments, second.environments), *_of_cases(pairs)),
    )


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


def _told_by_both(first: RunSide, second: RunSide) -> tuple[str, ...]:
    """The percentiles that both plans chose; p50 and p99 where neither chose any."""
    if first.percentiles == second.percentiles == DEFAULT:
        return COMPARED
    return tuple(name_of(one) for one in first.percentiles if one in second.percentiles)


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


def _paired(*sides: RunSide) -> list[dict[str, Measured]]:
    """The cases of each side by what pairs them with the other's."""
    keys = paired_by([[(one.case, one.row.get("host")) for one in side.cases] for side in sides])
    return [dict(zip(own, side.cases, strict=True)) for own, side in zip(keys, sides, strict=True)]


def _absent(some: Mapping[str, Measured], others: Mapping[str, Measured]) -> tuple[str, ...]:
    names = labels([one.case for one in some.values()])
    return tuple(names[one.case.case_id] for key, one in some.items() if key not in others)
