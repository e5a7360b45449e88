"""What a host tells of its machine: its runtimes, its cores, its clock and its Graphlap."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from app.machine.environment import MACHINE, describe_host, graphlap_version
from app.machine.installed_runtimes import availability, runtime
from runtimes import registry
from runtimes.registry import parse_spec


@dataclass(frozen=True, slots=True)
class RuntimeThere:
    """A runtime as a host has it: its version, or why it is not there and what brings it.

    `devices` are their names by what follows the colon.
    """

    version: str = ""
    reason: str = ""
    remedy: str = ""
    devices: Mapping[str, str] = field(default_factory=dict)


_UNKNOWN = RuntimeThere(reason="it is not known there", remedy="install what brings it")


@dataclass(frozen=True, slots=True)
class Host:
    """`name` is what rows call it. Hosts of the same `machine` are one machine, which measures one
    share at a time. `environment` is what `describe_host` tells there, `runtimes` are by name.
    `cores` are those that it measures on. `utc_ns` is its clock when it answered, `clock_off_s` by
    how much that is ahead of ours, 0 while it may be right.
    """

    name: str
    machine: str
    environment: Mapping[str, Any]
    runtimes: Mapping[str, RuntimeThere]
    cores: tuple[int, ...]
    graphlap: str
    utc_ns: int
    clock_off_s: float = 0.0

    def runtime(self, spec: str) -> RuntimeThere:
        """That of `name[:device]`; without a `reason` it is there."""
        parsed_spec = parse_spec(spec)
        entry = self.runtimes.get(parsed_spec.name, _UNKNOWN)
        for device in runtime(parsed_spec.name).devices_in(parsed_spec.device):
            if device and entry.devices and device not in entry.devices:
                there = ", ".join(entry.devices)
                return RuntimeThere("", f"it has no device {device!r} there", f"it has {there}")
        return entry

    def has(self, spec: str) -> bool:
        return not self.runtime(spec).reason


def host_here(name: str, machine: str, cores: Collection[int]) -> Host:
    """This machine as a host; an empty `machine` is what it says itself."""
    description = describe_host()
    machine = machine or description[MACHINE]
    return Host(
        name=name,
        machine=machine,
        environment={**description, MACHINE: machine},
        runtimes={entry: _describe_runtime(entry) for entry in registry.names()},
        cores=tuple(sorted(cores)),
        graphlap=graphlap_version(),
        utc_ns=time.time_ns(),
    )


def _describe_runtime(name: str) -> RuntimeThere:
    devices = {device.key: device.name for device in runtime(name).devices()}
    return RuntimeThere(**asdict(availability(name)), devices=devices)
