"""Bins for what is looked at: as narrow as its samples, the screen and the clock's tick allow.

Within a factor of two they are equally wide in time, over more than that in the logarithm: on a
logarithmic axis the last of equally wide ones would be too narrow to be seen. Their width follows
Freedman and Diaconis: 2 IQR / n^(1/3), of the case for which that is least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.formatting.text import significant, time_tick

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
        found: np.ndarray = 10.0**edges if self.log else edges * 1e-9
        return found

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
    seen = [v[(v >= low_s * 1e9) & (v <= high_s * 1e9)] for v in cases]
    seen = [values for values in seen if len(values) > 1]
    if not seen or not 0.0 < low_s < high_s or width_px < _LEAST_PX:
        return None
    tick = max(1, min(tick_ns(values) for values in cases if len(values)))
    decades = math.log10(high_s / low_s)
    margin = 10.0 ** (decades / 2.0)
    if decades > _LINEAR_DECADES:
        return _log_grid(seen, tick, low_s / margin, high_s * margin, decades, width_px)
    widest_ns = max(1.0, (high_s - low_s) * 1e9 / 4.0)
    rough = min(max(_rule(values), float(tick)) for values in seen)
    # On a logarithmic axis the last bin is the narrowest one to be seen.
    per_px = high_s * 1e9 * math.log(10.0) * decades / width_px
    step = _whole_ticks(
        min(max(rough, _LEAST_PX * per_px), max(widest_ns, _LEAST_PX * per_px)), tick
    )
    first = math.floor(low_s * 1e9 / margin / step) * step - tick / 2.0
    bins = math.ceil((high_s * 1e9 * margin - first) / step)
    return Grid(first, float(step), bins, log=False)


def _log_grid(
    seen: Sequence[np.ndarray], tick: int, low_s: float, high_s: float, decades: float, px: float
) -> Grid:
    logs = [np.log10(np.maximum(values, 1) * 1e-9) for values in seen]
    least_s = 10.0 ** min(float(values.min()) for values in logs)
    # Where they begin a bin still holds a tick, or some would be empty for the clock's sake.
    of_tick = math.log10(1.0 + tick * 1e-9 / least_s)
    step = max(min(map(_rule, logs)), of_tick, _LEAST_PX * decades / px, 1e-4)
    step = min(step, max(decades / 20.0, of_tick))
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
