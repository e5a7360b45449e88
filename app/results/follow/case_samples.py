"""All rounds of one case as a follower sees them: counts over all, a map for each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from app.results.follow.sample_tail import SampleTail, no_counts


class CaseSamples:
    """Keeps one tail for each round; `follow` is told which files there are.

    `from_schedule`: latencies count from when a run was due.
    """

    def __init__(self, from_schedule: bool = False) -> None:
        self._from_schedule = from_schedule
        self._tails: dict[int, SampleTail] = {}
        self._counts = no_counts()

    def follow(self, files: Mapping[int, Path]) -> bool:
        """Read on in every round's file; whether anything changed."""
        changed = False
        for number in [number for number in self._tails if number not in files]:
            del self._tails[number]
            changed = True
        for number, path in files.items():
            tail = self._tails.setdefault(number, SampleTail(path, self._from_schedule))
            changed |= tail.poll()
        if changed:
            parts = [tail.counts for tail in self._tails.values()]
            self._counts = np.sum(parts, axis=0) if parts else no_counts()
        return changed

    @property
    def counts(self) -> np.ndarray:
        """Measured samples of all rounds by bin; never changed afterwards."""
        return self._counts

    @property
    def numbers(self) -> tuple[int, ...]:
        """The rounds that have a file, in their order."""
        return tuple(sorted(self._tails))

    def maps(self) -> tuple[np.ndarray, ...]:
        """A map of each round in their order."""
        return tuple(self._tails[number].map() for number in self.numbers)
