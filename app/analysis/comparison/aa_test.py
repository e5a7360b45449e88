"""The A/A test: each case compared with itself, so that faster and slower are wrong verdicts.

A case is measured in 2 R N rounds, of which each 2 R in a row are one comparison of R rounds a
side. It need not be listed twice: rounds of a case are fresh processes of the very same work, so
which of two neighbours is called the first side and which the second may be drawn, and is, by the
run's seed. That gives what two alike cases measured in turn would give; the two of a pair lie in
neighbouring shuffles of all cases, a little further apart in time than in a comparison with a
baseline, so that the machine is not flattered.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.analysis.comparison.measured_case import MeasuredCase, clock_resolution
from app.formatting.case_labels import labels
from app.formatting.text import counted
from app.run_folder.run import Run
from app.stats.intervals import round_correlation
from app.stats.quantiles import Interval, mean
from app.stats.verdict import RoundPairs, binomial_interval, judge_rounds, smallest_change

ALL = "all"

Key = tuple[str, str]
"""A case's id and a percentile."""
Pairs = Mapping[int, tuple[float, float]]
"""The two sides of each pair of rounds, by its number."""


@dataclass(frozen=True, slots=True)
class AAFigure:
    """How one percentile of a case fared, or all of them together (`case_id` empty).

    Of `comparisons`, `wrong` were called faster or slower; `share` is the exact 95 % interval of
    how often that happens. `smallest_change` is the slowdown that one such comparison would find
    in nine of ten tries, as a share, by the spread of all pairs; together it is the largest.
    """

    case_id: str
    label: str
    percentile: str
    comparisons: int
    wrong: int
    share: Interval
    smallest_change: float | None


@dataclass(frozen=True, slots=True)
class AAResult:
    """`rounds` are those of a side in one comparison; `total` comparisons were asked for."""

    rounds: int
    total: int
    band: float
    cases: tuple[AAFigure, ...]
    overall: tuple[AAFigure, ...]


def aa_result(run: Run, measurements: Sequence[MeasuredCase]) -> AAResult:
    """All comparisons of which every round is there; those of a run that goes on are fewer."""
    plan = run.manifest.requested_plan
    total = plan.aa or 0
    rounds = run.manifest.rounds // (2 * total)
    names = labels([item.case for item in measurements])
    pairs = {
        (item.case.case_id, name): figures
        for item in measurements
        for name in plan.judge
        if item.is_well and (figures := _pairs(item, name, run.manifest.seed))
    }
    by_id = {item.case.case_id: item for item in measurements}
    resolutions = {(c, n): clock_resolution(by_id[c], by_id[c], n) for c, n in pairs}
    wrong_sets = list(_wrong_verdicts(pairs, resolutions, rounds, total, plan.band))
    cases = tuple(
        _figure_of(
            key[0], names[key[0]], key[1],
            [key in words for words in wrong_sets],
            _smallest(figures, rounds, math.expm1(math.log1p(plan.band) + resolutions[key])),
        )
        for key, figures in pairs.items()
    )  # fmt: skip
    overall = []
    for percentile in (*dict.fromkeys(name for _, name in pairs), ALL):
        wrong_flags = [any(percentile in (ALL, name) for _, name in words) for words in wrong_sets]
        changes = [item.smallest_change for item in cases if percentile in (ALL, item.percentile)]
        largest = max((change for change in changes if change is not None), default=None)
        ids = {case_id for case_id, name in pairs if percentile in (ALL, name)}
        is_all = ids == by_id.keys()
        label = "all cases" if is_all else f"{len(ids)} of {counted(len(by_id), 'case')}"
        overall.append(_figure_of("", label, percentile, wrong_flags, largest))
    return AAResult(rounds, total, plan.band, cases, tuple(overall))


def _wrong_verdicts(
    pairs: Mapping[Key, Pairs],
    resolutions: Mapping[Key, float],
    rounds: int,
    total: int,
    band: float,
) -> Iterator[set[Key]]:
    """Of each comparison that is whole, what it called faster or slower; all judged together."""
    for number in range(total):
        places = range(rounds * number, rounds * (number + 1))
        if all(place in figures for figures in pairs.values() for place in places):
            comparisons = [
                _comparison(key[1], figures, places, resolutions[key])
                for key, figures in pairs.items()
            ]
            verdicts = judge_rounds(comparisons, band)
            results = zip(pairs, verdicts, strict=True)
            yield {key for key, verdict in results if verdict.word in ("faster", "slower")}


def _figure_of(
    case_id: str, label: str, percentile: str, wrong_flags: Sequence[bool], change: float | None
) -> AAFigure:
    share = binomial_interval(sum(wrong_flags), len(wrong_flags))
    return AAFigure(case_id, label, percentile, len(wrong_flags), sum(wrong_flags), share, change)


def _pairs(measurement: MeasuredCase, name: str, seed: int) -> Pairs:
    """Rounds 2 k and 2 k + 1 as the two sides of pair k, in an order that is drawn."""
    figures = measurement.by_round(name)
    rng = random.Random(f"{seed}:{measurement.case.case_id}:aa")
    pairs = {}
    for place in range(max(figures, default=-1) // 2 + 1):
        first = 2 * place + rng.randrange(2)
        second = 4 * place + 1 - first
        if first in figures and second in figures:
            pairs[place] = figures[first], figures[second]
    return pairs


def _comparison(name: str, pairs: Pairs, places: Sequence[int], resolution: float) -> RoundPairs:
    first, second = ([pairs[place][side] for place in places] for side in (0, 1))
    return RoundPairs(first, second, figure=name, resolution=resolution)


def _smallest(pairs: Pairs, rounds: int, band: float) -> float | None:
    if len(pairs) < 2:
        return None
    ratios = np.array([second / first for first, second in pairs.values()])
    starts = range(0, max(1, len(ratios) - rounds + 1), rounds)
    inflations = [round_correlation(ratios[k : k + rounds]).inflation for k in starts]
    inflation = math.sqrt(mean(np.square(inflations)))
    # The sides are alike: the mean of their logarithms is 0.
    error = inflation * math.sqrt(mean(np.square(np.log(ratios))) / rounds)
    return smallest_change(error, rounds - 1, band, inflation=inflation)
