"""One case over several devices: the sessions of `ort-cuda:0+1` are dealt over both in turn.

What is asked of a runtime about one device is asked here about each of those that a name gives. An
engine is never told of more than one: each session is compiled for a device of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from runtimes.base import Availability, Runtime, Unavailable
from runtimes.faults import NotAvailable, Unsupported
from runtimes.options import SESSIONS, Option, OptionValue, Settings, sessions_of


def options_on(runtime: Runtime, device: str) -> tuple[Option, ...]:
    """The runtime's table as it is for what follows the colon: over several devices there is a
    session on each of them, unless more are asked for."""
    devices = len(runtime.devices_in(device))
    if devices == 1:
        return runtime.options
    dealt = replace(SESSIONS, default=devices, minimum=devices)
    return tuple(dealt if one == SESSIONS else one for one in runtime.options)


def each(runtime: Runtime, settings: Settings) -> tuple[Settings, ...]:
    """The settings of a session on each device that they name, in the order of the name.

    Raises what `refuse_devices` and `refuse_uneven` raise.
    """
    devices = runtime.devices_in(settings.device)
    if len(devices) == 1:
        return (settings,)
    refuse_devices(runtime, settings.device, settings.release)
    refuse_uneven(runtime, settings.device, settings.options)
    return tuple(replace(settings, device=device) for device in devices)


def uneven(runtime: Runtime, device: str, sessions: int) -> str:
    """That so many sessions are not equally many on each of these devices."""
    devices = len(runtime.devices_in(device))
    said = f"{sessions} session{'s' * (sessions != 1)}"
    return f"{runtime.name}:{device} is {devices} devices, and {said} can't be dealt evenly"


def refuse_uneven(runtime: Runtime, device: str, given: Mapping[str, OptionValue]) -> None:
    """Raise Unsupported for sessions that these devices can't have equally many of."""
    devices = len(runtime.devices_in(device))
    sessions = sessions_of(options_on(runtime, device), given)
    if sessions % devices:
        raise Unsupported(
            uneven(runtime, device, sessions),
            f"give sessions={devices} or a multiple of it, or remove it",
        )


def refuse_devices(runtime: Runtime, device: str, release: str) -> None:
    """Raise NotAvailable where one of the devices is not there, or is named twice."""
    devices = runtime.devices_in(device)
    if len(devices) > 1 and not all(devices):
        raise NotAvailable(
            f"{runtime.name}:{device} names no device next to a +", f"write {runtime.name}:0+1"
        )
    if len(set(devices)) < len(devices):
        raise NotAvailable(
            f"{runtime.name}:{device} names a device twice",
            "name each once; several sessions on one device are the option sessions",
        )
    for one in devices:
        runtime.refuse_device(one, release)


def check_availability(runtime: Runtime, device: str) -> Availability:
    """Whether cases can be checked for all of these devices; why not for the first that can't."""
    return of_all([runtime.check_availability(one) for one in runtime.devices_in(device)])


def of_all(told: Sequence[Availability]) -> Availability:
    """Of what each device was said to be: the first that lacks something, else the first."""
    return next((state for state in told if isinstance(state, Unavailable)), told[0])


def cores_near(runtime: Runtime, device: str) -> str:
    """The cores of the nodes of all of these devices; "" where one of them has no node of its own,
    so that no core is farther from it than another."""
    near = [runtime.cores_near(one) for one in runtime.devices_in(device)]
    return ",".join(near) if all(near) else ""
