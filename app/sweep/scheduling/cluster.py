"""The hosts of a sweep before anything is written: reached, compared with this machine, refused.

What differs and matters is a HostError that names both sides; what only may matter is said once
and stands in the rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from app.cases.case import Case
from app.machine.placement import as_list
from app.plan.plan import Plan
from app.remote.carriers import Carrier, ask_hosts, open_carrier
from app.remote.facts import Host
from app.remote.link import HostError
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic

CLOCK_OFF_S = 2.0
"""Clocks that differ by more are told of: times of rows are those of their hosts."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Hosts that can measure for us; `warnings` are diagnostics of single ones, by name.

    With `send_code` files of the user's own may run there.
    """

    carrier: Carrier
    hosts: tuple[Host, ...]
    send_code: bool = False
    warnings: Mapping[str, tuple[Diagnostic, ...]] = field(default_factory=dict)

    @property
    def runtimes(self) -> tuple[str, ...]:
        """Those that any of the hosts has, in the order of the first one's table."""
        names = dict.fromkeys(name for host in self.hosts for name in host.runtimes)
        return tuple(name for name in names if any(host.has(name) for host in self.hosts))

    def cases_of(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """Each case once for every host that has its runtime, as it is where none has it."""
        hosted_cases: list[Case] = []
        for case in cases:
            able = [host.name for host in self.hosts if host.has(case.runtime)]
            hosted_cases += [replace(case, host=name) for name in able] or [case]
        return tuple(hosted_cases)


@contextmanager
def cluster_of(plan: Plan) -> Iterator[Cluster | None]:
    """The hosts of a plan while it is measured, None without a cluster; HostError."""
    if not plan.cluster:
        yield None
        return
    carrier = open_carrier(plan.cluster, plan.insecure_cluster)
    try:
        start_ns = time.time_ns()
        hosts = ask_hosts(carrier)
        end_ns = time.time_ns()
        reject_cores(hosts, plan.chosen_cores, plan.realtime is not None)
        warnings = {host.name: (*_clock(host, start_ns, end_ns), *_python(host)) for host in hosts}
        yield Cluster(carrier, hosts, plan.send_code, warnings)
    finally:
        carrier.close()


def reject_cores(hosts: Sequence[Host], chosen_cores: Collection[int], is_realtime: bool) -> None:
    """HostError where chosen cores are not a host's, or leave it none for a real-time round."""
    for host in hosts:
        if missing := set(chosen_cores) - set(host.cores):
            raise HostError(
                f"{host.name} has the cores {as_list(host.cores)}, and --cores names "
                f"{as_list(missing)}",
                "choose among those that all hosts have, or remove --cores",
            )
        if is_realtime and set(chosen_cores) >= set(host.cores):
            raise HostError(
                f"--realtime on all the cores of {host.name} could hang it",
                "give --cores that leave at least one to everything else",
            )


def clock_offset_s(host: Host, start_ns: int, end_ns: int) -> float:
    """By how much its clock is ahead of ours, negative if behind; 0 while it may be right.

    It was read while the host was asked: between those two moments of ours, if both are right.
    """
    behind_s, ahead_s = (start_ns - host.utc_ns) / 1e9, (host.utc_ns - end_ns) / 1e9
    if max(behind_s, ahead_s) <= CLOCK_OFF_S:
        return 0.0
    return ahead_s if ahead_s > behind_s else -behind_s


def _clock(host: Host, start_ns: int, end_ns: int) -> Iterator[Diagnostic]:
    offset_s = clock_offset_s(host, start_ns, end_ns)
    if offset_s:
        yield diagnostic(
            "host_clock_off",
            host.name,
            offset_s=abs(offset_s),
            direction="ahead" if offset_s > 0 else "behind",
        )


def _python(host: Host) -> Iterator[Diagnostic]:
    local_version = f"{sys.version_info.major}.{sys.version_info.minor}"
    remote_version = ".".join(host.python.split(".")[:2])
    if remote_version != local_version:
        yield diagnostic("host_python_differs", host.name, there=remote_version, here=local_version)
