"""The cores that this process may run on, how a list of them is written, and keeping to some."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from exporters.invalid_value import InvalidValue

_PART = re.compile(r"\s*([0-9]{1,4})\s*(?:-\s*([0-9]{1,4})\s*)?")
"""Linux holds at most 8192 cores."""


def usable_cores() -> set[int]:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def cores_online(root: Path = Path("/")) -> set[int]:
    """The cores that this machine has at work, whoever may use them."""
    try:
        return set(listed((root / "sys/devices/system/cpu/online").read_text("ascii")))
    except (OSError, ValueError):
        return set(range(os.cpu_count() or 1))


def listed(text: str) -> tuple[int, ...]:
    """The numbers of `2,3` or `0-3,8`, as Linux writes them; ValueError with one sentence."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if first > last:
            raise InvalidValue("is no list of cores", "write it as 2,3 or 2-5")
        numbers |= set(range(first, last + 1))
    return tuple(sorted(numbers))


def as_list(numbers: Collection[int]) -> str:
    """The same back: `0-3,8`."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return ",".join("-".join(map(str, ends)) for ends in ranges)


def keep_to(cores: Collection[int]) -> None:
    """Keep the calling thread, and what it starts from now on, to these cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


@contextmanager
def on_cores(cores: Collection[int]) -> Iterator[None]:
    """What is started inside has these cores, whichever the calling thread keeps to."""
    mine = usable_cores()
    keep_to(cores)
    try:
        yield
    finally:
        keep_to(mine)
