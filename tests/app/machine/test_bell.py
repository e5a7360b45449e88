"""A waiter that is woken from other threads, as long as it is there."""

from __future__ import annotations

import os
import sys
import time

import pytest

from app.machine.child import Bell, Child


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


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux reports the end of a process")
def test_the_end_of_a_child_whose_pipes_are_open_wakes_the_waiter_once() -> None:
    """A descendant that holds the pipes must not hide the end, nor a process that nobody has
    reaped keep the waiter busy."""
    leaves_one = "import os, time\nif os.fork() == 0: time.sleep(60)"
    bell = Bell()
    child = Child((sys.executable, "-c", leaves_one), bell)
    while not child.ended():
        start_s = time.monotonic()
        bell.wait(60.0)
        assert time.monotonic() - start_s < 30.0
    start_s = time.monotonic()
    bell.wait(0.3)
    assert time.monotonic() - start_s >= 0.3
    child.close()
    bell.close()
