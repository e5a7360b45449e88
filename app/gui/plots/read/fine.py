"""Fine bins of the samples that are seen, found in a thread from the raw samples.

What a round adds afterwards is counted on into the same bins, so that a figure never lags behind
the samples; other bins are only found for another range, or once there are twice as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal

from app.cases.round import MEASURED
from app.gui.plots.read.bins import Binned
from app.gui.plots.read.grid import Grid, grid_for
from app.plot_data.series import Part, Series, part_ns
from app.runs.following.samples import give_back

_CHUNK = 1 << 18
_FOR_THE_RULE = 1 << 19
"""How wide bins are to be, so many samples of a case tell."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is looked at: a part of the time of some cases, from here to there in log10 seconds,
    so many pixels wide."""

    series: tuple[Series, ...]
    part: Part
    low: float
    high: float
    width_px: float

    @property
    def question(self) -> tuple[object, ...]:
        """The same as long as the same bins would do."""
        ends = (round(self.low, 3), round(self.high, 3), round(self.width_px / 16.0))
        samples = sum(len(records) for one in self.series for records in one.rounds)
        return (*ends, self.part, samples.bit_length(), *(one.key for one in self.series))


class Tally:
    """One case in a grid, counted on as its rounds grow."""

    def __init__(self, grid: Grid, part: Part) -> None:
        self._grid, self._part = grid, part
        self._counts = np.zeros(grid.bins, np.int64)
        self._below = self._total = 0
        self._read: list[int] = []

    def follow(self, series: Series) -> bool:
        """Count what was added; whether what was read before is still there."""
        lengths = [len(records) for records in series.rounds]
        if any(now < read for now, read in zip(lengths, self._read, strict=False)):
            return False
        if len(lengths) < len(self._read):
            return False
        self._read += [0] * (len(lengths) - len(self._read))
        due = series.case.scenario.is_open_loop
        for number, records in enumerate(series.rounds):
            for added in _chunks(records, self._read[number]):
                self._add(part_ns(added[added["phase"] == MEASURED], self._part, due))
        self._read = lengths
        return True

    def _add(self, values_ns: np.ndarray) -> None:
        counts, below = self._grid.count(values_ns)
        self._counts = self._counts + counts
        self._below += below
        self._total += len(values_ns)

    @property
    def binned(self) -> Binned:
        return Binned(self._counts, self._below, self._total, self._grid)


@dataclass(frozen=True, slots=True)
class Answer:
    """Holds no samples: what keeps a map of them keeps all of its pages in memory."""

    part: Part
    grid: Grid
    tallies: dict[str, Tally]


class FineBins(QObject):
    """`of` gives the newest bins that do, and asks for better ones; `ready` when they are there."""

    ready = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._asked: tuple[object, ...] = ()
        self._question: _Question | None = None
        self._answer: Answer | None = None

    def of(self, seen: Seen) -> dict[str, Binned] | None:
        """By the key of each case; None while only the fixed bins are known."""
        if seen.question != self._asked and self._question is None:
            self._ask(seen)
        answer = self._answer
        if answer is None or not answer.grid.covers(10.0**seen.low, 10.0**seen.high):
            return None
        if answer.part != seen.part or {one.key for one in seen.series} - set(answer.tallies):
            return None
        if not all(answer.tallies[one.key].follow(one) for one in seen.series):
            self._answer, self._asked = None, ()
            return None
        found = {one.key: answer.tallies[one.key].binned for one in seen.series}
        # A round that was measured again in the meantime is told by its counts alone.
        if seen.part == "latency" and any(
            found[one.key].total != int(one.counts.sum()) for one in seen.series
        ):
            return None
        return found

    def _ask(self, seen: Seen) -> None:
        self._asked = seen.question
        self._question = _Question(seen)
        self._question.done.connect(self._take)
        QThreadPool.globalInstance().start(_Job(self._question))

    def _take(self, answer: Answer | None) -> None:
        self._question, self._answer = None, answer
        self.ready.emit()


class _Question(QObject):
    """Asked in the window's thread, answered in another."""

    done = Signal(object)

    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self.seen = seen


class _Job(QRunnable):
    def __init__(self, question: _Question) -> None:
        super().__init__()
        self._question = question

    def run(self) -> None:
        self._question.done.emit(_found(self._question.seen))


def _chunks(records: np.ndarray, begin: int = 0) -> Iterator[np.ndarray]:
    """The records from one on, piece by piece; what was read of a large map is given back."""
    for at in range(begin, len(records), _CHUNK):
        chunk = records[at : at + _CHUNK]
        large = len(chunk) == _CHUNK
        yield np.array(chunk) if large else chunk
        if large:
            give_back(records)


def _found(seen: Seen) -> Answer | None:
    cases = [_for_the_rule(one, seen.part) for one in seen.series]
    grid = grid_for(cases, 10.0**seen.low, 10.0**seen.high, seen.width_px)
    if grid is None:
        return None
    tallies = {one.key: Tally(grid, seen.part) for one in seen.series}
    for one in seen.series:
        tallies[one.key].follow(one)
    return Answer(seen.part, grid, tallies)


def _for_the_rule(series: Series, part: Part) -> np.ndarray:
    """Measured parts [n] in nanoseconds: all of them, or every so-manieth."""
    if not series.has(part):
        return np.empty(0, np.int64)
    due = series.case.scenario.is_open_loop
    step = 1 + sum(map(len, series.rounds)) // _FOR_THE_RULE
    chosen = [chunk[::step].copy() for records in series.rounds for chunk in _chunks(records)]
    values = [part_ns(one[one["phase"] == MEASURED], part, due) for one in chosen]
    return np.concatenate([np.empty(0, np.int64), *values])
