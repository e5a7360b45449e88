"""Which samples a brush has: found once for each case, and looked at by every view.

Of a round that grows they are found anew; nothing is kept but indices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PySide6.QtGui import QColor

from app.analysis.plot_data.series import Part, Series, part_ns
from app.cases.round import MEASURED
from app.gui.plots.read.reading import Brush


@dataclass(frozen=True)
class Spent:
    """What samples took, or waited: `ns` [n]; what all views ask of it is found once."""

    ns: np.ndarray

    @cached_property
    def log_s(self) -> np.ndarray:
        """log10 seconds [n]; less than a nanosecond counts as one."""
        logarithms: np.ndarray = np.log10(np.maximum(self.ns, 1)) - 9.0
        return logarithms

    @cached_property
    def places(self) -> np.ndarray:
        """The same to 1/400 of a decade, each once: a million samples are a few hundred places."""
        if not len(self.ns):
            return self.log_s
        numbers = np.rint(self.log_s * 400.0).astype(np.int64)
        lowest = int(numbers.min())
        return (np.flatnonzero(np.bincount(numbers - lowest)) + lowest) / 400.0


@dataclass(frozen=True)
class LitSamples:
    """Of one case: `rounds` holds the indices of lit records, one array [n] for each round, and
    `starts_ns` when all records of a round started.

    `spent` are the parts of all lit ones. `of_samples` and `of_ns` are how many samples were
    measured, and what their parts sum up to.
    """

    rounds: tuple[np.ndarray, ...]
    starts_ns: tuple[np.ndarray, ...]
    spent: Spent
    of_samples: int
    of_ns: int

    @property
    def samples(self) -> int:
        return len(self.spent.ns)

    @property
    def share(self) -> float:
        """Of the measured samples."""
        return self.samples / max(1, self.of_samples)

    @cached_property
    def time_share(self) -> float:
        """Of the sum of all measured parts."""
        return float(self.spent.ns.sum()) / self.of_ns if self.of_ns > 0 else 0.0

    @cached_property
    def gaps_s(self) -> np.ndarray:
        """From the start of one lit sample to that of the next in its round [k]."""
        pairs = zip(self.starts_ns, self.rounds, strict=True)
        return np.concatenate([np.empty(0), *(np.diff(s[indices]) * 1e-9 for s, indices in pairs)])


class Lit:
    """A brush with what it has of each case; `of` answers from memory until a round grows."""

    def __init__(self, brush: Brush) -> None:
        self.brush = brush
        self._sample_cache: dict[str, tuple[list[int], LitSamples]] = {}
        self._other: dict[tuple[str, Part], tuple[LitSamples, Spent]] = {}

    def of(self, series: Series) -> LitSamples:
        lengths = [len(records) for records in series.rounds]
        entry = self._sample_cache.get(series.key)
        if entry is None or entry[0] != lengths:
            entry = lengths, self._find(series)
            self._sample_cache[series.key] = entry
        return entry[1]

    def spent(self, series: Series, part: Part) -> Spent:
        """What the lit samples of a case took, or waited: the part that a view shows."""
        lit_samples = self.of(series)
        if part == self.brush.part:
            return lit_samples.spent
        cached_samples, durations = self._other.get((series.key, part), (None, None))
        if cached_samples is not lit_samples or durations is None:
            due = series.case.scenario.is_open_loop
            pairs = zip(series.rounds, lit_samples.rounds, strict=True)
            values = [part_ns(records[indices], part, due) for records, indices in pairs]
            durations = Spent(np.concatenate([_NONE, *values]))
            self._other[series.key, part] = lit_samples, durations
        return durations

    def _find(self, series: Series) -> LitSamples:
        due = series.case.scenario.is_open_loop
        is_included = not self.brush.keys or series.key in self.brush.keys
        rounds, all_durations = [], [_NONE]
        total, total_ns = 0, 0
        for number, records in enumerate(series.rounds):
            durations = part_ns(records, self.brush.part, due)
            is_measured = records["phase"] == MEASURED
            total += int(np.count_nonzero(is_measured))
            total_ns += int(durations.sum(where=is_measured))
            indices = (
                self._select_indices(durations, is_measured, series.key, number)
                if is_included
                else _NONE
            )
            rounds.append(indices)
            all_durations.append(durations[indices])
        starts = tuple(records["started_ns"] for records in series.rounds)
        return LitSamples(
            tuple(rounds), starts, Spent(np.concatenate(all_durations)), total, total_ns
        )

    def _select_indices(
        self, durations: np.ndarray, is_measured: np.ndarray, key: str, number: int
    ) -> np.ndarray:
        brush = self.brush
        low_ns, high_ns = brush.low_s * 1e9, brush.high_s * 1e9
        mask = is_measured & (durations >= low_ns - _HALF_NS) & (durations < high_ns - _HALF_NS)
        if not brush.spans:
            return np.flatnonzero(mask)
        parts = [
            span.first + np.flatnonzero(mask[span.first : span.last + 1])
            for span in brush.spans
            if (span.key, span.round) == (key, number)
        ]
        return np.unique(np.concatenate(parts)) if parts else _NONE


def lit_places(
    highlight: Lit | None, series: Sequence[Series], part: Part, colors: Mapping[str, QColor]
) -> list[tuple[np.ndarray, QColor]]:
    """Where the lit samples of each drawn case lie, in log10 seconds [n], to 1/400 of a decade."""
    if highlight is None:
        return []
    pairs = [
        (highlight.spent(case_series, part), colors[case_series.key])
        for case_series in series
        if case_series.key in colors
    ]
    return [(durations.places, color) for durations, color in pairs if len(durations.ns)]


_NONE = np.empty(0, np.int64)
_HALF_NS = 0.5
"""Samples are whole nanoseconds: so a limit that was one of them before it became seconds is."""
