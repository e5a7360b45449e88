"""Bins of a part of the time, as fine as samples and screen allow, and what is read in them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import get_args

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor

from app.analysis.plot_data.series import Part, Series, part_ns
from app.cases.column import Blank
from app.cases.round import MEASURED
from app.cases.status import FITS
from app.formatting.text import counted, share, significant, time_text, time_tick
from app.gui.look.controls import Choice
from app.gui.look.errors import Errand
from app.gui.plots.read.reading import Brush, Line, Place, Reading, Spent
from app.gui.plots.read.readout import range_text, rank_text, short_names
from app.runs.following.samples import give_back
from app.stats.quantiles import EDGES_S, Histogram

_LEAST_PX = 2.0
_LINEAR_DECADES = 0.3
_ASKED_FOR_TICK = 65_536
"""From so many samples the clock's tick is told: more of them find no finer one."""


@dataclass(frozen=True)
class Grid:
    """`bins` bins of `step` from `first`: nanoseconds, or of a logarithmic one log10 seconds."""

    first: float
    step: float
    bins: int
    log: bool

    @cached_property
    def edges_s(self) -> np.ndarray:
        """The edges in seconds [bins + 1]."""
        edges = self.first + self.step * np.arange(self.bins + 1)
        seconds: np.ndarray = 10.0**edges if self.log else edges * 1e-9
        return seconds

    @property
    def text(self) -> str:
        """How wide a bin is."""
        if self.log:
            return f"{significant(100.0 * (10.0**self.step - 1.0), 2)} %"
        return time_tick(self.step * 1e-9)

    def covers(self, low_s: float, high_s: float) -> bool:
        """Whether all of this range lies within the bins."""
        return bool(self.edges_s[0] <= low_s and high_s <= self.edges_s[-1])

    def count(
        self, values_ns: np.ndarray, log_s: np.ndarray | None = None
    ) -> tuple[np.ndarray, int]:
        """Counts [bins] of nanoseconds [n], and how many lie below the first edge; `log_s` are
        their logarithms in seconds, where these are known already."""
        if self.log and log_s is None:
            log_s = np.log10(np.maximum(values_ns, 1)) - 9.0
        places = log_s if self.log and log_s is not None else values_ns
        # Shifted by one and clipped: below, each bin, above.
        numbers = np.clip(np.floor((places - self.first) / self.step) + 1.0, 0.0, self.bins + 1.0)
        counts = np.bincount(numbers.astype(np.int64), minlength=self.bins + 2)
        return counts[1:-1], int(counts[0])


def tick_ns(values_ns: np.ndarray) -> int:
    """The least difference between samples: the clock's tick, as far as they show it."""
    steps = np.diff(np.unique(values_ns[:_ASKED_FOR_TICK]))
    return int(steps.min()) if len(steps) else 1


def grid_for(
    cases: Sequence[np.ndarray], low_s: float, high_s: float, width_px: float
) -> Grid | None:
    """Bins for nanoseconds [n] of each case over what is seen, that many pixels wide; half a
    screen more lies to either side. None where there is nothing to bin."""
    visible_values = [v[(v >= low_s * 1e9) & (v <= high_s * 1e9)] for v in cases]
    visible_values = [values for values in visible_values if len(values) > 1]
    if not visible_values or not 0.0 < low_s < high_s or width_px < _LEAST_PX:
        return None
    tick = max(1, min(tick_ns(values) for values in cases if len(values)))
    decades = math.log10(high_s / low_s)
    margin = 10.0 ** (decades / 2.0)
    if decades > _LINEAR_DECADES:
        return _log_grid(visible_values, tick, low_s / margin, high_s * margin, decades, width_px)
    widest_ns = max(1.0, (high_s - low_s) * 1e9 / 4.0)
    rough = min(max(_rule(values), float(tick)) for values in visible_values)
    # On a logarithmic axis the last bin is the narrowest one to be seen.
    per_px = high_s * 1e9 * math.log(10.0) * decades / width_px
    step = _whole_ticks(
        min(max(rough, _LEAST_PX * per_px), max(widest_ns, _LEAST_PX * per_px)), tick
    )
    first = math.floor(low_s * 1e9 / margin / step) * step - tick / 2.0
    bins = math.ceil((high_s * 1e9 * margin - first) / step)
    return Grid(first, float(step), bins, log=False)


