"""C functions made of Python ones, and room for the times of a block."""

from __future__ import annotations

import ctypes as c
from array import array
from collections.abc import Callable

from runtimes.calls.timed import Call

WORDS = (c.c_ssize_t,) * 4


class Failed(Exception):
    """What a status of the calls here stands for."""


def call_of(function: Callable[..., int], *arguments: int, returns_pointer: bool = False) -> Call:
    """`function` as a call; it lives as long as the test's process."""
    result = c.c_ssize_t if returns_pointer else c.c_int32
    callback = c.CFUNCTYPE(result, *WORDS[: len(arguments)])(function)
    _CALLBACKS.append(callback)
    address = c.cast(callback, c.c_void_p).value
    assert address is not None
    return Call(address, arguments, Failed, returns_pointer)


def room(count: int) -> tuple[array[int], array[int], array[int]]:
    """scheduled, started and finished, all -1."""
    scheduled_ns, started_ns, finished_ns = (array("q", [-1]) * count for _ in range(3))
    return scheduled_ns, started_ns, finished_ns


_CALLBACKS: list[object] = []
