"""The job source of a plan's grid: exports first, then rounds in a seeded random order.

Round by round, each round a fresh shuffle of all cases, so that drift of the machine does
not follow the variable. A case that failed gets no further rounds.
"""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from app.measure.environment import usable_cores
from app.measure.job import FAILED, Limits, MeasureJob, RoundResult, Status
from app.results.folder import samples_name
from app.sweep.available import availability, runtime
from app.sweep.case import Case
from app.sweep.jobs import Exported, ExportJob, Job, Outcome, RoundJob, SettledJob
from exporters.request import ExportReply, ExportRequest
from exporters.types import Precision
from runtimes.base import Available, RuntimeFault, Settings, Unavailable
from runtimes.registry import parse_spec

ENDED: frozenset[Status] = FAILED | {"unavailable", "unsupported"}
"""After a round with one of these a case gets no more."""

ModelKey = tuple[str, Precision]


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a fixed sweep is: the cases and how long each is measured."""

    cases: Sequence[Case]
    rounds: int
    limits: Limits
    time_limit_s: float
    seed: int
    samples_folder: Path


@dataclass(slots=True)
class FixedSweep:
    """`done` maps a case's id to the statuses of the rounds that are already recorded."""

    schedule: Schedule
    done: Mapping[str, Mapping[int, Status]]
    models: dict[ModelKey, ExportReply] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)
    _left: dict[str, set[int]] = field(default_factory=dict)
    _exports: deque[ExportJob] = field(default_factory=deque)
    _exporting: int = 0
    _settled: deque[SettledJob] = field(default_factory=deque)
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
            refused = _refused_without_model(case)
            if refused is not None:
                self._settle(case, *refused)
        self._queue_exports([case for case in open_cases if case.case_id not in self._ended])
        self._queue_rounds(open_cases)

    def next(self, finished: Sequence[Outcome]) -> Job | None:
        for outcome in finished:
            if isinstance(outcome, Exported):
                self._exporting -= 1
                request = outcome.job.request
                self.models[request.model, request.precision] = outcome.reply
            else:
                self.take(outcome.result)
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
            job = self._round_job(case, number)
            if job is not None:
                return job
            return self._settled.popleft()
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

    def take(self, result: RoundResult) -> None:
        """Count a round that ended; told twice, it counts once."""
        self._left[result.case_id].discard(result.round)
        if result.status in ENDED:
            self._ended.add(result.case_id)

    def _queue_exports(self, cases: Sequence[Case]) -> None:
        points: dict[ModelKey, list[Mapping[str, int]]] = {}
        for case in cases:
            wanted = points.setdefault((case.model, case.precision), [])
            if case.axes not in wanted:
                wanted.append(case.axes)
        for (model, precision), wanted in points.items():
            request = ExportRequest(model, precision, tuple(wanted))
            self._exports.append(ExportJob(request, _export_limit_s(self.schedule)))

    def _queue_rounds(self, cases: Sequence[Case]) -> None:
        for number in range(self.schedule.rounds):
            order = [case for case in cases if number in self._left[case.case_id]]
            random.Random(f"{self.schedule.seed}:{number}").shuffle(order)
            self._rounds.extend((case, number) for case in order)

    def _round_job(self, case: Case, number: int) -> RoundJob | None:
        """The job of one round; None if what is known now ends the case without one."""
        reply = self.models[case.model, case.precision]
        if reply.model is None:
            self._settle(case, _as_status(reply.status), reply.reason)
            return None
        spec = parse_spec(case.runtime)
        settings = Settings(
            precision=case.precision,
            threads=case.threads,
            device=spec.device,
            release=spec.release,
            options=case.options,
        )
        try:
            runtime(spec.name).refuse(reply.model, case.axes, settings)
        except RuntimeFault as fault:
            self._settle(case, _as_status(fault.status), str(fault))
            return None
        schedule = self.schedule
        measure = MeasureJob(
            case_id=case.case_id,
            round=number,
            model=reply.model,
            axes=case.axes,
            runtime=case.runtime,
            settings=settings,
            scenario=case.scenario,
            wait_policy=case.wait_policy,
            limits=schedule.limits,
            seed=round_seed(schedule.seed, case.case_id, number),
            samples_path=str(schedule.samples_folder / samples_name(case.case_id, number)),
            affinity=cores_for(case.threads, usable_cores()),
        )
        return RoundJob(measure, schedule.time_limit_s)

    def _settle(self, case: Case, status: Status, reason: str) -> None:
        number = min(self._left[case.case_id])
        state = availability(parse_spec(case.runtime).name)
        result = RoundResult(
            case_id=case.case_id,
            round=number,
            status=status,
            reason=reason,
            started_at_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
            runtime_version=state.version if isinstance(state, Available) else "",
        )
        self._ended.add(case.case_id)
        self._settled.append(SettledJob(result))


def round_seed(seed: int, case_id: str, number: int) -> int:
    """A 63-bit seed of one round, the same on every host."""
    digest = hashlib.sha256(f"{seed}:{case_id}:{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def cores_for(threads: int, usable: Collection[int]) -> tuple[int, ...]:
    """The last `threads` cores, so that the parent has another; () lets the system choose."""
    cores = sorted(usable)
    return tuple(cores[-threads:]) if 0 < threads < len(cores) else ()


def _refused_without_model(case: Case) -> tuple[Status, str] | None:
    """What is known of a case before anything is exported."""
    name = parse_spec(case.runtime).name
    state = availability(name)
    if isinstance(state, Unavailable):
        return "unavailable", f"{state.reason}: {state.remedy}"
    known = runtime(name).precisions
    if case.precision not in known:
        return "unsupported", f"{name} does not execute {case.precision}: use {', '.join(known)}"
    return None


def _export_limit_s(schedule: Schedule) -> float:
    """Exports of the largest networks take half a minute; a hung one must not hold a sweep."""
    return max(600.0, schedule.time_limit_s)


def _as_status(text: str) -> Status:
    return text or "run_failed"  # type: ignore[return-value]
