"""Steadiness within a round: whether latencies have settled, and how a long round ended.

A window is a short stretch of time, known by the median latency of its runs. What counts as
moving is measured against the noise between neighbouring windows, so that a slow model with few
runs in a window is not called unsteady for being noisy.

A machine that heats up shows in a sustained round, and one that does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from app.stats.quantiles import mean, supported_quantile
from runtimes.execution import Samples

Word = Literal["flat", "warmed up", "slowed down", "level moves"]

SETTLED_WINDOWS = 10
"""Warm-up is judged by so many last windows."""
_AGREEMENT = 0.01
_TREND = 0.01
_MINIMUM_WINDOWS = 8
_MOVED_SHARE = 0.02
"""A change of the level that matters, as a share of it."""
_STEP_Z = 4.0
"""Standard errors of a step. It is the largest of all places where it may be, hence above 1.96."""
_FEW = 256
"""So many numbers are sorted before they are parted."""
_TREND_5, _TREND_1 = 1.96, 2.576
"""Two-sided bounds of a standard normal at 5 and 1 %."""


@dataclass(frozen=True, slots=True)
class Movement:
    """What the level did within a round; `change` is its size as a share of the level."""

    word: Word
    change: float = 0.0


def has_settled(medians: Sequence[float] | np.ndarray) -> bool | None:
    """Whether the last ten windows agree; None while there are fewer.

    Their halves differ by less than 1 % or three standard errors, whichever is more, and no
    trend that Mann and Kendall's test finds at 5 % moves them by more than 1 %. The standard
    error of the difference of two medians of five is 1.25 noise sqrt(2/5).
    """
    if len(medians) < SETTLED_WINDOWS:
        return None
    last = np.array(medians[-SETTLED_WINDOWS:], float)
    half = SETTLED_WINDOWS // 2
    level = float(np.median(last))
    error = 1.25 * noise(last) * math.sqrt(2.0 / half)
    gap = abs(float(np.median(last[half:]) - np.median(last[:half])))
    if gap > max(_AGREEMENT * level, 3.0 * error):
        return False
    trend_change = abs(slope(last)) * (SETTLED_WINDOWS - 1)
    return not (abs(trend_z(last)) > _TREND_5 and trend_change > _TREND * level)


def movement(medians: Sequence[float] | np.ndarray) -> Movement | None:
    """What the windows of a round show once it is over; None with fewer than eight.

    A drift is a trend that Mann and Kendall's test finds at 1 % and by which Theil and Sen's line
    moves more than 2 %; a moving level is a step of more than 2 % and four standard errors. Where
    both are seen, the one that leaves the smaller squares is told.
    """
    windows = np.array(medians, float)
    count = len(windows)
    if count < _MINIMUM_WINDOWS:
        return None
    level = median(windows)
    drift = slope(windows) * (count - 1) / level
    drifts = abs(trend_z(windows)) > _TREND_1 and abs(drift) > _MOVED_SHARE
    place, step_z = step(windows)
    first_mean, last_mean = mean(windows[:place]), mean(windows[place:])
    shift = (last_mean - first_mean) / level
    shifts = abs(step_z) > _STEP_Z and abs(shift) > _MOVED_SHARE
    if drifts and shifts:
        line = slope(windows) * np.arange(count)
        left_by_line = np.var(windows - line)
        left_by_step = np.var(
            np.concatenate([windows[:place] - first_mean, windows[place:] - last_mean])
        )
        drifts = bool(left_by_line < left_by_step)
    if drifts:
        return Movement("slowed down" if drift > 0 else "warmed up", drift)
    return Movement("level moves", shift) if shifts else Movement("flat")


def noise(windows: np.ndarray) -> float:
    """The standard deviation of windows about a level that moves slowly or in few steps.

    The root of half the mean squared first difference (von Neumann, Ann. Math. Statist. 12,
    1941): a step is in one difference only.
    """
    steps = windows[1:] - windows[:-1]
    return math.sqrt(mean(steps * steps) / 2.0)


def slope(windows: np.ndarray) -> float:
    """Theil and Sen's slope: the median of the slopes between all pairs, in units a window."""
    rows, columns = _pairs(len(windows))
    return median((windows[columns] - windows[rows]) / (columns - rows))


