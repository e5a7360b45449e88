"""The hosts of a sweep before anything is written: reached, compared with this machine, refused.

What differs and matters is a HostError that names both sides; a clock that is off stands in the
rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.machine.placement import as_list
from app.plan.plan import Plan
from app.remote.carriers import Carrier, ask_hosts, open_carrier
from app.remote.facts import Host
from app.remote.link import HostError
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class Cluster:
    """Hosts that can measure for us; with `send_code` files of the user's own may run there."""

    carrier: Carrier
    hosts: tuple[Host, ...]
    send_code: bool = False

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
    with closing(open_carrier(plan.cluster, plan.insecure_cluster)) as carrier:
        hosts = ask_hosts(carrier)
        reject_cores(hosts, plan.chosen_cores, plan.realtime is not None)
        yield Cluster(carrier, hosts, plan.send_code)


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


def clock_warning(host: Host) -> Iterator[Diagnostic]:
    """That its times are those of a clock that differs from ours, if it does."""
    if offset_s := host.clock_off_s:
        direction = "ahead" if offset_s > 0 else "behind"
        yield diagnostic("host_clock_off", host.name, offset_s=abs(offset_s), direction=direction)
