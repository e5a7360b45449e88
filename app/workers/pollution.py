"""Caches polluted between two runs, by the thread that runs: memory that no model touches.

A half of it is read and the other half written, as copies that the loop in C and Python's make
alike, outside the two reads of the clock.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from runtimes.calls.call import Copy

CHUNK_BYTES = 64 * 1024
"""One copy is no larger: a large one the C library writes around the caches."""


@dataclass(frozen=True, slots=True)
class Pollution:
    """What goes through the caches between two runs, and how long that takes."""

    copies: tuple[Copy, ...]
    pass_ns: int

    @classmethod
    def of(cls, size: int) -> Self:
        """Copies that touch so many bytes; both halves are in memory when it is made."""
        # Zeros that were never written would all be one page of the system's.
        source = np.ones(size // 2, np.uint8)
        target = np.ones_like(source)
        starts = range(0, len(source), CHUNK_BYTES)
        copies = tuple(
            Copy(target[start : start + CHUNK_BYTES], source[start : start + CHUNK_BYTES])
            for start in starts
        )
        begun = time.perf_counter_ns()
        copy_all(copies)
        return cls(copies, time.perf_counter_ns() - begun)


def copy_all(copies: Sequence[Copy]) -> None:
    """In Python what the loop in C does between runs."""
    for copy in copies:
        np.copyto(copy.target, copy.source)
