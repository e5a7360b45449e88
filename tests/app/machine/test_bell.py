"""A waiter that is woken from other threads, as long as it is there."""

from __future__ import annotations

import os
import time

from app.machine.bell import Bell


def test_a_ring_ends_the_waiting() -> None:
    bell = Bell()
    bell.ring()
    began = time.monotonic()
    bell.wait(60.0)
    assert time.monotonic() - began < 30.0
    bell.close()


def test_a_late_ring_goes_nowhere() -> None:
    """A host may say its last word once the sweep is closed, and a file that was opened since has
    the number that the bell had."""
    bell = Bell()
    bell.close()
    ends = os.pipe()
    bell.ring()
    os.set_blocking(ends[0], False)
    os.close(ends[1])
    assert os.read(ends[0], 1) == b""
    os.close(ends[0])