def _log_grid(
    visible_values: Sequence[np.ndarray],
    tick: int,
    low_s: float,
    high_s: float,
    decades: float,
    px: float,
) -> Grid:
    logs = [np.log10(np.maximum(values, 1) * 1e-9) for values in visible_values]
    least_s = 10.0 ** min(float(values.min()) for values in logs)
    # Where they begin a bin still holds a tick, or some would be empty for the clock's sake.
    tick_step = math.log10(1.0 + tick * 1e-9 / least_s)
    step = max(min(map(_rule, logs)), tick_step, _LEAST_PX * decades / px, 1e-4)
    step = min(step, max(decades / 20.0, tick_step))
    first = math.log10(low_s)
    return Grid(first, step, math.ceil((math.log10(high_s) - first) / step), log=True)


def _rule(values: np.ndarray) -> float:
    """Freedman and Diaconis' width; 0 where half of the samples are the same."""
    count = len(values)
    low, high = np.partition(values, (count // 4, (3 * count) // 4))[[count // 4, (3 * count) // 4]]
    return 2.0 * float(high - low) / count ** (1.0 / 3.0)


def _whole_ticks(rough_ns: float, tick: int) -> int:
    """The least of 1, 2, 5, 10 … ticks that is not narrower."""
    decade = 1
    while True:
        for steps in (1, 2, 5):
            if steps * decade * tick >= rough_ns * 0.999:
                return steps * decade * tick
        decade *= 10


_ON_MARK_PX = 5.0


@dataclass(frozen=True, slots=True)
class Binned:
    """Samples of one case: `counts` [n] in the bins of a grid, or in those that are there from
    the first sample on; `below` are faster than the first edge, of so many in all."""

    counts: np.ndarray
    below: int
    total: int
    grid: Grid | None = None

    @property
    def edges_s(self) -> np.ndarray:
        """Seconds [n + 1]."""
        return EDGES_S if self.grid is None else self.grid.edges_s

    def counted(self, durations: Spent) -> np.ndarray:
        """Counts [n] of other samples in the same bins."""
        if self.grid is not None:
            return self.grid.count(durations.ns, durations.log_s)[0]
        histogram = Histogram()
        histogram.add(durations.ns)
        return histogram.counts


@dataclass(frozen=True, slots=True)
class DrawnBins:
    """How a case is drawn: `tops` [n] are the heights of its bins in the plot's coordinates.

    `marks` are the seconds of its percentiles, by how they are written.
    """

    key: str
    label: str
    color: QColor
    bins: Binned
    tops: np.ndarray
    marks: tuple[tuple[str, float], ...] = ()


class BinReader:
    """Value, bin, count, share and how many are faster; all cases have the same edges."""

    def __init__(self, cases: Sequence[DrawnBins], part: Part) -> None:
        self._cases, self._part = tuple(cases), part
        self._names = short_names([case.label for case in cases])
        self._edges_s = self._cases[0].bins.edges_s if cases else np.zeros(0)

    def at(self, place: Place) -> Reading | None:
        number = self._bin_of(place.x)
        if number is None:
            return None
        low_s, high_s = float(self._edges_s[number]), float(self._edges_s[number + 1])
        title = f"{time_text(10.0**place.x, 4)} in the bin {range_text(low_s, high_s)}"
        mark = self._mark_near(place)
        pairs = zip(self._cases, self._names, strict=True)
        case_pairs = [(case, name) for case, name in pairs if case.bins.counts[number]]
        case_pairs.sort(key=lambda pair: -int(pair[0].bins.counts[number]))
        lines = [_line(case, name, number) for case, name in case_pairs]
        if mark is not None:
            case, name, seconds = mark
            lines.append(Line(f"{name} of {case.label}: {time_text(seconds, 4)}", case.color))
            brush = Brush(self._part, low_s=seconds, keys=(case.key,))
            return Reading(title, tuple(lines), place.x, None, (case.key,), brush)
        cases = [case for case in self._cases if case.bins.counts[number]]
        candidates = [case for case in cases if case.tops[number] >= place.y]
        target = min(candidates, key=lambda case: float(case.tops[number])) if candidates else None
        keys = (target.key,) if target else ()
        brush = Brush(self._part, low_s, high_s, keys=keys)
        return Reading(title, tuple(lines), place.x, None, keys, brush if cases else None)

    def beyond(self, place: Place, right: int, up: int) -> tuple[float, float] | None:
        """The middle of the next bin in which any case has a sample."""
        number = self._bin_of(place.x)
        if number is None or not right:
            return None
        indices = np.flatnonzero(np.sum([case.bins.counts for case in self._cases], axis=0))
        next_indices = indices[indices > number] if right > 0 else indices[indices < number][::-1]
        if not len(next_indices):
            return None
        low_s, high_s = self._edges_s[next_indices[0]], self._edges_s[next_indices[0] + 1]
        return math.log10(math.sqrt(low_s * high_s)), place.y

    def _bin_of(self, x: float) -> int | None:
        if not len(self._edges_s) or not -20.0 < x < 20.0:
            return None
        number = int(np.searchsorted(self._edges_s, 10.0**x, side="right")) - 1
        return number if 0 <= number < len(self._edges_s) - 1 else None

    def _mark_near(self, place: Place) -> tuple[DrawnBins, str, float] | None:
        distances = [
            (abs(math.log10(seconds) - place.x) / place.pixel[0], case, name, seconds)
            for case in self._cases
            for name, seconds in case.marks
        ]
        nearest = min(distances, key=lambda entry: entry[0], default=None)
        return nearest[1:] if nearest and nearest[0] <= _ON_MARK_PX else None


def _line(case: DrawnBins, name: str, number: int) -> Line:
    bins = case.bins
    count = int(bins.counts[number])
    faster = (bins.below + int(bins.counts[:number].sum())) / max(1, bins.total)
    count_text = counted(count, "sample")
    part = f", {share(count / bins.total)}" if count else ""
    return Line(f"{name}: {count_text}{part}, slower than {rank_text(faster)}", case.color)


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
        samples = sum(len(records) for case_series in self.series for records in case_series.rounds)
        return (*ends, self.part, samples.bit_length(), *(s.key for s in self.series))


class Tally:
    """One case in a grid, counted on as its rounds grow."""

    def __init__(self, grid: Grid, part: Part) -> None:
        self._grid, self._part = grid, part
        self._counts = np.zeros(grid.bins, np.int64)
        self._below_count = self._total = 0
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
            for chunk in _chunks(records, self._read[number]):
                self._add(part_ns(chunk[chunk["phase"] == MEASURED], self._part, due))
        self._read = lengths
        return True

    def _add(self, values_ns: np.ndarray) -> None:
        counts, below_count = self._grid.count(values_ns)
        self._counts = self._counts + counts
        self._below_count += below_count
        self._total += len(values_ns)

    @property
    def binned(self) -> Binned:
        return Binned(self._counts, self._below_count, self._total, self._grid)


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
        self._last_question: tuple[object, ...] = ()
        self._errand: Errand | None = None
        self._answer: Answer | None = None

    def of(self, view: Seen) -> dict[str, Binned] | None:
        """By the key of each case; None while only the fixed bins are known."""
        if view.question != self._last_question and self._errand is None:
            self._last_question = view.question
            self._errand = Errand(partial(_compute_answer, view))
            self._errand.done.connect(self._take)
            self._errand.begin()
        answer = self._answer
        if answer is None or not answer.grid.covers(10.0**view.low, 10.0**view.high):
            return None
        if answer.part != view.part or {s.key for s in view.series} - answer.tallies.keys():
            return None
        if not all(answer.tallies[s.key].follow(s) for s in view.series):
            self._answer, self._last_question = None, ()
            return None
        bins_by_key = {s.key: answer.tallies[s.key].binned for s in view.series}
        # A round that was measured again in the meantime is told by its counts alone.
        if view.part == "latency" and any(
            bins_by_key[s.key].total != int(s.counts.sum()) for s in view.series
        ):
            return None
        return bins_by_key

    def _take(self, _errand: Errand, answer: Answer | None) -> None:
        self._errand, self._answer = None, answer
        self.ready.emit()


def _chunks(records: np.ndarray, begin: int = 0) -> Iterator[np.ndarray]:
    """The records from one on, piece by piece; what was read of a large map is given back."""
    for start in range(begin, len(records), _CHUNK):
        chunk = records[start : start + _CHUNK]
        large = len(chunk) == _CHUNK
        yield np.array(chunk) if large else chunk
        if large:
            give_back(records)


def _compute_answer(view: Seen) -> Answer | None:
    cases = [_for_the_rule(case_series, view.part) for case_series in view.series]
    grid = grid_for(cases, 10.0**view.low, 10.0**view.high, view.width_px)
    if grid is None:
        return None
    tallies = {case_series.key: Tally(grid, view.part) for case_series in view.series}
    for case_series in view.series:
        tallies[case_series.key].follow(case_series)
    return Answer(view.part, grid, tallies)


def _for_the_rule(series: Series, part: Part) -> np.ndarray:
    """Measured parts [n] in nanoseconds: all of them, or every so-manieth."""
    if not series.has(part):
        return np.empty(0, np.int64)
    due = series.case.scenario.is_open_loop
    step = 1 + sum(map(len, series.rounds)) // _FOR_THE_RULE
    chunks = [chunk[::step].copy() for records in series.rounds for chunk in _chunks(records)]
    values = [part_ns(p[p["phase"] == MEASURED], part, due) for p in chunks]
    return np.concatenate([np.empty(0, np.int64), *values])


NAMES: dict[str, str] = {"latency": "Latency", "service": "Service time", "queue": "Queueing"}


class PartChoice(Choice):
    """Offered while some case is of an open loop; `part` is the latency otherwise."""

    def __init__(self) -> None:
        super().__init__(
            "Part of the time",
            NAMES,
            "Of open loops. Latency: from when a run was due to its end. Service time: from when "
            "it began. Queueing: from when it was due to when it began.",
        )
        self.setVisible(False)
        self._offered = False

    @property
    def part(self) -> Part:
        return next((p for p in get_args(Part) if self._offered and p == self.value), "latency")

    def offer(self, series: Sequence[Series]) -> None:
        """Show the choice where one of these has parts to choose from."""
        self._offered = any(case_series.case.scenario.is_open_loop for case_series in series)
        self.setVisible(self._offered)


class PartBins:
    """Bins of a part of the time, read on as rounds grow."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[str, int, Part], tuple[Histogram, int]] = {}

    def of(self, series: Sequence[Series], part: Part) -> list[Series]:
        """The series with the bins of this part; those without it are left out."""
        if part == "latency":
            return [case_series for case_series in series if case_series.counts.any()]
        parts = (self._bin_part(s, part) for s in series if s.has(part))
        return [s for s in parts if s.counts.any()]

    def _bin_part(self, series: Series, part: Part) -> Series:
        if not series.case.scenario.is_open_loop:
            return series  # its latency is its service
        counts, row = self._counts(series, part), _without_latencies(series)
        return replace(series, counts=counts, summary=None, published=(), row=row)

    def _counts(self, series: Series, part: Part) -> np.ndarray:
        total = Histogram().counts
        for number, records in enumerate(series.rounds):
            key = (series.key, number, part)
            histogram, read = self._rounds.get(key, (Histogram(), 0))
            if len(records) < read:
                histogram, read = Histogram(), 0
            new_records = records[read:]
            histogram.add(
                part_ns(new_records[new_records["phase"] == MEASURED], part, from_schedule=True)
            )
            self._rounds[key] = histogram, len(records)
            total += histogram.counts
        return total


def _without_latencies(series: Series) -> Blank:
    """Its row without the figures that are of the latency, as another part has its own."""
    return Blank({name: x for name, x in series.row.items() if not name.startswith("latency_")})


def without_samples(series: Sequence[Series], not_yet: str) -> str:
    """What is said in place of a plot: `not_yet` while samples may come, else that none will."""
    if not series or any(case_series.status in ("waiting", "measuring") for case_series in series):
        return not_yet
    if any(case_series.status in FITS for case_series in series):
        return "The samples of these cases are not in the run folder, so only the table has them."
    return "None of these cases gave samples. The results table has the cause, under Reason."


def since_when(series: Sequence[Series], part: Part) -> str:
    """What a part counts from, "" where all count from their start as ever."""
    if part == "queue":
        return "from when runs were due to when they began"
    if part == "service":
        return "from when runs began"
    loops = {case_series.case.scenario.is_open_loop for case_series in series}
    if loops == {True}:
        return "from when runs were due"
    return "open loops from when runs were due" if True in loops else ""
