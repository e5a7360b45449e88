"""What an agent tells of its machine: which one it is, what it has, what it may use."""

from __future__ import annotations

import socket
import time
from collections.abc import Collection

from app.carriers.contract import Host, RuntimeThere
from app.machine.available import availability, runtime
from app.machine.environment import MACHINE, describe_host, graphlap_version
from runtimes import registry
from runtimes.base import Runtime, Unavailable


def host_here(name: str, machine: str, cores: Collection[int]) -> Host:
    """This machine as a host; an empty `name` is its own, and an empty `machine` what it runs."""
    described = describe_host()
    if machine:
        described[MACHINE] = machine
    return Host(
        name=name or socket.gethostname(),
        machine=described[MACHINE],
        environment=described,
        runtimes={one: _there(one) for one in registry.names()},
        cores=tuple(sorted(cores)),
        python=described["python"],
        graphlap=graphlap_version(),
        utc_ns=time.time_ns(),
    )


def _there(name: str) -> RuntimeThere:
    state, known = availability(name), runtime(name)
    if isinstance(state, Unavailable):
        return RuntimeThere(reason=state.reason, remedy=state.remedy)
    devices = {device.key: device.name for device in known.devices()}
    return RuntimeThere(state.version, devices=devices, near=_near(known, devices))


def _near(known: Runtime, devices: Collection[str]) -> dict[str, str]:
    """The cores near each device, those of the default one under the empty name."""
    if not known.accelerator:
        return {}
    near = {device: known.cores_near(device) for device in ("", *devices)}
    return {device: cores for device, cores in near.items() if cores}
