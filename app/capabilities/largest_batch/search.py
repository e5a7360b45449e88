"""The search for the largest batch: the tries so far, the next one, and how it ended.

Pure functions of what was tried, for the source that measures the next try and for all who show
how a search ended. The memory that tries held predicts where the limit is, so that a search
takes
about six tries; the answer is always a batch that ran, with one beyond it that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import FITS, INCOMPLETE, Status
from app.columns.status import worst
from app.plan.models import batch_axis
from app.run_folder.run import Run
from exporters.size import parse_size

MOST = 2**24
"""No larger batch is tried."""
RESOLUTION = 32
"""The search ends once the gap is at most one part in so many of what fits."""
GROWTH = 8
"""A try whose memory is known may be followed by one so many times as large: two tries far apart
give a better slope than neighbours do."""
PREDICTED_TRIES = 12
"""After so many tries memory does not follow the batch, and bisection is surer."""
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Memory:
    """The most host memory that each batch held, in MiB, and the limit; 0 for none."""

    held_mib: Mapping[int, float]
    limit_mib: float

    def predicted(self, fitting: Iterable[int]) -> int | None:
        """The largest batch within the limit by the line through the two largest that ran; None
        without a limit, with fewer than two, or where memory does not grow."""
        known = sorted(batch for batch in fitting if batch in self.held_mib)[-2:]
        if not self.limit_mib or len(known) < 2:
            return None
        small, large = known
        slope = (self.held_mib[large] - self.held_mib[small]) / (large - small)
        if slope <= 0:
            return None
        return min(MOST, large + int((self.limit_mib - self.held_mib[large]) / slope))


NO_MEMORY = Memory({}, 0)


def next_batch(
    tried: Mapping[int, Status], first: int = 1, memory: Memory = NO_MEMORY
) -> int | None:
    """The batch to try after these; None when the search is over.

    However a batch fails, a smaller one may run: engines refuse tensors of more than 2^31 elements,
    crash on them, or answer wrongly. Only what fails at once, and not for want of memory, is taken
    for no question of size.
    """
    fits, too_large = largest_fit(tried), smallest_misfit(tried)
    if too_large is None:
        return _larger(tried, first, memory)
    if len(tried) == 1 and tried[too_large] != "out_of_memory":
        return None
    if too_large - fits <= max(1, fits // RESOLUTION):
        return None
    return _between(tried, fits, too_large, memory)


def _larger(tried: Mapping[int, Status], first: int, memory: Memory) -> int | None:
    """A batch beyond all that ran, none having failed."""
    fits = largest_fit(tried)
    if not fits:
        return first
    if fits not in memory.held_mib or not memory.limit_mib:
        grown = 2 * fits
    else:
        guess = memory.predicted(_fitting(tried))
        grown = GROWTH * fits if guess is None else min(max(guess, _above(tried)), GROWTH * fits)
    return min(grown, MOST) if fits < MOST else None


def _between(tried: Mapping[int, Status], fits: int, too_large: int, memory: Memory) -> int:
    """A batch between the largest that ran and the smallest beyond it that failed: the predicted
    one, kept apart from both ends by steps that double, so that a wrong line can't creep."""
    middle = (fits + too_large) // 2
    guess = memory.predicted(_fitting(tried))
    if guess is None or len(tried) >= PREDICTED_TRIES:
        return middle
    failed = sum(batch > fits for batch in tried)
    below = too_large - max(1, too_large // RESOLUTION) * 2 ** (failed - 1)
    if guess <= fits:
        return min(_above(tried), middle)
    return min(max(guess, min(_above(tried), middle)), max(below, middle))


def _above(tried: Mapping[int, Status]) -> int:
    """The next batch that is told apart from the largest that ran; farther the more tries have
    crept up to it."""
    fits = largest_fit(tried)
    near = sum(fits - fits // GROWTH < batch <= fits for batch in tried)
    return fits + max(1, fits // RESOLUTION) * 2 ** max(0, near - 1)


def _fitting(tried: Mapping[int, Status]) -> list[int]:
    return [batch for batch, status in tried.items() if status in FITS]


def largest_fit(tried: Mapping[int, Status]) -> int:
    """The largest batch that ran, 0 if none did."""
    return max(_fitting(tried), default=0)


def smallest_misfit(tried: Mapping[int, Status]) -> int | None:
    """The smallest batch that failed beyond those that ran; None if none did."""
    fits = largest_fit(tried)
    return min((b for b, s in tried.items() if s not in FITS and b > fits), default=None)


def stopped_by(tried: Mapping[int, Status]) -> str:
    """What is known beyond the largest batch that ran: `out of memory at 64`."""
    beyond = smallest_misfit(tried)
    if beyond is None:
        return "none larger was tried"
    return f"{tried[beyond].replace('_', ' ')} at {beyond}"


@dataclass(frozen=True, slots=True)
class Try:
    """A case of a search, and the round that decides how it ended."""

    case: Case
    result: RoundResult


def tries_of(run: Run) -> list[Try]:
    """The cases of a run that ended, in the order in which a search came to them."""
    found = ((case, worst(run.rounds_of(case))) for case in run.cases)
    return [
        Try(case, result)
        for case, result in found
        if result is not None and result.status not in INCOMPLETE
    ]


@dataclass(frozen=True, slots=True)
class Search:
    """One subject: its first case, the axis that grows, and the limit of a process's memory (0 for
    none)."""

    base: Case
    axis: str
    limit_bytes: int = 0

    def case_at(self, batch: int) -> Case:
        return replace(self.base, axes={**self.base.axes, self.axis: batch})

    def tried(self, tries: Iterable[Try]) -> dict[int, Status]:
        """Batch -> status of this search's own among the tries, in their order."""
        return {one.case.axes[self.axis]: one.result.status for one in self._own(tries)}

    def next_case(self, tries: Iterable[Try]) -> Case | None:
        """The case to try next; None when the search is over."""
        own = self._own(tries)
        held = {
            one.case.axes[self.axis]: one.result.rss_peak_mb
            for one in own
            if one.result.rss_peak_mb
        }
        memory = Memory(held, self.limit_bytes / _MIB)
        batch = next_batch(self.tried(own), self.base.axes[self.axis], memory)
        return None if batch is None else self.case_at(batch)

    def _own(self, tries: Iterable[Try]) -> list[Try]:
        return [one for one in tries if self._has(one.case)]

    def _has(self, case: Case) -> bool:
        if (case.model, case.runtime) != (self.base.model, self.base.runtime):
            return False
        batch = case.axes.get(self.axis)
        return batch is not None and case.case_id == self.case_at(batch).case_id


def searches(cases: Iterable[Case], limit_bytes: int = 0) -> Iterator[Search]:
    """A search for each first case whose model has a batch axis."""
    for case in cases:
        axis = batch_axis(case.model)
        if axis is not None:
            yield Search(case, axis, limit_bytes)


def searches_of(run: Run) -> list[Search]:
    """Those of a run, with the limit that its plan says."""
    limit = run.manifest.asked.memory_limit
    return list(searches(run.manifest.cases, parse_size(limit) if limit else 0))
