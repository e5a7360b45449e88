"""Which of its own memory a process uses, and what is left of it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from app.machine.own_memory import MemoryUse, all_but, anonymous_memory, memory_since
from runtimes.calls import move_pages

_CHUNK = 1 << 16
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not Path("/proc/self/clear_refs").exists(),
    reason="the system does not tell what a process refers to",
)


def size_of(parts: list[tuple[int, int]]) -> int:
    return sum(end - begin for begin, end in parts)


def holds(parts: list[tuple[int, int]], place: int) -> bool:
    return any(begin <= place < end for begin, end in parts)


def test_memory_that_is_only_read_counts_as_used_and_its_neighbours_do_not() -> None:
    before = anonymous_memory()
    values = np.ones(8 << 20)  # 64 MiB
    use = MemoryUse(memory_since(before))
    read = range(1 << 20, 3 << 20, 512)
    assert values[read].sum() == len(read)
    used = use.used()
    first = values.ctypes.data
    assert all(holds(used, first + 8 * place) for place in read)
    edge = 2 * _CHUNK
    assert size_of(used) < 8 * len(read) * 512 + (4 << 20), "other memory of this process"
    assert not holds(used, first + (8 << 20) - edge) and not holds(used, first + (24 << 20) + edge)


def test_the_areas_are_whole_again_once_the_use_is_known() -> None:
    before = anonymous_memory()
    values = np.ones(8 << 20)
    areas = len(anonymous_memory())
    use = MemoryUse(memory_since(before))
    assert len(anonymous_memory()) > areas + 500
    use.used()
    assert len(anonymous_memory()) <= areas + 2
    assert values.sum() == 8 << 20


def test_what_is_left_has_no_byte_of_the_parts_and_all_large_ones_of_the_rest() -> None:
    values = np.ones(1 << 20)
    begin = values.ctypes.data + 4095 & -4096
    parts = [(begin + (4 << 20), begin + (5 << 20)), (begin + (1 << 20), begin + (2 << 20))]
    rest = all_but(parts)
    for first, last in parts:
        assert not any(a < last and first < b for a, b in rest)
        assert holds(rest, first - 1) and holds(rest, last)
    assert size_of(rest) + size_of(parts) == pytest.approx(
        sum(last - first for first, last in anonymous_memory().items()), rel=0.2
    )
    assert move_pages(parts, 1 << 30, rest), "it needs no other memory"
    assert values.sum() == 1 << 20
