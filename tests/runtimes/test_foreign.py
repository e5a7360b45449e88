"""C functions by their prototypes: what they take and give, and that no failure passes."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable
from typing import Annotated

import pytest

from runtimes.ctypes_prototypes import Int, Out, Size, Status, Text, from_library, from_slots


class LibC:
    strlen: Callable[[Text], Annotated[int, c.c_size_t]]
    close: Callable[[Int], Status]
    memset: Callable[[Out, Int, Size], None]


class Slots:
    halve: Annotated[Callable[[Int], Status], 2]


def fault(status: int, function: str) -> Exception:
    return OSError(f"{function} gave {status}")


def test_arguments_and_results_are_those_of_the_prototype() -> None:
    libc, value = from_library(LibC, c.CDLL(None), fault), c.c_int(7)
    assert libc.strlen(b"graphlap") == 8
    libc.memset(c.byref(value), 0, c.sizeof(value))
    assert value.value == 0
    with pytest.raises(c.ArgumentError):
        libc.strlen(3.5)  # type: ignore[arg-type]


def test_a_status_that_tells_of_a_failure_raises_with_the_functions_name() -> None:
    libc = from_library(LibC, c.CDLL(None), fault)
    with pytest.raises(OSError, match="close gave -1"):
        libc.close(-1)


def test_a_function_that_the_library_lacks_is_named() -> None:
    class Newer:
        graphlap_of_tomorrow: Callable[[], Status]

    with pytest.raises(AttributeError, match="graphlap_of_tomorrow"):
        from_library(Newer, c.CDLL(None), fault)


def test_a_slot_is_a_place_in_the_table() -> None:
    halve = c.CFUNCTYPE(c.c_void_p, c.c_int)(lambda number: number // 2)
    table = (c.c_void_p * 3)(None, None, c.cast(halve, c.c_void_p))
    slots = from_slots(Slots, c.addressof(table), fault)
    slots.halve(1)
    with pytest.raises(OSError, match="halve gave 21"):
        slots.halve(42)
