"""Why a child died, a waiter that other threads wake, and runtimes that are known without one."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from app.machine import child as module
from app.machine.child import Bell, Child, memory_kills
from tests.checkout import ROOT


@pytest.mark.parametrize("kills", [4, 5])
def test_a_child_killed_while_the_kernel_counts_one_more_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    counters = tmp_path / "vmstat"
    counters.write_text("pgfault 9\noom_kill 4\n")
    monkeypatch.setattr(module, "memory_kills", lambda: memory_kills(counters))
    child = Child((sys.executable, "-c", "import time; time.sleep(60)"))
    counters.write_text(f"pgfault 9\noom_kill {kills}\n")
    assert not child.ran_out_of_memory()
    os.kill(child.pid, signal.SIGKILL)
    while not child.ended():
        time.sleep(0.01)
    assert child.ran_out_of_memory() == (kills > 4)
    child.close()


def test_a_child_whose_parent_died_before_it_could_ask_to_die_with_it_ends(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(
        f"import os, sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "os.environ['GRAPHLAP_PARENT'] = sys.argv[1] or os.environ['GRAPHLAP_PARENT']\n"
        "from exporters.install_layout import belong_to_parent\n"
        "belong_to_parent()\nprint('it lives', flush=True)\n"
    )
    for parent, expected in (("", ["it lives"]), ("999999999", [])):
        child = Child((sys.executable, str(script), parent))
        while not child.ended():
            time.sleep(0.01)
        assert child.lines() == expected
        child.close()


def test_a_late_ring_goes_nowhere() -> None:
    """A host may say its last word once the sweep is closed, and a file that was opened since has
    the number that the bell had."""
    bell = Bell()
    bell.ring()
    start_s = time.monotonic()
    bell.wait(60.0)
    assert time.monotonic() - start_s < 30.0, "one that is not late ends the waiting"
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
