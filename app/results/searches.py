"""The search for the largest batch, as far as it has come: what was tried, what is next, the end.

Pure functions of statuses, for who measures the next try and for all who show how it ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.cases.status import FITS, Status
from app.plan.subjects import batch_axis

MOST = 2**24
"""No larger batch is tried."""
RESOLUTION = 32
"""The search ends once the gap is at most one part in so many of what fits."""


def next_batch(tried: Mapping[int, Status], first: int = 1) -> int | None:
    """The batch to try after these; None when the search is over.

    However a batch fails, a smaller one may run: engines refuse tensors of more than 2^31 elements,
    crash on them, or answer wrongly. Only what fails at once, and not for want of memory, is taken
    for no question of size.
    """
    fits, too_large = largest_fit(tried), smallest_misfit(tried)
    if too_large is None:
        grown = 2 * fits if fits else first
        return grown if grown <= MOST else None
    if len(tried) == 1 and tried[too_large] != "out_of_memory":
        return None
    if too_large - fits <= max(1, fits // RESOLUTION):
        return None
    return (fits + too_large) // 2


def largest_fit(tried: Mapping[int, Status]) -> int:
    """The largest batch that ran, 0 if none did."""
    return max((batch for batch, status in tried.items() if status in FITS), default=0)


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
class Search:
    """One subject: its first case, and the axis that grows."""

    base: Case
    axis: str

    def case_at(self, batch: int) -> Case:
        return replace(self.base, axes={**self.base.axes, self.axis: batch})

    def tried(self, statuses: Mapping[str, Status]) -> dict[int, Status]:
        """Batch -> status of the tries made so far; `statuses` are those of all cases."""
        found: dict[int, Status] = {}
        while (batch := next_batch(found, self.base.axes[self.axis])) is not None:
            status = statuses.get(self.case_at(batch).case_id)
            if status is None:
                break
            found[batch] = status
        return found

    def next_case(self, statuses: Mapping[str, Status]) -> Case | None:
        """The case to try next; None when the search is over."""
        batch = next_batch(self.tried(statuses), self.base.axes[self.axis])
        return None if batch is None else self.case_at(batch)


def searches(cases: Iterable[Case]) -> Iterator[Search]:
    """A search for each first case whose model has a batch axis."""
    for case in cases:
        axis = batch_axis(case.model)
        if axis is not None:
            yield Search(case, axis)
