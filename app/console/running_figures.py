"""The p50 of each case while its run goes on, marked with what it still lacks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.cases.case import Case
from app.cases.status import RAN
from app.results import text
from app.results.round_times import round_starts_s
from app.stats.quantiles import Interval
from app.sweep.events import Ended, Event, Told
from app.sweep.run import SweepRun
from app.sweep.work.round import RoundWork

LEAST_ROUNDS = 3
"""An interval between processes needs so many."""
SUMMARY_SHARE, SUMMARY_S = 0.03, 0.5
"""Summaries for display may take so much of the time of a run, and so long in any case."""
UNCHECKED = "outputs not checked yet"
P50 = "p50"


@dataclass(frozen=True, slots=True)
class RunningFigure:
    """A median in microseconds, with its interval once there are rounds enough for one.

    `lacks` are the reasons why it is provisional, none for a figure that will hold.
    """

    p50_us: float
    interval_us: Interval | None = None
    lacks: tuple[str, ...] = ()

    @property
    def state(self) -> tuple[bool, bool, bool]:
        """What a log has a line for when it changes: unchecked, with an interval, provisional."""
        return UNCHECKED in self.lacks, self.interval_us is not None, bool(self.lacks)

    def text(self) -> str:
        parts = []
        if self.interval_us is not None:
            parts.append(text.interval(self.interval_us.low, self.interval_us.high))
        if self.lacks:
            parts.append(f"provisional: {', '.join(self.lacks)}")
        return f"p50 {text.latency(self.p50_us)}" + (f" ({'; '.join(parts)})" if parts else "")


class RunningFigures:
    """The figures of a run's cases by their ids, the latest last; see `take`."""

    def __init__(self, run: SweepRun) -> None:
        self.figures: dict[str, RunningFigure] = {}
        self._run = run
        self._begun_s = time.monotonic()
        self._taken_s = 0.0

    def take(self, events: Sequence[Event]) -> Iterator[tuple[Case, RunningFigure]]:
        """Follow what happened; yields each case whose figure is in another state than before."""
        for event in events:
            match event:
                case Told(RoundWork() as work):
                    if work.case.case_id in self.figures:
                        continue
                    figure = self._measured_so_far(work)
                case Ended(RoundWork() as work):
                    figure = self._after_round(work)
                    if figure is None:
                        self.figures.pop(work.case.case_id, None)
                case _:
                    continue
            if figure is None:
                continue
            before = self.figures.pop(work.case.case_id, None)
            self.figures[work.case.case_id] = figure
            if before is None or before.state != figure.state:
                yield work.case, figure

    def _measured_so_far(self, work: RoundWork) -> RunningFigure | None:
        """That of a round in flight, from its measured runs alone."""
        if work.phase != "measure" or work.p50_us is None:
            return None
        return RunningFigure(work.p50_us, lacks=(UNCHECKED,))

    def _after_round(self, work: RoundWork) -> RunningFigure | None:
        """None for a case without a figure: its round failed, or its outputs are wrong."""
        case, result = work.case, work.result
        if result is None or result.status not in RAN or result.status == "wrong_output":
            return None
        rounds = [one for one in self._run.run.rounds_of(case) if one.samples]
        lacks = []
        if len(rounds) < (wanted := self._run.wanted(case)):
            lacks.append(f"{len(rounds)} of {wanted} rounds")
        if len(rounds) < LEAST_ROUNDS or not self._has_time():
            before = self.figures.get(case.case_id)
            if before is not None and before.interval_us is not None:
                return before
            return None if work.p50_us is None else RunningFigure(work.p50_us, None, tuple(lacks))
        begun_s = time.monotonic()
        summary = self._run.summary(case)
        self._taken_s += time.monotonic() - begun_s
        p50_us = summary.value_us(P50) if summary is not None else None
        if summary is None or p50_us is None:
            return None
        if "rounds_close_in_time" in summary.marks:
            starts_s = round_starts_s(rounds)
            lacks.append(f"rounds within {text.duration(max(starts_s) - min(starts_s))}")
        return RunningFigure(p50_us, summary.interval_us(P50), tuple(lacks))

    def _has_time(self) -> bool:
        """Whether one more summary keeps to its share of the run's time."""
        elapsed_s = time.monotonic() - self._begun_s
        return self._taken_s <= max(SUMMARY_S, SUMMARY_SHARE * elapsed_s)
