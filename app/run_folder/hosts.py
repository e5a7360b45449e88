"""Hosts of a run: what each was, and cases paired across hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.cases.case import Case
from app.run_folder.manifest import Manifest
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
