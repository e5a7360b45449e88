"""The search for the largest batch: the tries so far, the next one, and how it ended.

Pure functions of what was tried, for the source that measures the next try and for all who show
how a search ended. The memory that tries held predicts where the limit is, so that a search
takes about six tries; the answer is always a batch that ran, with one beyond it that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import psutil

from app.analysis.columns.status import worst_round
from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import FITS, INCOMPLETE, Status
from app.plan.models import batch_axis
from app.plan.plan import Plan
from app.run_folder.run import Run
from exporters.size import parse_size

MAXIMUM_BATCH = 2**24
"""No larger batch is tried."""
RESOLUTION = 32
"""The search ends once the gap is at most one part in so many of what fits."""
GROWTH = 8
"""A try whose memory is known may be followed by one so many times as large: two tries far apart
give a better slope than neighbours do."""
BEND = 1.25
"""Memory has bent upwards where a slope is so many times the one before."""
PREDICTED_TRIES = 12
"""After so many tries memory does not follow the batch, and bisection is surer."""
_MIB = 2**20
SEARCH_SHARE = 0.75
"""Of the memory that is free when a search begins, so much is its limit if none is given."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The most host memory that each batch held, in MiB, and the limit; 0 for none."""

    held_mib: Mapping[int, float]
    limit_mib: float

    def predicted(self, fitting: Iterable[int]) -> int | None:
        """The largest batch within the limit by the line through the two largest that ran; None
        without a limit, with fewer than two, or where memory does not grow."""
        batches = sorted(batch for batch in fitting if batch in self.held_mib)[-2:]
        if not self.limit_mib or len(batches) < 2:
            return None
        small, large = batches
        slope = (self.held_mib[large] - self.held_mib[small]) / (large - small)
        if slope <= 0:
            return None
        return min(MAXIMUM_BATCH, large + int((self.limit_mib - self.held_mib[large]) / slope))

    def has_bent(self, fitting: Iterable[int]) -> bool:
        """Whether the last of three slopes is much steeper than the one before: reading the weights
        held more than small batches did, so the line through the last two is too flat."""
        batches = sorted(batch for batch in fitting if batch in self.held_mib)[-3:]
        if len(batches) < 3:
            return False
        slopes = [
            (self.held_mib[large] - self.held_mib[small]) / (large - small)
            for small, large in pairwise(batches)
        ]
        return slopes[1] > BEND * slopes[0]


NO_MEMORY = Memory({}, 0)


