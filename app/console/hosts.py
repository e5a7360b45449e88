"""`graphlap doctor --cluster ADDRESS`: the hosts, what each has and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Self

from app.formatting.text import counted
from app.machine.placement import as_list
from app.present.document import Block, Paragraph, names, table
from app.remote.carriers import ask_hosts, open_carrier
from app.remote.facts import Host


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts at an address."""

    address: str
    hosts: tuple[Host, ...]

    @classmethod
    def at(cls, address: str, insecure: bool = False) -> Self:
        """Ask them; HostError if there is none, or one can't be reached."""
        with closing(open_carrier(address, insecure)) as carrier:
            return cls(address, ask_hosts(carrier))

    @property
    def text(self) -> str:
        """A paragraph for each host."""
        lines = [line for host in self.hosts for line in (*_host_lines(host), "")]
        return "\n".join([self._count(), "", *lines])

    @property
    def blocks(self) -> tuple[Block, ...]:
        """A row for each runtime of each host."""
        rows = [
            (host.name, name, state.version, state.reason, state.remedy)
            for host in self.hosts
            for name, state in host.runtimes.items()
        ]
        headings = ("host", "runtime", "version", "missing", "action")
        return Paragraph(self._count()), table(names(*headings), rows)

    def _count(self) -> str:
        return f"{counted(len(self.hosts), 'host')} at {self.address}"


def _host_lines(host: Host) -> Iterator[str]:
    environment = host.environment
    yield host.name
    yield f"  graphlap    {host.graphlap}"
    yield f"  python      {environment.get('python')}"
    yield f"  system      {environment.get('os')}"
    yield f"  cpu         {environment.get('cpu')}"
    yield f"  cores       {as_list(host.cores)}"
    if clock_s := host.clock_off_s:
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
