"""Which samples a brush has: found once for each case, and looked at by every view.

Of a round that grows they are found anew; nothing is kept but indices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PySide6.QtGui import QColor

from app.cases.round import MEASURED
from app.gui.look.csv_file import Table
from app.gui.plots.read.reading import Brush
from app.plot_data.series import Part, Series, part_ns


@dataclass(frozen=True)
class Spent:
    """What samples took, or waited: `ns` [n]; what all views ask of it is found once."""

    ns: np.ndarray

    @cached_property
    def log_s(self) -> np.ndarray:
        """log10 seconds [n]; less than a nanosecond counts as one."""
        found: np.ndarray = np.log10(np.maximum(self.ns, 1)) - 9.0
        return found

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
        return np.concatenate([np.empty(0), *(np.diff(s[lit]) * 1e-9 for s, lit in pairs)])


class Lit:
    """A brush with what it has of each case; `of` answers from memory until a round grows."""

    def __init__(self, brush: Brush) -> None:
        self.brush = brush
        self._found: dict[str, tuple[list[int], LitSamples]] = {}
        self._other: dict[tuple[str, Part], tuple[LitSamples, Spent]] = {}

    def of(self, series: Series) -> LitSamples:
        lengths = [len(records) for records in series.rounds]
        known = self._found.get(series.key)
        if known is None or known[0] != lengths:
            known = lengths, self._find(series)
            self._found[series.key] = known
        return known[1]

    def spent(self, series: Series, part: Part) -> Spent:
        """What the lit samples of a case took, or waited: the part that a view shows."""
        found = self.of(series)
        if part == self.brush.part:
            return found.spent
        before, spent = self._other.get((series.key, part), (None, None))
        if before is not found or spent is None:
            due = series.case.scenario.is_open_loop
            pairs = zip(series.rounds, found.rounds, strict=True)
            values = [part_ns(records[lit], part, due) for records, lit in pairs]
            spent = Spent(np.concatenate([_NONE, *values]))
            self._other[series.key, part] = found, spent
        return spent

    def _find(self, series: Series) -> LitSamples:
        due = series.case.scenario.is_open_loop
        wanted = not self.brush.keys or series.key in self.brush.keys
        rounds, taken = [], [_NONE]
        total, total_ns = 0, 0
        for number, records in enumerate(series.rounds):
            spent = part_ns(records, self.brush.part, due)
            measured = records["phase"] == MEASURED
            total += int(np.count_nonzero(measured))
            total_ns += int(spent.sum(where=measured))
            lit = self._within(spent, measured, series.key, number) if wanted else _NONE
            rounds.append(lit)
            taken.append(spent[lit])
        starts = tuple(records["started_ns"] for records in series.rounds)
        return LitSamples(tuple(rounds), starts, Spent(np.concatenate(taken)), total, total_ns)

    def _within(self, spent: np.ndarray, measured: np.ndarray, key: str, number: int) -> np.ndarray:
        brush = self.brush
        low_ns, high_ns = brush.low_s * 1e9, brush.high_s * 1e9
        inside = measured & (spent >= low_ns - _HALF_NS) & (spent < high_ns - _HALF_NS)
        if not brush.spans:
            return np.flatnonzero(inside)
        parts = [
            span.first + np.flatnonzero(inside[span.first : span.last + 1])
            for span in brush.spans
            if (span.key, span.round) == (key, number)
        ]
        return np.unique(np.concatenate(parts)) if parts else _NONE


def lit_places(
    lit: Lit | None, series: Sequence[Series], part: Part, colors: Mapping[str, QColor]
) -> list[tuple[np.ndarray, QColor]]:
    """Where the lit samples of each drawn case lie, in log10 seconds [n], to 1/400 of a decade."""
    if lit is None:
        return []
    found = [(lit.spent(one, part), colors[one.key]) for one in series if one.key in colors]
    return [(spent.places, color) for spent, color in found if len(spent.ns)]


def samples_table(lit: Lit, series: Sequence[Series]) -> Table:
    """Every lit sample as a row; times are the run's own, of its clock."""
    part = lit.brush.part
    rows: list[list[object]] = []
    for one in series:
        due = one.case.scenario.is_open_loop
        pairs = zip(one.rounds, lit.of(one).rounds, strict=True)
        for number, (records, indices) in enumerate(pairs):
            found = records[indices]
            spent_us = part_ns(found, part, due) / 1e3
            columns = (indices, found["started_ns"], found["finished_ns"], spent_us)
            rows += [
                [one.label, one.clock, number, *values]
                for values in zip(*(column.tolist() for column in columns), strict=True)
            ]
    header = ["case", "clock", "round", "iteration", "started_ns", "finished_ns", f"{part}_us"]
    return header, rows


_NONE = np.empty(0, np.int64)
_HALF_NS = 0.5
"""Samples are whole nanoseconds: so a limit that was one of them before it became seconds is."""
