"""Hosts of a run: cases paired across hosts, and the plans of several runs as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.cases.case import Case
from app.cases.errors import ResultsError
from app.plan.plan import Plan
from app.run_folder.manifest import Manifest, MergedRun
from app.run_folder.run import Run
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic


def host_warnings(run: Run, case: Case) -> Iterator[Diagnostic]:
    """Rounds of several machines, as when a run was resumed on another one."""
    hosts = dict.fromkeys(writer.host for writer in run.writers.get(case.case_id, {}).values())
    if len(hosts) > 1:
        yield diagnostic("several_hosts", hosts=tuple(hosts))


def environments(
    manifest: Manifest,
    recorded_hosts: Mapping[str, Mapping[str, Any]],
    rows: Iterable[Mapping[str, Any]],
) -> Mapping[str, Mapping[str, Any]]:
    """What each host of these rows was; `told` is by the journals, of which those of a host that
    only began the run tell no row. Where they tell none it is the host that began the run."""
    initial, hosts = manifest.environment, {str(row.get("host")) for row in rows}
    measured_hosts = {
        host: environment for host, environment in recorded_hosts.items() if host in hosts
    }
    return (
        measured_hosts
        or recorded_hosts
        or ({str(initial.get("host") or ""): initial} if initial else {})
    )


def have_hosts(cases: Iterable[Case]) -> bool:
    """Whether these cases are each of a host, so that the same is told by host from itself."""
    return any(case.host for case in cases)


def case_on_host(case: Case, host: object) -> Case:
    """The case as a run of several hosts calls it, of one that this host measured."""
    return case if case.host or not host else replace(case, host=str(host))


def identity_test(cases: Iterable[tuple[Case, object]]) -> Callable[[Case, object], bool]:
    """Whether another run's case, given with the host that measured it, is the same as one of these
    cases, given likewise."""
    pairs = list(cases)
    has_hosts = have_hosts(case for case, _ in pairs)
    ids = {case.case_id for case, _ in pairs}
    ids |= {case_on_host(case, host).case_id for case, host in pairs}

    def is_same(case: Case, host: object) -> bool:
        return case.case_id in ids or (
            has_hosts and not case.host and case_on_host(case, host).case_id in ids
        )

    return is_same


def pairing_keys(sides: Sequence[Iterable[tuple[Case, object]]]) -> list[list[str]]:
    """For each side's cases, given with the hosts that measured them, what pairs them with those of
    other sides: what makes a case, and its host where some side tells cases apart by that."""
    side_lists = [list(side) for side in sides]
    has_hosts = any(have_hosts(case for case, _ in side) for side in side_lists)
    return [
        [(case_on_host(case, host) if has_hosts else case).case_id for case, host in side]
        for side in side_lists
    ]


def identity_of(case: Case) -> str:
    """What makes a case, whether or not its run tells it apart by its host: each is of one."""
    return replace(case, host="").case_id if case.host else case.case_id


NAME = "merged"
_MERGED_KEYS = ("name", "sweeps", "percentiles", "tune", "rounds")
"""Keys of which the merged plan has neither one run's value nor the default."""


def merged_plan(parts: Sequence[MergedRun]) -> Plan:
    """All grids and percentiles, and of every other key what all share, else its default.

    Searches over options are those of their own runs: their ladder is of one machine.
    """
    plans = [part.requested_plan for part in parts]
    values = {key: [getattr(plan, key) for plan in plans] for key in Plan.model_fields}
    shared_values = {
        key: key_values[0]
        for key, key_values in values.items()
        if key not in _MERGED_KEYS and _all_equal(key_values)
    }
    if not _all_equal([part.rounds for part in parts]):
        shared_values.pop(
            "precise", None
        )  # how sure it can be follows from the most rounds there may be
    elif _all_equal(values["rounds"]):
        shared_values["rounds"] = plans[0].rounds
    return Plan(
        name=plans[0].name if _all_equal(values["name"]) else NAME,
        sweeps=tuple({repr(grid): grid for plan in plans for grid in plan.sweeps}.values()),
        percentiles=tuple(dict.fromkeys(p for plan in plans for p in plan.percentiles)),
        **shared_values,
    )


def reject_mixed(parts: Sequence[MergedRun]) -> None:
    """ResultsError where some only checked whether cases run."""
    checks = [part.folder for part in parts if part.requested_plan.check]
    measurements = [part.folder for part in parts if not part.requested_plan.check]
    if checks and measurements:
        raise ResultsError(
            f"{checks[0]} is a check, which timed nothing, and {measurements[0]} was measured",
            "merge checks with checks",
        )


def plan_differences(parts: Sequence[MergedRun]) -> Iterator[str]:
    """A sentence for each setting that is not the same in all."""
    plans = [part.requested_plan for part in parts]
    if not plans:
        return
    for key in Plan.model_fields:
        if key not in ("name", "sweeps", "rounds"):
            yield from _difference_text(key, parts, [getattr(plan, key) for plan in plans])
    for key in ("rounds", "time_limit_s", "graphlap_version", "schema_version"):
        yield from _difference_text(key, parts, [getattr(part, key) for part in parts])
    if _all_equal([plan.profile for plan in plans]):
        yield from _difference_text("limits", parts, [part.limits for part in parts])
    if any(plan.tune for plan in plans):
        yield "the ladders of --tune stay in the folders that they were searched in"


def _all_equal(values: Sequence[object]) -> bool:
    return all(value == values[0] for value in values)


def _difference_text(
    key: str, parts: Sequence[MergedRun], values: Sequence[object]
) -> Iterator[str]:
    if _all_equal(values):
        return
    folders: dict[str, list[str]] = {}
    for part, value in zip(parts, values, strict=True):
        folders.setdefault(_word(value), []).append(part.folder)
    description = ", ".join(f"{word} in {' and '.join(names)}" for word, names in folders.items())
    yield f"differs: {key} is {description}"


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return " ".join(f"{name}={item}" for name, item in value.items()) or "none"
    return "none" if value in (None, "") else str(value)
