"""Why a child died: of the system's want of memory, or by another hand."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from app.machine import child as module
from app.machine.child import Child, memory_kills
from tests.checkout import ROOT

SLEEP = (sys.executable, "-c", "import time; time.sleep(60)")


def kill(child: Child) -> None:
    os.kill(child.pid, signal.SIGKILL)
    while not child.ended():
        time.sleep(0.01)


def test_a_child_killed_by_hand_did_not_run_out_of_memory() -> None:
    child = Child(SLEEP)
    kill(child)
    assert not child.ran_out_of_memory()
    child.close()


def test_a_child_killed_while_the_kernel_counts_one_more_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = tmp_path / "vmstat"
    counters.write_text("pgfault 9\noom_kill 4\n")
    monkeypatch.setattr(module, "memory_kills", lambda: memory_kills(counters))
    child = Child(SLEEP)
    counters.write_text("pgfault 9\noom_kill 5\n")
    assert not child.ran_out_of_memory()
    kill(child)
    assert child.ran_out_of_memory()
    child.close()


def test_a_system_that_counts_no_kills_tells_none(tmp_path: Path) -> None:
    assert memory_kills(tmp_path / "missing") == 0
    (tmp_path / "older").write_text("pgfault 9\n")
    assert memory_kills(tmp_path / "older") == 0


def test_a_child_whose_parent_died_before_it_could_ask_to_die_with_it_ends(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(
        f"import os, sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "os.environ['GRAPHLAP_PARENT'] = sys.argv[1] or os.environ['GRAPHLAP_PARENT']\n"
        "from exporters.child_setup import belong_to_parent\n"
        "belong_to_parent()\nprint('it lives', flush=True)\n"
    )
    for parent, expected in (("", ["it lives"]), ("999999999", [])):
        child = Child((sys.executable, str(script), parent))
        while not child.ended():
            time.sleep(0.01)
        assert child.lines() == expected
        child.close()
