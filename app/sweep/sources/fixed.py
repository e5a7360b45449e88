"""The source of a plan's grid: exports first, then rounds in a seeded random order.

Round by round, each round a fresh shuffle of all cases, so that drift of the machine does
not follow the variable. A case that failed gets no further rounds.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import ENDED, Status
from app.sweep.sources.rounds import (
    Schedule,
    export_work,
    refused_without_model,
    round_work,
    settled,
)
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork, SettledRound
from exporters.request import ExportReply
from exporters.types import Precision

ModelKey = tuple[str, Precision]


@dataclass(slots=True)
class FixedSweep:
    """`done` maps a case's id to the statuses of the rounds that are already recorded."""

    schedule: Schedule
    done: Mapping[str, Mapping[int, Status]]
    models: dict[ModelKey, ExportReply] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)
    _left: dict[str, set[int]] = field(default_factory=dict)
    _exports: deque[ExportWork] = field(default_factory=deque)
    _exporting: int = 0
    _settled: deque[SettledRound] = field(default_factory=deque)
    _rounds: deque[tuple[Case, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        schedule = self.schedule
        for case in schedule.cases:
            known = self.done.get(case.case_id, {})
            if not ENDED.isdisjoint(known.values()):
                self._ended.add(case.case_id)
            self._left[case.case_id] = set(range(schedule.rounds)) - set(known)
        open_cases = [case for case in schedule.cases if self.rounds_left(case)]
        for case in open_cases:
            refused = refused_without_model(case)
            if refused is not None:
                self._settle(case, *refused)
        self._queue_exports([case for case in open_cases if case.case_id not in self._ended])
        self._queue_rounds(open_cases)

    def next(self, finished: Sequence[Work]) -> Work | None:
        for work in finished:
            if isinstance(work, ExportWork) and work.reply is not None:
                self._exporting -= 1
                self.models[work.request.model, work.request.precision] = work.reply
            elif isinstance(work, RoundWork | SettledRound) and work.result is not None:
                self.take(work.result)
        if self._settled:
            return self._settled.popleft()
        if self._exports:
            self._exporting += 1
            return self._exports.popleft()
        if self._exporting:
            return None
        while self._rounds:
            case, number = self._rounds.popleft()
            if case.case_id in self._ended:
                continue
            reply = self.models[case.model, case.precision]
            work = round_work(self.schedule, case, number, reply)
            if isinstance(work, SettledRound):
                self._ended.add(case.case_id)
            return work
        return None

    def rounds_left(self, case: Case) -> int:
        """How many processes this case still needs; 0 once it has failed."""
        return 0 if case.case_id in self._ended else len(self._left[case.case_id])

    @property
    def exports_left(self) -> int:
        """How many exports have not been handed out."""
        return len(self._exports)

    def all_rounds_left(self) -> int:
        """How many rounds of all cases are still to be measured."""
        return sum(map(self.rounds_left, self.schedule.cases))

    def rounds_total(self, recorded: int) -> int:
        """How many rounds the plan asks for; `recorded` are those that are on disk."""
        return len(self.schedule.cases) * self.schedule.rounds

    def take(self, result: RoundResult) -> None:
        """Count a round that ended; told twice, it counts once."""
        self._left[result.case_id].discard(result.round)
        if result.status in ENDED:
            self._ended.add(result.case_id)

    def _queue_exports(self, cases: Sequence[Case]) -> None:
        points: dict[ModelKey, tuple[Case, list[Mapping[str, int]]]] = {}
        for case in cases:
            _, wanted = points.setdefault((case.model, case.precision), (case, []))
            if case.axes not in wanted:
                wanted.append(case.axes)
        for case, wanted in points.values():
            limit_s, checked = self.schedule.export_limit_s, self.schedule.checked
            self._exports.append(export_work(case, wanted, limit_s, checked))

    def _queue_rounds(self, cases: Sequence[Case]) -> None:
        for number in range(self.schedule.rounds):
            order = [case for case in cases if number in self._left[case.case_id]]
            random.Random(f"{self.schedule.seed}:{number}").shuffle(order)
            self._rounds.extend((case, number) for case in order)

    def _settle(self, case: Case, status: Status, reason: str) -> None:
        self._ended.add(case.case_id)
        number = min(self._left[case.case_id])
        self._settled.append(settled(case, number, status, reason))
