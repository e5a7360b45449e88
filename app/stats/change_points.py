"""Change points in series of runs, and the factor that all series of a machine share.

A run's figures of many cases move together where the machine moved, and one alone moves where its
code did. The shared part is estimated by a median polish (Tukey, Exploratory Data Analysis, 1977):
series level plus run factor plus the rest, both by medians, so that a change of a minority of the
series does not reach the factor.

For a change point a run is one figure: what runs differ by is seen between runs, never within
one. The test shuffles the runs, so it asks nothing of their distribution, only that without a
change no run is more likely to be slow than its neighbours are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.cases.objectives import BAND

MINIMUM_SERIES = 3
"""Of two series nobody can tell which one moved."""
_SWEEPS = 10
_HEAVIEST = 2.0
"""A quiet series weighs more than a noisy one, at most so many times the middle weight: the factor
must not become that series."""


def common_factor(logs: np.ndarray) -> np.ndarray | None:
    """Of logarithms [series, runs], NaN where a run lacks a series, the factor [runs] about 0.

    None with fewer than three series. A run with fewer than three has the factor of the run before
    it, since its own is not known.
    """
    present = ~np.isnan(logs)
    if len(logs) < MINIMUM_SERIES:
        return None
    has_factor = present.sum(axis=0) >= MINIMUM_SERIES
    if not has_factor.any():
        return None
    factor, weights = np.zeros(logs.shape[1]), np.ones(len(logs))
    for sweep in range(_SWEEPS):
        levels = _row_medians(logs - factor)
        rest = logs - levels[:, None]
        estimate = np.array([_weighted_median(rest[:, run], weights) for run in range(len(factor))])
        estimate[~has_factor] = 0.0
        estimate = _fill_forward(estimate, has_factor)
        estimate -= np.median(estimate)
        if sweep:
            weights = _weights(rest - estimate)
        if sweep > 1 and np.allclose(estimate, factor, rtol=0.0, atol=1e-9):
            break
        factor = estimate
    return factor


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The middle of the values that are there: the mean of both where two share the middle."""
    present = ~np.isnan(values)
    if not present.any():
        return 0.0
    order = np.argsort(values[present])
    sorted_values, shares = values[present][order], weights[present][order]
    cumulative = np.cumsum(shares) / shares.sum()
    low = int(np.searchsorted(cumulative, 0.5 - 1e-12))
    high = int(np.searchsorted(cumulative, 0.5 + 1e-12))
    return float((sorted_values[low] + sorted_values[min(high, len(sorted_values) - 1)]) / 2.0)


