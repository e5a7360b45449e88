"""What a reader gives for each case that its program measured, and what it says of a bad file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.cases.scenario import CLOSED_LOOP, Scenario
from exporters.diagnostics.diagnostic import Diagnostic

_MOST = 1e18
"""Of what a program measures nothing comes to so much, in whichever unit."""
_MOST_NS = 2.0**62
"""So that an end, a beginning and a duration, is one that int64 holds."""


class Damaged(ValueError):
    """A file of a known format that can't be what its program wrote: what is wrong, in words."""


class NoTimings(ValueError):
    """A sound file in which nothing was timed: why, in words."""


@dataclass(frozen=True, slots=True)
class Timings:
    """The runs of one process in their order, int64 nanoseconds [n] each."""

    started_ns: np.ndarray
    finished_ns: np.ndarray


@dataclass(frozen=True, slots=True)
class Found:
    """One case, with its `rounds` where the file has single timings, a process each.

    `model` is empty where the file names none. `figures` are what the program states or would
    print of these runs, by the names of columns. `calls` is how many calls a timing is the mean of.
    """

    model: str
    clock: str
    boundary: str
    version: str = ""
    figures: Mapping[str, float | int | str] = field(default_factory=dict)
    rounds: tuple[Timings, ...] = ()
    axes: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    scenario: Scenario = CLOSED_LOOP
    calls: int = 1
    warnings: tuple[Diagnostic, ...] = ()


def laid_out(seconds: Sequence[float]) -> Timings:
    """Durations one after another, since the file does not tell when each began."""
    took_s = np.array([duration(one) for one in seconds])
    in_ns(took_s.sum(keepdims=True) * 1e9)
    took_ns = in_ns(took_s * 1e9)
    finished_ns = np.cumsum(took_ns)
    return Timings(finished_ns - took_ns, finished_ns)


def in_ns(times_ns: np.ndarray) -> np.ndarray:
    """Times as whole nanoseconds; Damaged where one is more than a clock counts."""
    longest_ns = float(times_ns.max(initial=0.0))
    if longest_ns >= _MOST_NS:
        raise Damaged(f"it goes on for {longest_ns / 1e9:.3g} s")
    whole: np.ndarray = np.rint(times_ns).astype(np.int64)
    return whole


def duration(value: object) -> float:
    """A time that something can have taken; Damaged for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Damaged(f"a time is {value!r:.40}")
    if not 0 <= value < _MOST:
        raise Damaged(f"a time is {value!s:.40}")
    return float(value)


def told(text: object, what: str) -> float:
    """The same of a number that may stand as text."""
    try:
        return duration(float(text) if isinstance(text, str) else text)
    except ValueError:
        raise Damaged(f"{what} is {text!r:.40}") from None


def objects(value: Any, what: str) -> list[dict[str, Any]]:
    """A list of objects; Damaged for anything else."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise Damaged(f"{what} is no list of objects")
    return value
