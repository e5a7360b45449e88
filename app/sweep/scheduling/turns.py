"""Which cases take turns, and sets of their rounds: started in sequence, begun together."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from app.cases.case import Case
from app.cases.scenario import NO_CONDITION
from app.cases.turns import (
    CYCLES,
    HOLDER,
    RUNS,
    STATE,
    STATE_BYTES,
    TurnSeat,
    TurnStart,
    every_of,
    floor_power,
    token,
)
from app.machine.installed_runtimes import runtime
from app.plan.plan import Plan
from app.plan.reference_cases import baselines
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.work.base import Needs
from app.sweep.work.round import RoundWork
from exporters.types import ExportedModel
from runtimes.registry import parse_spec

_MOST_COMPARED = 8
_SIZES_OF_MODEL, _MEMORY_SHARE = 4, 0.5
"""What a session may take of memory, in sizes of its model's file, and the share of what is
available that all of a set may take."""
_PROCESS_BYTES = 200 << 20
"""What the process and its engine take besides."""
_BROKEN = "another process that took turns with it ended"


def turn_groups(schedule: Schedule, cases: Sequence[Case]) -> list[tuple[Case, ...]]:
    """The cases in groups that are compared, those of one model and sizes and their baselines, in
    the order of each group's first; a case that can't take turns is alone. More than
    `_MOST_COMPARED` are dealt in equal parts: in another order, as each pass has, others meet."""
    plan = schedule.plan
    baseline_by_id = baselines(plan.baseline, schedule.cases) if plan.baseline else {}
    groups: dict[str, list[Case]] = {}
    for case in cases:
        subject = baseline_by_id.get(case.case_id, case)
        common = replace(
            subject, runtime="", options={}, threads=1, host="", suite="", precision="fp32"
        )
        key = common.case_id if takes_turns(plan, case) else f"{case.case_id} alone"
        groups.setdefault(key, []).append(case)
    parts = {key: math.ceil(len(group) / _MOST_COMPARED) for key, group in groups.items()}
    return [
        tuple(group[n :: parts[key]]) for key, group in groups.items() for n in range(parts[key])
    ]


def is_simulated(case: Case) -> bool:
    return runtime(parse_spec(case.runtime).name).clock == "simulated"


def takes_turns(plan: Plan, case: Case) -> bool:
    """Whether it is timed run after run on this machine's processor alone."""
    return (
        plan.pairing == "turns"
        and not plan.memory_limit
        and not is_simulated(case)
        and not runtime(parse_spec(case.runtime).name).accelerator
        and case.scenario.kind == "closed_loop"
        and case.condition == NO_CONDITION
        and case.batcher is None
    )


def fit_in_memory(models: Sequence[ExportedModel]) -> bool:
    """Whether sessions of all these can be alive together."""
    needed = sum(_PROCESS_BYTES + _SIZES_OF_MODEL * model.size_bytes for model in models)
    return needed < _MEMORY_SHARE * psutil.virtual_memory().available


class TurnSet:
    """`groups` of one pass, of cases that are compared. `next` hands out each once the one before
    is warm, and lets all begin together; `over` says that all have ended, and `dropped` are the
    cases to be measured again, group by group."""

    def __init__(self, groups: Sequence[Sequence[RoundWork]], name: str) -> None:
        self._folder = folder = Path(tempfile.mkdtemp(prefix="graphlap-turns-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        (folder / STATE).write_bytes(bytes(STATE_BYTES))
        self._name, self._groups = name, groups
        needs = [work.needs.exclusive for group in groups for work in group]
        together = Needs(frozenset().union(*needs), together=name)
        self._seats = dict[RoundWork, TurnSeat]()
        for place, group in enumerate(groups):
            for work in group:
                number = len(self._seats)
                os.mkfifo(folder / str(number))
                self._seats[work] = seat = TurnSeat(name, str(folder), number, place)
                work.job, work.needs = replace(work.job, seat=seat), together
                work.watch_turns = self.watch
        self._works = tuple(self._seats)
        # The others get ready meanwhile.
        self._waiting = deque(sorted(self._works, key=lambda work: work.imports_long))
        self._started = list[RoundWork]()
        self._is_begun = self._is_broken = False
        self._deadline_s = math.inf
        self._start_s = time.monotonic()

    @property
    def over(self) -> bool:
        """Whether nothing of it is in flight or to be started."""
        return not self._waiting and all(work.over for work in self._started)

    @property
    def dropped(self) -> list[tuple[Case, ...]]:
        lost = (tuple(w.case for w in group if w.result is None) for group in self._groups)
        return list(filter(None, lost))

    def seconds(self) -> Iterator[tuple[str, float]]:
        """The ids of cases and how much of the set's time their rounds took, by their phases. The
        import of a first round counts for none: later ones are forks, which have it behind them."""
        results = [work.result for work in self._works if work.result is not None]
        once_ms = [0.0 if r.round else r.phases_ms.get("import", 0.0) for r in results]
        own_ms = [
            1.0 + sum(result.phases_ms.values()) - once
            for result, once in zip(results, once_ms, strict=True)
        ]
        elapsed_s = time.monotonic() - self._start_s - sum(once_ms) / 1e3
        for result, spent_ms in zip(results, own_ms, strict=True):
            yield result.case_id, elapsed_s * spent_ms / sum(own_ms)

    def close(self) -> None:
        """Its works hold it no more, nor it theirs."""
        for work in self._works:
            del work.watch_turns

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
        start = self._start_of(present)
        self._deadline_s = time.monotonic() + max(work.take_turns(start) for work in present)
        first, *following = start.order(self._name, 0)
        descriptor = os.open(self._folder / str(first), os.O_RDWR)
        os.write(descriptor, token(0, following))
        os.close(descriptor)

    def _start_of(self, present: Sequence[RoundWork]) -> TurnStart:
        """A group that has measured enough after fewer cycles has one in fewer laps."""
        every, cycles = dict[RoundWork, int](), dict[RoundWork, float]()
        for group in self._groups:
            if members := [work for work in group if work in present]:
                turns_s = [work.turn_s for work in members]
                every.update(zip(members, every_of(turns_s), strict=True))
                cycle_s = sum(work.turn_s / every[work] for work in members)
                limits = members[0].job.limits
                wanted = max(CYCLES, limits.min_s / min(turns_s), limits.min_samples / RUNS)
                most = max(1.0, limits.longest_s(len(members)) / cycle_s)
                cycles.update(dict.fromkeys(members, min(wanted, most)))
        seats = [self._seats[work] for work in present]
        return TurnStart(
            tuple(seat.number for seat in seats),
            tuple(work.pid for work in present),
            tuple(seat.group for seat in seats),
            tuple(floor_power(max(cycles.values()) / cycles[work]) for work in present),
            tuple(every[work] for work in present),
            # It may have threads that go on while it waits.
            tuple(self._seats[work].number for work in present if work.case.threads != 1),
        )
