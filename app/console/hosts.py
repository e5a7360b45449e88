"""`graphlap doctor --cluster ADDRESS`: the hosts, what each has and what it lacks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from app.formatting.text import counted
from app.machine.placement import as_list
from app.present.document import Block, Paragraph, names, table
from app.remote.carriers import ask_hosts, open_carrier
from app.remote.facts import Host
from app.sweep.scheduling.cluster import clock_offset_s


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts at an address, each with what its clock differs by from ours."""

    address: str
    hosts: tuple[tuple[Host, float], ...]

    @classmethod
    def at(cls, address: str, insecure: bool = False) -> Self:
        """Ask them; HostError if there is none, or one can't be reached."""
        carrier = open_carrier(address, insecure)
        try:
            start_ns = time.time_ns()
            hosts = ask_hosts(carrier)
            end_ns = time.time_ns()
        finally:
            carrier.close()
        return cls(address, tuple((h, clock_offset_s(h, start_ns, end_ns)) for h in hosts))

    @property
    def text(self) -> str:
        """A paragraph for each host."""
        lines = [line for host, clock_s in self.hosts for line in (*_host_lines(host, clock_s), "")]
        return "\n".join([self._count(), "", *lines])

    @property
    def blocks(self) -> tuple[Block, ...]:
        """A row for each runtime of each host."""
        rows = [
            (host.name, name, state.version, state.reason, state.remedy)
            for host, _ in self.hosts
            for name, state in host.runtimes.items()
        ]
        headings = ("host", "runtime", "version", "missing", "action")
        return Paragraph(self._count()), table(names(*headings), rows)

    def _count(self) -> str:
        return f"{counted(len(self.hosts), 'host')} at {self.address}"


def _host_lines(host: Host, clock_s: float) -> Iterator[str]:
    environment = host.environment
    yield host.name
    yield f"  graphlap    {host.graphlap}"
    yield f"  python      {host.python}"
    yield f"  system      {environment.get('os')}"
    yield f"  cpu         {environment.get('cpu')}"
    yield f"  cores       {as_list(host.cores)}"
    if clock_s:
        direction = "ahead of" if clock_s > 0 else "behind"
        yield f"  clock       {abs(clock_s):,.0f} s {direction} this machine's clock"
    yield f"  machine     {host.machine}"
    width = max(map(len, host.runtimes), default=0)
    for name, state in host.runtimes.items():
        if state.reason:
            yield f"  {name:<{width}}  missing: {state.reason}; {state.remedy}"
            continue
        devices = "; devices: " + ", ".join(f"{name}:{k} ({v})" for k, v in state.devices.items())
        yield f"  {name:<{width}}  {state.version}{devices if state.devices else ''}"