def _row_medians(values: np.ndarray) -> np.ndarray:
    """The median of the values that each row has [rows], NaN of a row without any."""
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    counts = np.count_nonzero(~np.isnan(values), axis=1)
    ascending, rows = np.sort(values, axis=1), np.arange(len(values))  # NaN comes last
    lower = ascending[rows, np.maximum(counts - 1, 0) // 2]
    medians: np.ndarray = (
        lower + ascending[rows, np.minimum(counts // 2, len(ascending[0]) - 1)]
    ) / 2.0
    medians[counts == 0] = np.nan
    return medians


def _weights(rest: np.ndarray) -> np.ndarray:
    """One over the variance of each series from run to run, which no step of its level moves."""
    deviations = np.nan_to_num(_row_medians(np.abs(np.diff(rest, axis=1))))
    positive = deviations[deviations > 0.0]
    if not len(positive):
        return np.ones(len(rest))
    raw = 1.0 / np.maximum(deviations, positive.min()) ** 2
    weights: np.ndarray = np.minimum(raw, _HEAVIEST * np.median(raw))
    return weights


def _fill_forward(factor: np.ndarray, has_factor: np.ndarray) -> np.ndarray:
    """The factor of the run before where a run has none; before the first that has one, of that."""
    places = np.where(has_factor, np.arange(len(factor)), -1)
    places = np.maximum.accumulate(places)
    places[places < 0] = int(np.argmax(has_factor))
    result: np.ndarray = factor[places]
    return result


FALSE_ALARMS = 0.05
"""The share of histories without a change in which any of their series shows one, at most."""
MINIMUM_RUNS = 10
"""Of 9 runs even the cleanest step comes about by chance in more than 5 % of their orders."""
_FAR = 4.0
"""Standard deviations beyond which a run is taken for as far: one bad night hides no change."""
_RESOLUTION = 4.0
"""So many shuffles are expected to reach what is just significant."""
_MINIMUM_DRAWS = 2000
_FIRST_BLOCK, _BLOCK = 50, 1000
"""Shuffles at once, at first and at most: most series are done after some dozens."""
_SEED = 0
"""The same runs give the same answer."""

Statistic = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """`place` is the first run of the new level, `before` and `after` the medians of the runs up to
    the neighbouring change points, in the unit of the series. `p_value` is over all series."""

    place: int
    previous_level: float
    new_level: float
    p_value: float

    @property
    def ratio(self) -> float:
        """After over before: above 1 it has become slower."""
        return self.new_level / self.previous_level


def change_points(
    histories: Sequence[Sequence[float]], band: float = BAND
) -> list[tuple[ChangePoint, ...]]:
    """Those of each series of positive figures in order of time; none with fewer than ten runs.

    A series is cut where its two sides, or an episode and what lies around it, differ most for
    their lengths; if in a share of FALSE_ALARMS over the number of series of its shuffles they
    differ as much, it is left whole; else its parts are looked at likewise (binary segmentation
    with E-divisive's permutation test, Matteson & James, J. Am. Statist. Assoc. 109, 2014; the
    episode is that of circular segmentation, Olshen et al., Biostatistics 5, 2004). Moves within
    the band are none.
    """
    series_count = sum(len(series) >= MINIMUM_RUNS for series in histories)
    return [
        _change_points_of(np.log(np.array(series, float)), max(1, series_count), band)
        for series in histories
    ]


def _change_points_of(logs: np.ndarray, series_count: int, band: float) -> tuple[ChangePoint, ...]:
    rng = np.random.default_rng(_SEED)
    level = FALSE_ALARMS / series_count
    p_values: dict[int, float] = {}
    pending = [(0, len(logs))]
    while pending:
        begin, end = pending.pop()
        if end - begin < MINIMUM_RUNS:
            continue
        cuts, p_value = _cut(_scores(logs[begin:end]), level, rng)
        places = [begin + cut for cut in cuts]
        p_values |= dict.fromkeys(places, p_value)
        pending += pairwise([begin, *places, end]) if places else ()
    places = _drop_small_moves(logs, sorted(p_values), band)
    levels = np.exp(_levels(logs, places)).tolist()
    return tuple(
        ChangePoint(place, previous_level, new_level, min(1.0, series_count * p_values[place]))
        for place, (previous_level, new_level) in zip(places, pairwise(levels), strict=True)
    )


def _cut(scores: np.ndarray, level: float, rng: np.random.Generator) -> tuple[list[int], float]:
    """Where to cut, nowhere if that is not significant, and the p value of the better of both."""
    for statistic, places in ((_largest_step, _step), (_largest_episode, _episode)):
        p_value = min(1.0, 2.0 * _p_value(scores, statistic, level / 2.0, rng))
        if p_value <= level:
            return places(scores), p_value
    return [], 1.0


def _p_value(
    scores: np.ndarray, statistic: Statistic, level: float, rng: np.random.Generator
) -> float:
    """The share of shuffles, the order that was seen among them, that reach its statistic.

    As soon as so many do that it can no longer come down to `level`, no more are drawn.
    """
    threshold = float(statistic(scores[None])[0]) * (1.0 - 1e-9)
    if threshold <= 0.0:
        return 1.0
    draws = max(_MINIMUM_DRAWS, math.ceil(_RESOLUTION / level))
    exceedances = draw_count = 0
    while draw_count < draws and exceedances + 1 <= level * (draws + 1):
        block = min(max(draw_count, _FIRST_BLOCK), _BLOCK, draws - draw_count)
        shuffled_scores = rng.permuted(np.broadcast_to(scores, (block, len(scores))), axis=1)
        exceedances += int(np.count_nonzero(statistic(shuffled_scores) >= threshold))
        draw_count += block
    return (exceedances + 1) / (draw_count + 1)


def _scores(logs: np.ndarray) -> np.ndarray:
    """The series about its mean, runs far from its median drawn in; shuffling changes neither."""
    middle = float(np.median(logs))
    reach = _FAR * 1.4826 * float(np.median(np.abs(logs - middle)))
    drawn_in = np.clip(logs, middle - reach, middle + reach) if reach else logs
    return drawn_in - drawn_in.mean()


def _steps(scores: np.ndarray) -> np.ndarray:
    """For orders [m, n], how much both sides of each cut differ, in its standard errors but for the
    noise, [m, n - 1]: the sum of one side over sqrt(k (n - k) / n)."""
    count = scores.shape[1]
    cuts = np.arange(1, count)
    steps: np.ndarray = np.abs(np.cumsum(scores, axis=1)[:, :-1])
    return steps / np.sqrt(cuts * (count - cuts) / count)


def _largest_step(scores: np.ndarray) -> np.ndarray:
    largest: np.ndarray = _steps(scores).max(axis=1)
    return largest


def _step(scores: np.ndarray) -> list[int]:
    return [int(np.argmax(_steps(scores[None])[0])) + 1]


def _episodes(sums: np.ndarray, length: int) -> np.ndarray:
    """The same for episodes of so many runs that hold neither the first run nor the last, from
    the cumulative sums of the orders."""
    count = sums.shape[1]
    episodes: np.ndarray = np.abs(sums[:, length:-1] - sums[:, : -length - 1])
    return episodes / math.sqrt(length * (count - length) / count)


def _largest_episode(scores: np.ndarray) -> np.ndarray:
    """Of up to half of all runs."""
    sums = np.cumsum(scores, axis=1)
    largest = np.zeros(len(sums))
    for length in range(1, sums.shape[1] // 2 + 1):
        np.maximum(largest, _episodes(sums, length).max(axis=1), out=largest)
    return largest


def _episode(scores: np.ndarray) -> list[int]:
    sums, lengths = np.cumsum(scores)[None], range(1, len(scores) // 2 + 1)
    sums_by_length = [_episodes(sums, length)[0] for length in lengths]
    length = lengths[int(np.argmax([sizes.max() for sizes in sums_by_length]))]
    begin = int(np.argmax(sums_by_length[length - 1])) + 1
    return [begin, begin + length]


def _drop_small_moves(logs: np.ndarray, places: list[int], band: float) -> list[int]:
    """Without those at which the level moves within the band, the smallest move going first."""
    while places:
        moves = np.abs(np.diff(_levels(logs, places)))
        smallest = int(np.argmin(moves))
        if moves[smallest] > math.log1p(band):
            break
        places = places[:smallest] + places[smallest + 1 :]
    return places


def _levels(logs: np.ndarray, places: Sequence[int]) -> np.ndarray:
    edges = [0, *places, len(logs)]
    return np.array([np.median(logs[begin:end]) for begin, end in pairwise(edges)])
