"""A round that the machine slept through is told from one that it was awake in."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from textwrap import indent

import pytest

from app.sweep.engine import Dropped, Event
from app.sweep.run_creation import create_run
from app.sweep.work.local_executor import ThisMachine
from app.workers.measure import suspended_s, suspended_since
from exporters import install_layout
from tests.app.sweep.sweeps import run_to_end, small_plan


def test_what_comes_between_two_readings_is_no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    before_s, real = suspended_s(), time.clock_gettime
    jumps = iter([1.0])

    def read(clock: int) -> float:
        return real(clock) + (next(jumps, 0.0) if clock == time.CLOCK_BOOTTIME else 0.0)

    monkeypatch.setattr(time, "clock_gettime", read)
    assert suspended_since(before_s) == 0.0


# The one clock that counts sleep: half a minute of it, a tenth of a second after it was first read.
NAP = """
import time
real, begun = time.clock_gettime, []
def read(clock):
    if clock != time.CLOCK_BOOTTIME:
        return real(clock)
    begun.append(time.monotonic())
    return real(clock) + (30.0 if begun[-1] > begun[0] + 0.1 else 0.0)
time.clock_gettime = read
"""


def test_a_sweep_begins_such_a_round_again_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    once = (
        f"from pathlib import Path\nslept = Path({str(tmp_path / 'slept')!r})\n"
        f"if not slept.exists():\n    slept.touch()\n{indent(NAP, '    ')}\n"
        f"import runpy\n"
        f"module = {install_layout.module_name('app.workers.measure')!r}\n"
        f"runpy.run_module(module, run_name='__main__')"
    )
    place = ThisMachine(commands={"round": [sys.executable, "-c", once]})
    messages: list[str] = []

    def react(event: Event, _: object) -> None:
        messages.extend([event.work.text()] if isinstance(event, Dropped) else [])

    (row,) = run_to_end(create_run(small_plan(tmp_path), tmp_path / "run"), place, react)
    assert messages == ["round dropped: the machine slept for 30 s in it, it begins again"]
    assert (row["status"], row["rounds"]) == ("ok", 1)
