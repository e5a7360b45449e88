"""Which runtimes this machine has, told in the parent without importing any engine."""

from __future__ import annotations

from functools import cache

from runtimes import registry
from runtimes.base import Availability, Available, Runtime
from runtimes.execution import Clock


@cache
def runtime(name: str) -> Runtime:
    """The one instance of a runtime that the parent asks; KeyError if there is none."""
    return registry.load(name)


@cache
def availability(name: str) -> Availability:
    """Whether the runtime called `name` can be used here; asked once per process."""
    return runtime(name).availability()


def clock_of(spec: str) -> Clock:
    """What times the runs of `name[:device][@release]`; `wall` where the name is not known.

    A run folder may hold the runtimes of another release.
    """
    name = registry.parse_spec(spec).name
    return runtime(name).clock if name in registry.RUNTIMES else "wall"


def available_names() -> tuple[str, ...]:
    """What a sweep without named runtimes measures; scripted ones only run when named."""
    return tuple(
        name
        for name in registry.RUNTIMES
        if isinstance(availability(name), Available) and not runtime(name).only_when_named
    )
