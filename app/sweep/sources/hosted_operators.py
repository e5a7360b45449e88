"""A sweep on other machines with the operator times of what it found to run after its rounds.

Each case is asked about where it was measured; hosts answer at once, those of one machine in turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from app.carriers.contract import ENGINES
from app.cases.case import Case
from app.cases.operators import OperatorJob
from app.sweep.sources.afterwards import Afterwards
from app.sweep.sources.benches import MOST_LOSSES, Bench
from app.sweep.sources.hosted import HostedSweep
from app.sweep.work.base import Needs, Work
from app.sweep.work.hosted_operators import HostedOperators
from app.sweep.work.of_hosts import HostNews
from app.sweep.work.operators import OperatorWork
from runtimes.registry import parse_spec


class HostedOperatorTimes(Afterwards):
    """`source` until it is exhausted, then the operator times of each case not yet `done`.

    `ran` are the ids of the cases that are recorded to give outputs. `time_limit_s` is how long
    they may take. A case whose host is not at hand is left for a resume.
    """

    kind = OperatorWork.kind

    def __init__(
        self,
        source: HostedSweep,
        cases: Sequence[Case],
        done: Collection[str],
        ran: Iterable[str],
        time_limit_s: float,
        memory_limit_bytes: int = 0,
    ) -> None:
        super().__init__(source, ran, time_limit_s, memory_limit_bytes)
        self._hosted = source
        self._waiting = [case for case in cases if case.case_id not in done]

    @property
    def left(self) -> int:
        return len(self._waiting)

    def next(self, finished: Sequence[Work]) -> Work | None:
        ours = [work for work in finished if isinstance(work, HostedOperators)]
        for work in ours:
            self._take(work)
        following = super().next([work for work in finished if work not in ours])
        if isinstance(following, HostedOperators):
            self._in_flight -= 1  # while it runs, others may on other machines
        return following

    def _take(self, work: HostedOperators) -> None:
        bench = next(bench for bench in self._hosted.benches if bench.name == work.host)
        bench.is_measuring = False
        if not work.lost:
            bench.losses = 0
            return
        bench.losses += 1
        if bench.losses >= MOST_LOSSES:
            bench.out = work.lost
        self._waiting.insert(0, work.job.case)

    def _next_of_ours(self) -> Work | None:
        self._waiting = [case for case in self._waiting if case.case_id in self._ran]
        for case in self._waiting:
            bench = self._bench_of(case)
            if bench is None or self._hosted.is_busy(bench):
                continue
            known = self._model_or_export(case, self._waiting)
            if isinstance(known, Work):
                return known
            self._waiting.remove(case)
            if known is None:
                return self._next_of_ours()
            bench.is_measuring = True
            spec = parse_spec(case.runtime)
            needs = Needs(bench.site.alone(bench.site.engine(case.runtime), spec.device))
            job = OperatorJob(case, known, ENGINES)
            return HostedOperators(
                job,
                self._time_limit_s,
                needs,
                bench.way,
                self._hosted.attempt_of(case),
                self._memory_limit_bytes,
            )
        return self._what_is_left()

    def _what_is_left(self) -> HostNews | None:
        """Once nothing is in flight: what no host that is here can tell."""
        if not self._waiting or any(bench.is_measuring for bench in self._hosted.benches):
            return None
        count, hosts = len(self._waiting), dict.fromkeys(map(self._hosted.host_of, self._waiting))
        self._waiting = []
        cases = "case was" if count == 1 else "cases were"
        return HostNews(
            f"{count:,} {cases} not asked for operator times, which "
            f"{', '.join(filter(None, hosts)) or 'another machine'} measured: resume the run "
            "when it is there"
        )

    def _bench_of(self, case: Case) -> Bench | None:
        host = self._hosted.host_of(case)
        found = (one for one in self._hosted.benches if one.name == host and not one.out)
        return next(found, None)
