"""Hosts of a sweep: what a round must know about its machine, and what each host measures."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol

from app.cases.case import Case
from app.machine.environment import this_machine
from app.machine.installed_runtimes import on_devices, runtime
from app.machine.placement import listed
from app.remote.contract import ENGINES, Host, RuntimeThere
from app.sweep.scheduling.round_budget import MINIMUM_WAIT_S, Spread
from app.sweep.work.base import CPU
from app.sweep.work.remote_rounds import Way
from runtimes.base import Availability, Available, Device, Runtime, Unavailable
from runtimes.registry import parse_spec


def exclusive_needs(engine: Runtime, device: str) -> frozenset[str]:
    """What a process of the runtime on this device, or these, needs of its machine for itself."""
    if not engine.accelerator:
        return frozenset({CPU})
    return frozenset({CPU, *(f"{engine.accelerator}:{d or 0}" for d in engine.devices_in(device))})


_UNKNOWN_RUNTIME = RuntimeThere(reason="it is not known there", remedy="install what brings it")


class ExecutionHost(Protocol):
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

    def exclusive_resources(self, engine: Runtime, device: str) -> frozenset[str]:
        """What a round needs for itself."""


@dataclass(frozen=True, slots=True)
class RemoteHost:
    """A host of a cluster."""

    host: Host

    @property
    def engines(self) -> str:
        return ENGINES

    def availability(self, spec: str) -> Availability:
        entry, parsed_spec = self._runtime(spec), parse_spec(spec)
        if entry.reason:
            return Unavailable(entry.reason, entry.remedy)
        for device in runtime(parsed_spec.name).devices_in(parsed_spec.device):
            if device and entry.devices and device not in entry.devices:
                listed_there = ", ".join(entry.devices)
                return Unavailable(f"it has no device {device!r} there", f"it has {listed_there}")
        return Available(entry.version)

    def engine(self, spec: str) -> Runtime:
        devices = self._runtime(spec).devices.items()
        known_runtime = runtime(parse_spec(spec).name)
        return on_devices(known_runtime, tuple(Device(key, name) for key, name in devices))

    def usable(self, engine: Runtime, device: str) -> set[int]:
        cores = set(self.host.cores)
        near_cores = self._runtime(engine.name).near
        core_lists = [near_cores.get(key, "") for key in engine.devices_in(device)]
        return cores & set(listed(",".join(core_lists))) or cores if all(core_lists) else cores

    def shares(self, cores: Collection[int]) -> bool:
        return set(self.host.cores) <= set(cores)

    def exclusive_resources(self, engine: Runtime, device: str) -> frozenset[str]:
        """Rounds of one machine take turns, whichever of its hosts they are of."""
        suffix = "" if self.host.machine == this_machine() else f"@{self.host.machine}"
        return frozenset(name + suffix for name in exclusive_needs(engine, device))

    def _runtime(self, spec: str) -> RuntimeThere:
        return self.host.runtimes.get(parse_spec(spec).name, _UNKNOWN_RUNTIME)


MAXIMUM_LOSSES = 2
"""A host that is lost so often with no round between that ended is left out."""


@dataclass(slots=True)
class HostSlot:
    """One host: the hand of cases that are measured there together, and its next rounds.

    `losses` are those since a round last ended there, `out` says why it gets nothing more.
    """

    site: RemoteHost
    way: Way
    hand: list[Case] = field(default_factory=list)
    rounds: deque[tuple[Case, int]] = field(default_factory=deque)
    losses: int = 0
    exclusion: str = ""
    is_measuring: bool = False
    spread: Spread = field(default_factory=Spread)
    _next_number: int = 0
    _due_pass: int = -1
    _due_s: float = 0.0

    @property
    def name(self) -> str:
        return self.site.host.name

    @property
    def machine(self) -> str:
        return self.site.host.machine

    def take(self, hand: list[Case], spread: Spread) -> None:
        """Begin another hand of cases, whose passes begin as `spread` says."""
        self.hand, self._next_number = hand, 0
        self.spread, self._due_pass = spread, -1
        self.rounds.clear()

    def wait_s(self, spare_s: float) -> float:
        """How long the pass that is queued is still to wait, as was settled when it was queued."""
        number, now_s = self.rounds[0][1], time.monotonic()
        if number != self._due_pass:
            self._due_pass, self._due_s = number, now_s + self.spread.wait_s(number, spare_s)
        seconds = self._due_s - now_s
        return seconds if seconds >= MINIMUM_WAIT_S else 0.0

    @property
    def spread_left_s(self) -> float:
        """How long its hand takes at least, because its rounds are spread."""
        if not self.hand:
            return 0.0
        return self.spread.left_s(self.rounds[0][1] if self.rounds else self._next_number)

    def queue(self, maximum_rounds: int, seed: int, lacks: Callable[[Case, int], bool]) -> bool:
        """Queue the next round of all cases of the hand that want it, in a seeded order."""
        while not self.rounds and self._next_number < maximum_rounds:
            number, self._next_number = self._next_number, self._next_number + 1
            order = [case for case in self.hand if lacks(case, number)]
            random.Random(f"{seed}:{number}").shuffle(order)
            self.rounds.extend((case, number) for case in order)
        return bool(self.rounds)

    def leave(self) -> list[Case]:
        """What it had in hand, which others are to measure."""
        cases, self.hand = self.hand, []
        self.rounds.clear()
        return cases


@dataclass(slots=True)
class Hands:
    """Cases that are to be measured together on one host, dealt to whichever is free.

    All cases of one model are a hand while there are at least as many models as hosts; each case
    is one otherwise, and all cases of a host where each has its own.
    """

    _waiting: deque[list[Case]] = field(default_factory=deque)

    def make(self, cases: Collection[Case], hosts: int) -> None:
        models = {case.model for case in cases}
        groups: dict[object, list[Case]] = {}
        for case in cases:
            by_model = case.model if len(models) >= hosts else case.case_id
            groups.setdefault(case.host or (by_model, ""), []).append(case)
        self._waiting.extend(groups.values())

    def put_first(self, hand: list[Case]) -> None:
        """Cases that were begun and go on as soon as anybody is free."""
        if hand:
            self._waiting.appendleft(hand)

    def deal(self, fits: Callable[[Case], bool]) -> list[Case]:
        """Of the first hand that has any the cases that fit; what is left waits for others."""
        for place, hand in enumerate(self._waiting):
            fitting = [case for case in hand if fits(case)]
            if fitting:
                rest = [case for case in hand if not fits(case)]
                if rest:
                    self._waiting[place] = rest
                else:
                    del self._waiting[place]
                return fitting
        return []

    @property
    def remaining(self) -> int:
        """How many hands nobody has yet."""
        return len(self._waiting)

    def take_out(self, predicate: Callable[[Case], bool]) -> list[Case]:
        """The cases for which this holds, which wait no longer."""
        removed_cases = [case for hand in self._waiting for case in hand if predicate(case)]
        rest = [[case for case in hand if not predicate(case)] for hand in self._waiting]
        self._waiting = deque(hand for hand in rest if hand)
        return removed_cases
