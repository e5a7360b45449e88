"""The end of a long round held against its beginning, and when its level moved for good.

Pure functions of one round's samples; a machine that heats up shows here, and one that does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.quantiles import supported_quantile
from app.stats.steadiness import movement, window_medians
from runtimes.execution import Samples

MINUTE_S, LEAST_MINUTES = 60.0, 2
"""A round of at least two minutes has a first and a last one; a shorter one has tenths."""
_SHORT_SHARE = 0.1
WINDOWS, LEAST_RUNS = 100, 30
"""The level is followed in so many windows, in fewer where one would have fewer runs than so."""
_SMOOTHED = 5
"""The median of so many windows is the level, so that one slow window is not a move."""
SLOWER = 0.02
"""A level that is less slower than this has stayed, as it has for `drift`."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Microseconds of the first and the last `part_s` of a round; None for too few runs.

    `slower_after_s` is when the level had gone half of the way to a slower end and did not come
    back; None where it stayed.
    """

    part_s: float
    first_p50_us: float | None
    last_p50_us: float | None
    first_p99_us: float | None
    last_p99_us: float | None
    slower_after_s: float | None


def part_s(seconds: float) -> float:
    """What is compared of a round of so long: a minute, or a tenth below two of them."""
    return MINUTE_S if seconds >= LEAST_MINUTES * MINUTE_S else _SHORT_SHARE * seconds


def ends(samples: Samples, seconds: float) -> Ends:
    """Of samples [n > 0] of a round that was asked to last so many seconds."""
    order = np.argsort(samples.started_ns, kind="stable")
    started_ns, latency_us = samples.started_ns[order], samples.latency_ns[order] / 1e3
    part = part_s(seconds)
    first = np.sort(latency_us[started_ns < started_ns[0] + part * 1e9])
    last = np.sort(latency_us[started_ns > started_ns[-1] - part * 1e9])
    return Ends(
        part,
        supported_quantile(first, 0.5),
        supported_quantile(last, 0.5),
        supported_quantile(first, 0.99),
        supported_quantile(last, 0.99),
        _slower_after_s(started_ns, latency_us, part),
    )


def _slower_after_s(started_ns: np.ndarray, latency_us: np.ndarray, part: float) -> float | None:
    """From the beginning; a trend or a step is what `steadiness.movement` calls one."""
    lasted_s = float(started_ns[-1] - started_ns[0]) * 1e-9
    levels = window_medians(started_ns, latency_us, lasted_s / WINDOWS, LEAST_RUNS)
    moved = movement(levels)
    if moved is None or moved.word == "flat":
        return None
    window_s = lasted_s / len(levels)
    ending = max(1, round(part / window_s))
    first, last = float(np.median(levels[:ending])), float(np.median(levels[-ending:]))
    if last <= first * (1.0 + SLOWER):
        return None
    below = np.flatnonzero(_smoothed(levels) < (first + last) / 2.0)
    return window_s * float(below[-1] + 1) if len(below) else 0.0


def _smoothed(levels: np.ndarray) -> np.ndarray:
    """Running medians, each about its own window; both ends are repeated."""
    padded = np.pad(levels, _SMOOTHED // 2, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, _SMOOTHED), axis=1)