def next_batch(
    statuses: Mapping[int, Status], first: int = 1, memory: Memory = NO_MEMORY
) -> int | None:
    """The batch to try after these; None when the search is over.

    However a batch fails, a smaller one may run: engines refuse tensors of more than 2^31 elements,
    crash on them, or answer wrongly. Only what fails at once, and not for want of memory, is taken
    for no question of size.
    """
    fits, too_large = largest_fit(statuses), smallest_misfit(statuses)
    if too_large is None:
        return _larger_batch(statuses, first, memory)
    if len(statuses) == 1 and statuses[too_large] != "out_of_memory":
        return None
    if too_large - fits <= max(1, fits // RESOLUTION):
        return None
    return _batch_in_gap(statuses, fits, too_large, memory)


def _larger_batch(statuses: Mapping[int, Status], first: int, memory: Memory) -> int | None:
    """A batch beyond all that ran, none having failed."""
    fits = largest_fit(statuses)
    if not fits:
        return first
    if fits not in memory.held_mib or not memory.limit_mib:
        candidate = 2 * fits
    else:
        fitting = _fitting_batches(statuses)
        guess = memory.predicted(fitting)
        if guess is not None and memory.has_bent(fitting):
            guess = (fits + guess) // 2
        candidate = GROWTH * fits
        if guess is not None:
            candidate = min(max(guess, _next_batch_up(statuses)), candidate)
    return min(candidate, MAXIMUM_BATCH) if fits < MAXIMUM_BATCH else None


def _batch_in_gap(statuses: Mapping[int, Status], fits: int, too_large: int, memory: Memory) -> int:
    """A batch between the largest that ran and the smallest beyond it that failed: the predicted
    one, kept apart from both ends by steps that double, so that a wrong line can't creep."""
    middle = (fits + too_large) // 2
    guess = memory.predicted(_fitting_batches(statuses))
    if guess is None or len(statuses) >= PREDICTED_TRIES:
        return middle
    failure_count = sum(batch > fits for batch in statuses)
    lower_bound = too_large - max(1, too_large // RESOLUTION) * 2 ** (failure_count - 1)
    if guess <= fits:
        return min(_next_batch_up(statuses), middle)
    return min(max(guess, min(_next_batch_up(statuses), middle)), max(lower_bound, middle))


def _next_batch_up(statuses: Mapping[int, Status]) -> int:
    """The next batch that is told apart from the largest that ran; farther the more tries have
    crept up to it."""
    fits = largest_fit(statuses)
    close_count = sum(fits - fits // GROWTH < batch <= fits for batch in statuses)
    return fits + max(1, fits // RESOLUTION) * 2 ** max(0, close_count - 1)


def _fitting_batches(statuses: Mapping[int, Status]) -> list[int]:
    return [batch for batch, status in statuses.items() if status in FITS]


def largest_fit(statuses: Mapping[int, Status]) -> int:
    """The largest batch that ran, 0 if none did."""
    return max(_fitting_batches(statuses), default=0)


def smallest_misfit(statuses: Mapping[int, Status]) -> int | None:
    """The smallest batch that failed beyond those that ran; None if none did."""
    fits = largest_fit(statuses)
    return min((b for b, s in statuses.items() if s not in FITS and b > fits), default=None)


def stopped_by(statuses: Mapping[int, Status]) -> str:
    """What is known beyond the largest batch that ran: `out of memory at 64`."""
    misfit = smallest_misfit(statuses)
    if misfit is None:
        return "none larger was tried"
    return f"{statuses[misfit].replace('_', ' ')} at {misfit}"


@dataclass(frozen=True, slots=True)
class Try:
    """A case of a search, and the round that decides how it ended."""

    case: Case
    result: RoundResult


def tries_of(run: Run) -> list[Try]:
    """The cases of a run that ended, in the order in which a search came to them."""
    endings = ((case, worst_round(run.rounds_of(case))) for case in run.cases)
    return [Try(case, r) for case, r in endings if r is not None and r.status not in INCOMPLETE]


@dataclass(frozen=True, slots=True)
class Search:
    """One subject: its first case, the axis that grows, and the limit of a process's memory (0 for
    none)."""

    base: Case
    axis: str
    limit_bytes: int = 0

    def case_at(self, batch: int) -> Case:
        return replace(self.base, axes={**self.base.axes, self.axis: batch})

    def statuses(self, tries: Iterable[Try]) -> dict[int, Status]:
        """Batch -> status of this search's own among the tries, in their order."""
        return {a.case.axes[self.axis]: a.result.status for a in self._tries_of_search(tries)}

    def next_case(self, tries: Iterable[Try]) -> Case | None:
        """The case to try next; None when the search is over."""
        search_tries = self._tries_of_search(tries)
        memory_by_batch = {
            attempt.case.axes[self.axis]: attempt.result.rss_peak_mb
            for attempt in search_tries
            if attempt.result.rss_peak_mb
        }
        memory = Memory(memory_by_batch, self.limit_bytes / _MIB)
        batch = next_batch(self.statuses(search_tries), self.base.axes[self.axis], memory)
        return None if batch is None else self.case_at(batch)

    def _tries_of_search(self, tries: Iterable[Try]) -> list[Try]:
        return [attempt for attempt in tries if self._has(attempt.case)]

    def _has(self, case: Case) -> bool:
        if (case.model, case.runtime) != (self.base.model, self.base.runtime):
            return False
        batch = case.axes.get(self.axis)
        return batch is not None and case.case_id == self.case_at(batch).case_id


def with_memory_limit(plan: Plan) -> Plan:
    """A plan that searches, with a limit from the memory that is free now if it has none."""
    if not plan.largest_batch or plan.memory_limit:
        return plan
    limit = f"{int(psutil.virtual_memory().available * SEARCH_SHARE) >> 20}MiB"
    return plan.model_copy(update={"memory_limit": limit})


def searches(cases: Iterable[Case], limit_bytes: int = 0) -> Iterator[Search]:
    """A search for each first case whose model has a batch axis."""
    for case in cases:
        axis = batch_axis(case.model)
        if axis is not None:
            yield Search(case, axis, limit_bytes)


def searches_of(run: Run) -> list[Search]:
    """Those of a run, with the limit that its plan says."""
    limit = run.manifest.requested_plan.memory_limit
    return list(searches(run.manifest.cases, parse_size(limit) if limit else 0))
