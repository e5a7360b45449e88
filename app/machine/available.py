"""Which runtimes this machine has, told in the parent without importing any engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from app.cases.imported import RUNTIME
from app.machine.environments import There, asked
from runtimes import dealing, registry
from runtimes.base import Availability, Available, Device, Runtime, Unavailable
from runtimes.environment import environment_of
from runtimes.execution import Clock
from runtimes.options import Option

AVAILABLE = "available"
"""Stands in a grid's runtimes for every one that can be used on the machine that measures."""


@cache
def runtime(name: str) -> Runtime:
    """The one instance of a runtime that the parent asks; NotAvailable if there is none."""
    return registry.load(name)


@cache
def availability(name: str) -> Availability:
    """Whether the runtime called `name` can be used here; asked once per process."""
    return _asked(name, lambda: runtime(name).availability())


@cache
def _check_availability(name: str, device: str) -> Availability:
    return _asked(name, lambda: dealing.check_availability(runtime(name), device))


def _asked(name: str, answer: Callable[[], Availability]) -> Availability:
    try:
        return answer()
    except Exception as error:  # of a package: a sweep that does not name it goes on
        reason = f"asked whether it is here, {name} failed with {type(error).__name__}: {error}"
        return Unavailable(reason, "repair the package that provides it, or uninstall it")


def availability_of(spec: str, environments: Mapping[str, str]) -> Availability:
    """The same of `name[:device][@environment]`, in the environment that it names if it does.

    `environments` are the interpreters by name; PlanError for one that nothing runs in.
    """
    there = _there(spec, environments)
    return there.availability if there else availability(registry.parse_spec(spec).name)


def check_availability_of(spec: str, environments: Mapping[str, str]) -> Availability:
    """Whether its cases can be checked, which a device that is not here may not need."""
    there, named = _there(spec, environments), registry.parse_spec(spec)
    if there is None:
        return _check_availability(named.name, named.device)
    devices = runtime(named.name).devices_in(named.device)
    return dealing.of_all([there.checks.get(device, there.availability) for device in devices])


def runtime_of(spec: str, environments: Mapping[str, str]) -> Runtime:
    """The runtime of a case, whose devices are those of the environment that it names."""
    known = runtime(registry.parse_spec(spec).name)
    there = _there(spec, environments)
    if there is None:
        return known
    return on_devices(known, there.devices)


def on_devices(known: Runtime, devices: tuple[Device, ...]) -> Runtime:
    """The same runtime where it has other devices than here."""
    return type(known.name, (type(known),), {"devices": lambda _: devices})()


def _there(spec: str, environments: Mapping[str, str]) -> There | None:
    name = environment_of(spec)
    if not name:
        return None
    return asked(name, environments[name]).runtimes[registry.parse_spec(spec).name]


def options_of(spec: str) -> tuple[Option, ...]:
    """The table of options of `name[:device][@release]`, whose defaults its devices decide too."""
    named = registry.parse_spec(spec)
    return dealing.options_on(runtime(named.name), named.device)


def each_device_of(spec: str) -> tuple[str, ...]:
    """The same name with each of the devices alone that its sessions are dealt over; itself where
    that is one, and where the name is not known."""
    named = registry.parse_spec(spec)
    if "+" not in named.device or named.name not in registry.names():
        return (spec,)
    devices = runtime(named.name).devices_in(named.device)
    return tuple(str(replace(named, device=device)) for device in devices)


def clock_of(spec: str) -> Clock:
    """What times the runs of `name[:device][@release]`; `wall` where the name is not known.

    A run folder may hold the runtimes of another release.
    """
    name = registry.parse_spec(spec).name
    if name == RUNTIME:
        return "imported"
    return runtime(name).clock if name in registry.names() else "wall"


def all_names() -> tuple[str, ...]:
    """Every runtime of the table, here or not; scripted ones only run when named."""
    return tuple(name for name in registry.names() if not runtime(name).only_when_named)


def grid_runtimes(runtimes: Sequence[str], usual: Sequence[str] | None = None) -> tuple[str, ...]:
    """The runtimes of a grid, with `AVAILABLE` replaced by `usual` (default: `available_names()`).

    An empty list is `AVAILABLE` alone. A runtime that the list names with a device is not added
    once more without one: `available,fpga:v80` has the card under its own name only.
    """
    if runtimes and AVAILABLE not in runtimes:
        return tuple(runtimes)
    specs = [registry.parse_spec(text) for text in runtimes if text != AVAILABLE]
    with_device = {spec.name for spec in specs if spec.device}
    names = available_names() if usual is None else usual
    added = [name for name in names if name not in with_device]
    listed = [added if text == AVAILABLE else [text] for text in runtimes or (AVAILABLE,)]
    return tuple(dict.fromkeys(name for part in listed for name in part))


def available_names(check: bool = False) -> tuple[str, ...]:
    """Those of them that can be used here, or at least checked."""
    asked = check_availability_of if check else availability_of
    return tuple(name for name in all_names() if isinstance(asked(name, {}), Available))
