"""A source with cold starts of what it found to run after it, never between."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from app.cases.case import Case
from app.cases.cold_start import SCOUT, ColdStart, ColdStartJob, PageCache, subject_of
from app.machine import engines
from app.machine.available import runtime
from app.machine.cores import usable_cores
from app.sweep.sources.afterwards import Afterwards
from app.sweep.sources.rounds import cores_for, near_device, spare_cores
from app.sweep.sources.site import needed
from app.sweep.work.base import Needs, Source, Work
from app.sweep.work.cold_start import ColdStartWork
from exporters.types import ExportedModel
from runtimes.dealing import options_on
from runtimes.options import sessions_of
from runtimes.registry import parse_spec


class WithColdStarts(Afterwards):
    """`source` until it is exhausted, then `count` processes of each subject of the cases.

    Number by number, in a seeded order each, so that drift of the machine does not follow the
    subject. The first of each in a run is a scout, which is not counted: it brings the files in,
    and tells which they are where they are to be `dropped` before all others. `done` are those
    recorded that are not to be tried again, by subject and number; a subject of which one gave no
    answer gets no more. `cores` are those that were chosen, where they were.
    """

    kind = ColdStartWork.kind

    def __init__(
        self,
        source: Source,
        cases: Sequence[Case],
        ran: Iterable[str],
        done: Mapping[str, Mapping[int, ColdStart]],
        time_limit_s: float,
        count: int,
        page_cache: PageCache,
        seed: int,
        cores: tuple[int, ...] = (),
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(source, ran, time_limit_s, memory_limit_bytes)
        self._cores = cores
        self._page_cache = page_cache
        self._files: dict[str, tuple[str, ...]] = {}
        self._failed = {
            subject for subject, known in done.items() if any(one.reason for one in known.values())
        }
        members: dict[str, list[Case]] = {}
        for case in cases:
            members.setdefault(subject_of(case).case_id, []).append(case)
        self._members = members
        numbers: dict[str, list[int]] = {}
        for subject in members:
            missing = [n for n in range(count) if n not in done.get(subject, {})]
            numbers[subject] = [SCOUT, *missing] if missing else []
        self._waiting: deque[tuple[str, int]] = deque()
        for number in (SCOUT, *range(count)):
            order = [subject for subject, wanted in numbers.items() if number in wanted]
            random.Random(f"{seed}:cold:{number}").shuffle(order)
            self._waiting.extend((subject, number) for subject in order)

    @property
    def left(self) -> int:
        return len(self._waiting)

    def next(self, finished: Sequence[Work]) -> Work | None:
        for work in finished:
            if isinstance(work, ColdStartWork) and work.result is not None:
                if work.result.reason:
                    self._failed.add(work.result.subject)
                elif work.job.process == SCOUT:
                    self._files[work.result.subject] = work.result.files
        return super().next(finished)

    def _next_of_ours(self) -> Work | None:
        while self._waiting:
            subject, number = self._waiting[0]
            ran = [case for case in self._members[subject] if case.case_id in self._ran]
            if not ran or subject in self._failed:
                self._waiting.popleft()
                continue
            known = self._model_or_export(ran[0], [self._members[s][0] for s, _ in self._waiting])
            if isinstance(known, Work):
                return known
            self._waiting.popleft()
            if known is not None:
                return self._work(subject_of(ran[0]), number, known)
        return None

    def _work(self, subject: Case, number: int, model: ExportedModel) -> ColdStartWork:
        spec = parse_spec(subject.runtime)
        engine = runtime(spec.name)
        sessions = sessions_of(options_on(engine, spec.device), subject.options)
        drops = self._page_cache == "dropped" and number != SCOUT
        job = ColdStartJob(
            subject,
            number,
            model,
            begun_ns=0,
            affinity=self._cores
            or cores_for(
                subject.threads * sessions + spare_cores(engine) if subject.threads else 0,
                near_device(engine, spec.device, usable_cores()),
            ),
            dropped=self._files.get(subject.case_id, ()) if drops else (),
            cache_dir=str(engines.folder()),
        )
        needs = Needs(needed(engine, spec.device))
        return ColdStartWork(job, self._time_limit_s, needs, self._memory_limit_bytes)
