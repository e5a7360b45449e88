"""Which hosts a run is of, and what follows for its rows and for what it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.cases.case import Case
from app.results.manifest import Manifest
from app.results.run import Run
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic


def host_warnings(run: Run, case: Case) -> Iterator[Diagnostic]:
    """Rounds of several machines, as when a run was resumed on another one."""
    hosts = dict.fromkeys(writer.host for writer in run.writers.get(case.case_id, {}).values())
    if len(hosts) > 1:
        yield diagnostic("several_hosts", hosts=tuple(hosts))


def environments(
    manifest: Manifest,
    told: Mapping[str, Mapping[str, Any]],
    rows: Iterable[Mapping[str, Any]],
) -> Mapping[str, Mapping[str, Any]]:
    """What each host of these rows was; `told` is by the journals, of which those of a host that
    only began the run tell no row. Where they tell none it is the host that began the run."""
    begun, hosts = manifest.environment, {str(row.get("host")) for row in rows}
    measured = {host: of for host, of in told.items() if host in hosts}
    return measured or told or ({str(begun.get("host") or ""): begun} if begun else {})


def are_placed(cases: Iterable[Case]) -> bool:
    """Whether these cases are each of a host, so that the same is told by host from itself."""
    return any(case.host for case in cases)


def placed_on(case: Case, host: object) -> Case:
    """The case as a run of several hosts calls it, of one that this host measured."""
    return case if case.host or not host else replace(case, host=str(host), naming=2)


def the_same(cases: Iterable[tuple[Case, object]]) -> Callable[[Case, object], bool]:
    """Whether another run's case, given with the host that measured it, is the same as one of these
    cases, given likewise."""
    known = list(cases)
    placed = are_placed(case for case, _ in known)
    wanted = {case.identity_id for case, _ in known}
    wanted |= {placed_on(case, host).identity_id for case, host in known}

    def same(case: Case, host: object) -> bool:
        return case.identity_id in wanted or (
            placed and not case.host and placed_on(case, host).identity_id in wanted
        )

    return same


def paired_by(sides: Sequence[Iterable[tuple[Case, object]]]) -> list[list[str]]:
    """For each side's cases, given with the hosts that measured them, what pairs them with those of
    other sides: what makes a case, and its host where some side tells cases apart by that."""
    known = [list(side) for side in sides]
    placed = any(are_placed(case for case, _ in side) for side in known)
    return [
        [(placed_on(case, host) if placed else case).identity_id for case, host in side]
        for side in known
    ]


def identity_of(case: Case) -> str:
    """What makes a case, whether or not its run tells it apart by its host: each is of one."""
    return replace(case, host="").identity_id if case.host else case.identity_id
