"""Where a case is measured, as far as its round must know it beforehand."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from app.carriers.contract import ENGINES, Host, RuntimeThere
from app.machine.available import on_devices, runtime
from app.machine.cores import listed
from app.machine.environment import this_machine
from app.sweep.work.base import CPU
from runtimes.base import Availability, Available, Device, Runtime, Unavailable
from runtimes.registry import parse_spec


def needed(engine: Runtime, device: str) -> frozenset[str]:
    """What a process of the runtime on this device, or these, needs of its machine for itself."""
    if not engine.accelerator:
        return frozenset({CPU})
    return frozenset({CPU, *(f"{engine.accelerator}:{d or 0}" for d in engine.devices_in(device))})


_UNKNOWN = RuntimeThere(reason="it is not known there", remedy="install what brings it")


class Site(Protocol):
    """A machine that rounds are built for."""

    @property
    def engines(self) -> str:
        """The folder where engines keep what they compiled, or what stands for it."""

    def availability(self, spec: str) -> Availability:
        """Of `name[:device][@release]`."""

    def engine(self, spec: str) -> Runtime:
        """The runtime, which knows the devices that are there."""

    def usable(self, engine: Runtime, device: str) -> set[int]:
        """The cores that a round may have, those near its device where that is told."""

    def shares(self, cores: Collection[int]) -> bool:
        """Whether whoever looks after a round on these cores has no others."""

    def alone(self, engine: Runtime, device: str) -> frozenset[str]:
        """What a round needs for itself."""


@dataclass(frozen=True, slots=True)
class There:
    """A host of a cluster."""

    host: Host

    @property
    def engines(self) -> str:
        return ENGINES

    def availability(self, spec: str) -> Availability:
        there, named = self._runtime(spec), parse_spec(spec)
        if there.reason:
            return Unavailable(there.reason, there.remedy)
        for device in runtime(named.name).devices_in(named.device):
            if device and there.devices and device not in there.devices:
                listed_there = ", ".join(there.devices)
                return Unavailable(f"it has no device {device!r} there", f"it has {listed_there}")
        return Available(there.version)

    def engine(self, spec: str) -> Runtime:
        devices = self._runtime(spec).devices.items()
        known = runtime(parse_spec(spec).name)
        return on_devices(known, tuple(Device(key, name) for key, name in devices))

    def usable(self, engine: Runtime, device: str) -> set[int]:
        cores = set(self.host.cores)
        told = self._runtime(engine.name).near
        near = [told.get(one, "") for one in engine.devices_in(device)]
        return cores & set(listed(",".join(near))) or cores if all(near) else cores

    def shares(self, cores: Collection[int]) -> bool:
        return set(self.host.cores) <= set(cores)

    def alone(self, engine: Runtime, device: str) -> frozenset[str]:
        """Rounds of one machine take turns, whichever of its hosts they are of."""
        where = "" if self.host.machine == this_machine() else f"@{self.host.machine}"
        return frozenset(name + where for name in needed(engine, device))

    def _runtime(self, spec: str) -> RuntimeThere:
        return self.host.runtimes.get(parse_spec(spec).name, _UNKNOWN)