def trend_z(windows: np.ndarray) -> float:
    """Mann and Kendall's statistic as a standard normal (Kendall, Rank Correlation Methods, 1975).

    S is the number of pairs that rise less that of those that fall; without ties its variance
    is n (n - 1) (2 n + 5) / 18.
    """
    count = len(windows)
    rows, columns = _pairs(count)
    score = float(np.sign(windows[columns] - windows[rows]).sum())
    variance = count * (count - 1) * (2 * count + 5) / 18.0
    return (score - math.copysign(min(1.0, abs(score)), score)) / math.sqrt(variance)


def step(windows: np.ndarray) -> tuple[int, float]:
    """The place where a step explains most, and its size in standard errors (CUSUM).

    For a step before window k of n the cumulative sum of deviations from the mean, divided
    by noise sqrt(k (n - k) / n), is largest there.
    """
    count = len(windows)
    sums = np.cumsum(windows - mean(windows))[:-1]
    places = np.arange(1, count)
    spread = noise(windows) or 1e-9 * float(np.abs(windows).max())
    scores = -sums / (spread * np.sqrt(places * (count - places) / count))
    best = int(np.argmax(np.abs(scores)))
    return best + 1, float(scores[best])


def window_medians(
    started_ns: np.ndarray, latency_ns: np.ndarray, window_s: float, minimum_runs: int
) -> np.ndarray:
    """Median latencies of windows of so long, widened until each has `least` runs or so."""
    if not len(started_ns):
        return np.empty(0)
    duration_s = max(float(started_ns[-1] - started_ns[0]) * 1e-9, 1e-9)
    windows = int(min(duration_s / window_s, len(started_ns) / minimum_runs))
    if windows < 1:
        return np.empty(0)
    edges = np.linspace(started_ns[0], started_ns[-1], windows + 1)[1:-1]
    ends = [*np.searchsorted(started_ns, edges).tolist(), len(latency_ns)]
    parts = (latency_ns[begin:end] for begin, end in zip([0, *ends], ends, strict=False))
    return np.array([median(part) for part in parts if len(part)])


def median(values: np.ndarray) -> float:
    """As `np.median` of finite values, without what that looks at first: there are many windows."""
    count, middle = len(values), len(values) // 2
    sorted_values = values.copy()
    if count < _FEW:
        sorted_values.sort()
    else:
        sorted_values.partition((middle - 1, middle))
    if count % 2:
        return float(sorted_values[middle])
    return float((sorted_values[middle - 1] + sorted_values[middle]) / 2)


@lru_cache(maxsize=64)
def _pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second place of each pair of so many."""
    first, second = np.triu_indices(count, 1)
    return first, second


MINUTE_S, MINIMUM_MINUTES = 60.0, 2
"""A round of at least two minutes has a first and a last one; a shorter one has tenths."""
_SHORT_SHARE = 0.1
WINDOWS, MINIMUM_RUNS = 100, 30
"""The level is followed in so many windows, in fewer where one would have fewer runs than so."""
_SMOOTHING_WINDOW = 5
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
    return MINUTE_S if seconds >= MINIMUM_MINUTES * MINUTE_S else _SHORT_SHARE * seconds


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
    levels = window_medians(started_ns, latency_us, lasted_s / WINDOWS, MINIMUM_RUNS)
    change = movement(levels)
    if change is None or change.word == "flat":
        return None
    window_s = lasted_s / len(levels)
    ending = max(1, round(part / window_s))
    first, last = float(np.median(levels[:ending])), float(np.median(levels[-ending:]))
    if last <= first * (1.0 + SLOWER):
        return None
    low_windows = np.flatnonzero(_smooth(levels) < (first + last) / 2.0)
    return window_s * float(low_windows[-1] + 1) if len(low_windows) else 0.0


def _smooth(levels: np.ndarray) -> np.ndarray:
    """Running medians, each about its own window; both ends are repeated."""
    padded = np.pad(levels, _SMOOTHING_WINDOW // 2, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, _SMOOTHING_WINDOW), axis=1)
