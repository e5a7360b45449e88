"""`--doctor --cluster ADDRESS`: the hosts that can measure, what each has and what it lacks."""

from __future__ import annotations

import time
from collections.abc import Iterator

from app.carriers.contract import Host
from app.carriers.opened import open_carrier
from app.machine.cores import as_list
from app.machine.environment import graphlap_version
from app.sweep.cluster import clock_offset_s


def hosts_text(address: str, insecure: bool = False) -> str:
    """A paragraph for each host; CarrierError if there is none, or one can't be reached."""
    carrier = open_carrier(address, insecure)
    try:
        begun_ns = time.time_ns()
        hosts = carrier.doctor()
        ended_ns = time.time_ns()
    finally:
        carrier.close()
    lines = [
        line
        for host in hosts
        for line in (*_of(host, clock_offset_s(host, begun_ns, ended_ns)), "")
    ]
    return "\n".join([f"{len(hosts)} host{'s' * (len(hosts) != 1)} at {address}", "", *lines])


def _of(host: Host, clock_s: float) -> Iterator[str]:
    told = host.environment
    other = (
        "" if host.graphlap == graphlap_version() else f"; this machine has {graphlap_version()}"
    )
    yield host.name
    yield f"  graphlap    {host.graphlap}{other}"
    yield f"  python      {host.python}"
    yield f"  system      {told.get('os')}"
    yield f"  cpu         {told.get('cpu')}"
    yield f"  cores       {as_list(host.cores)}"
    if clock_s:
        direction = "ahead of" if clock_s > 0 else "behind"
        yield f"  clock       {abs(clock_s):,.0f} s {direction} that of this machine"
    yield f"  machine     {host.machine}"
    width = max(map(len, host.runtimes), default=0)
    for name, there in host.runtimes.items():
        if there.reason:
            yield f"  {name:<{width}}  missing: {there.reason}; {there.remedy}"
            continue
        devices = "; devices: " + ", ".join(f"{name}:{k} ({v})" for k, v in there.devices.items())
        yield f"  {name:<{width}}  {there.version}{devices if there.devices else ''}"
