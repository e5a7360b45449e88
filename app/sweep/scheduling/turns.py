"""Which cases take turns, and sets of their rounds: started in sequence, begun together."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from app.cases.case import Case
from app.cases.scenario import NO_CONDITION
from app.cases.turns import FIRST_SEAT, HOLDER, STATE, TurnSeat, TurnStart, every_of
from app.machine.installed_runtimes import runtime
from app.plan.reference_cases import baselines
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.work.base import Needs
from app.sweep.work.round import RoundWork
from runtimes.registry import parse_spec

MOST_SEATS = 8
_SIZES_OF_MODEL, _MEMORY_SHARE = 4, 0.5
"""What a session may take of memory, in sizes of its model's file, and the share of what is
available that all of a set may take."""
_BROKEN = "another process that took turns with it ended"


def turn_groups(schedule: Schedule, cases: Sequence[Case]) -> list[tuple[Case, ...]]:
    """The cases in groups that take turns, those of one model and sizes and their baselines, in the
    order of each group's first; a case that can't take turns is alone. More than `MOST_SEATS` are
    dealt in equal parts: in another order, as each pass has, others meet."""
    plan = schedule.plan
    baseline_by_id = baselines(plan.baseline, schedule.cases) if plan.baseline else {}
    may_take_turns = plan.pairing == "turns" and not plan.memory_limit
    groups: dict[str, list[Case]] = {}
    for case in cases:
        subject = baseline_by_id.get(case.case_id, case)
        common = replace(
            subject, runtime="", options={}, threads=1, host="", suite="", precision="fp32"
        )
        key = common.case_id if may_take_turns and _takes_turns(case) else f"{case.case_id} alone"
        groups.setdefault(key, []).append(case)
    parts = {key: math.ceil(len(group) / MOST_SEATS) for key, group in groups.items()}
    return [
        tuple(group[n :: parts[key]]) for key, group in groups.items() for n in range(parts[key])
    ]


def is_simulated(case: Case) -> bool:
    return runtime(parse_spec(case.runtime).name).clock == "simulated"


def _takes_turns(case: Case) -> bool:
    """Whether it is timed run after run on this machine's processor alone."""
    return (
        not is_simulated(case)
        and not runtime(parse_spec(case.runtime).name).accelerator
        and case.scenario.kind == "closed_loop"
        and case.condition == NO_CONDITION
        and case.batcher is None
    )


def fit_in_memory(works: Sequence[RoundWork]) -> bool:
    """Whether all sessions can be alive together."""
    models = [work.job.model for work in works]
    sizes = [max(Path(m.path).stat().st_size, 4 * (m.parameters or 0)) for m in models]
    needed = _SIZES_OF_MODEL * sum(sizes)
    return needed < _MEMORY_SHARE * psutil.virtual_memory().available


class TurnSet:
    """`works` of one pass. `next` hands out each once the one before is warm, and lets all begin
    together; `over` says that all have ended, and `dropped` are those to be measured again."""

    def __init__(self, works: Sequence[RoundWork], name: str) -> None:
        self._folder = folder = Path(tempfile.mkdtemp(prefix="graphlap-turns-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        (folder / STATE).write_bytes(bytes(FIRST_SEAT + len(works)))
        needs = Needs(frozenset().union(*(work.needs.exclusive for work in works)), together=name)
        for number, work in enumerate(works):
            os.mkfifo(folder / str(number))
            seat = TurnSeat(name, str(folder), number)
            work.job, work.needs = replace(work.job, seat=seat), needs
            work.watch_turns = self.watch
        self._name, self._works = name, tuple(works)
        self._waiting, self._started = deque(works), list[RoundWork]()
        self._is_begun = self._is_broken = False
        self._deadline_s = math.inf
        self._start_s = time.monotonic()

    @property
    def over(self) -> bool:
        """Whether nothing of it is in flight or to be started."""
        return not self._waiting and all(work.over for work in self._started)

    @property
    def dropped(self) -> list[RoundWork]:
        return [work for work in self._works if work.result is None]

    @property
    def seconds_each(self) -> float:
        """How long it took so far, for each of its rounds."""
        return (time.monotonic() - self._start_s) / len(self._works)

    def start_no_more(self) -> None:
        """Go on with those that run."""
        self._waiting.clear()
        self._started = [work for work in self._started if work.has_started]

    def next(self) -> RoundWork | None:
        """The next to start; None while one is to be waited for."""
        self.watch()
        present = [work for work in self._started if not work.over]
        if not all(work.pid for work in present) or self._is_begun or self._is_broken:
            return None
        if self._waiting:
            self._started.append(self._waiting.popleft())
            return self._started[-1]
        if present:
            self._begin(present)
        return None

    def watch(self) -> None:
        """End whose turn takes too long, and let all go of whom the end of one leaves alone."""
        present = [work for work in self._started if not work.over and not work.has_left]
        if not self._is_broken and any(map(self._breaks, self._started)):
            self._is_broken = True
            self.start_no_more()
            for work in present:
                work.give_up_turns(_BROKEN)
        elif time.monotonic() >= self._deadline_s:
            self._deadline_s = math.inf
            holder = self._works[(self._folder / STATE).read_bytes()[HOLDER]]
            if holder in present:
                holder.time_out()

    def _breaks(self, work: RoundWork) -> bool:
        """Whether its end leaves the others without what they are compared with, or its turns."""
        broke_off = self._is_begun and bool(work.pid) and not work.has_left
        return work.over and (work.result is None or broke_off)

    def _begin(self, present: Sequence[RoundWork]) -> None:
        self._is_begun = True
        numbers = {work: self._works.index(work) for work in present}
        start = TurnStart(
            tuple(numbers.values()),
            tuple(work.pid for work in present),
            every_of([work.turn_s for work in present]),
            # It may have threads that go on while it waits.
            tuple(number for work, number in numbers.items() if work.case.threads != 1),
        )
        self._deadline_s = time.monotonic() + max(work.take_turns(start) for work in present)
        first = start.order(self._name, 0)[0]
        descriptor = os.open(self._folder / str(first), os.O_RDWR)
        os.write(descriptor, b"t")
        os.close(descriptor)
