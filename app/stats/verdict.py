"""Two cases compared: faster, slower, same or undecided, from the rounds' own figures.

A round is a process, so rounds are what is counted. Where rounds of the two were measured in
turn, each pair is one observation; where not, both spreads count, and what two runs differ by
without a change of the code. All comparisons that are read together are judged together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.cases.verdict import BAND, Word
from app.stats.between import LEAST_ROUNDS, deviation, spread_limit
from app.stats.distributions import beta_quantile, noncentrality, t_quantile, t_share
from app.stats.quantiles import CONFIDENCE, Interval
from app.stats.run_variation import RunVariation

TOO_FEW_ROUNDS, TOO_FEW_RUNS = "too_few_rounds", "too_few_runs"
NOT_RESOLVED, RUN_VARIATION = "not_resolved", "run_variation"
NO_RUN_VARIATION, CLOCK_CHANGED = "run_variation_unknown", "clock_changed"
"""Why a verdict is undecided: too few rounds for an interval, too few runs in them, an interval
that is too wide because rounds differ, or because runs do, runs of which nobody knows by how much
they do, another clock of the cores."""
FOUND = 0.9
"""`smallest_change` is what would be found in so many of all tries."""
MOST_ROUNDS = 100
"""Nobody is told to measure more than so many."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The logarithm of second over first, its standard error and its degrees of freedom.

    `resolution` is how far the logarithm may be off because of the ticks of the clocks, whatever
    the rounds' spread. `variation` is what two runs differ by without a change, where it counts.
    """

    log: float
    error: float
    freedom: float
    in_turn: bool
    resolution: float = 0.0
    variation: RunVariation | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ratio` is second over first; `why` says what is undecided, `reason` is its code.

    `interval` is the one that decided, at `confidence`: it lies beyond the band where the word is
    slower or faster, within it where it is same, and neither where the size of the change leaves
    it undecided. `family` is how many comparisons were judged together.
    """

    word: Word
    ratio: float | None
    interval: Interval | None
    why: str = ""
    confidence: float = CONFIDENCE
    family: int = 1
    reason: str = ""
    variation: RunVariation | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    """Whether a test was rejected, and at which confidence."""

    rejected: bool
    confidence: float


def difference(
    first: Sequence[float],
    second: Sequence[float],
    in_turn: bool,
    resolution: float = 0.0,
    variation: RunVariation | None = None,
) -> Difference | None:
    """Of the rounds' own figures; None with fewer than three rounds a side.

    In turn: the mean of the logarithms' differences, with n - 1 degrees of freedom. Apart:
    Welch's t, with the degrees of freedom of Satterthwaite. Of two runs their `variation` is a
    third part of the variance, which no number of rounds makes smaller; without it the figures are
    compared as if the machine were the same (DerSimonian & Laird, Control. Clin. Trials 7, 1986,
    have the same two parts). `resolution` is that of the clocks (`clock_tick.ratio_resolution`).
    """
    a, b = np.log(np.array(first)), np.log(np.array(second))
    if in_turn:
        both = min(len(a), len(b))
        a, b = a[:both], b[:both]
    if min(len(a), len(b)) < LEAST_ROUNDS:
        return None
    log = float(b.mean() - a.mean())
    if in_turn:
        error = float(np.std(b - a, ddof=1)) / math.sqrt(len(a))
        return Difference(log, error, len(a) - 1, in_turn, resolution)
    parts = [(float(np.var(side, ddof=1)) / len(side), len(side) - 1.0) for side in (a, b)]
    if variation is not None:
        own = sum(variance for variance, _ in parts)
        counted = min(1.0, 2.0 * variation.sampling / own) if own else 0.0
        parts = [(variance * (1.0 - counted), freedom) for variance, freedom in parts]
        parts.append((variation.variance, variation.freedom))
    total = sum(variance for variance, _ in parts)
    weights = sum(variance**2 / freedom for variance, freedom in parts)
    freedom = total**2 / weights if weights else len(a) + len(b) - 2
    return Difference(log, math.sqrt(total), freedom, in_turn, resolution, variation)


def interval_of(d: Difference, confidence: float) -> Interval:
    """The t interval of the ratio, second over first, and beyond it what the ticks leave open."""
    reach = t_quantile(d.freedom, 0.5 + confidence / 2) * d.error + d.resolution
    return Interval(math.exp(d.log - reach), math.exp(d.log + reach))


def judge(
    differences: Sequence[Difference | None], band: float = BAND, confidence: float = CONFIDENCE
) -> list[Verdict]:
    """A verdict for each, none of all being wrongly faster or slower in more than 5 % of runs.

    At another `confidence` in as many more or fewer. Faster and slower: the test that the change
    lies within the band fails, with Holm's correction over all (Holm, Scand. J. Statist. 6, 1979).
    Its interval is at the level of its step, so it lies beyond the band exactly where the test
    fails. Same: two one-sided tests that it lies beyond the band fail (Schuirmann, J. Pharmacokin.
    Biopharm. 15, 1987), which an interval at 90 % says where they are at 5 %.
    """
    tested = [None if d is None else _beyond(d, band) for d in differences]
    steps = _holm(tested, 1.0 - confidence)
    family = len(tested) - tested.count(None)
    return [
        replace(_verdict(d, step, band, confidence), family=family)
        for d, step in zip(differences, steps, strict=True)
    ]


def smallest_change(
    error: float, freedom: float, band: float = BAND, confidence: float = CONFIDENCE
) -> float:
    """The slowdown that such a comparison would call slower in nine of ten tries, as a share.

    ln(1 + x) = ln(1 + band) + d error, with the noncentrality d at which the noncentral t exceeds
    the critical value of the test with nine chances of ten. `error` is the true standard error. For
    one comparison; Holm's correction asks for more.
    """
    return math.expm1(math.log1p(band) + _power_reach(freedom, 0.5 + confidence / 2) * error)


def rounds_to_decide(
    d: Difference, band: float = BAND, confidence: float = CONFIDENCE
) -> int | None:
    """How many rounds in turn would decide it in nine of ten tries, were it as large as it looks.

    The least n at which |ln ratio| lies beyond the band, by a test at this `confidence`, or within
    it, by the reach of the test and of its power, with standard errors of s / sqrt(n). None where
    `MOST_ROUNDS` are too few.
    """
    spread = d.error * math.sqrt(d.freedom + 1)
    apart = abs(d.log) - math.log1p(band)
    if abs(apart) <= d.resolution:
        return None
    apart -= math.copysign(d.resolution, apart)
    level = 0.5 + confidence / 2 if apart > 0 else CONFIDENCE
    for rounds in range(LEAST_ROUNDS, MOST_ROUNDS + 1):
        if _power_reach(rounds - 1, level) * spread / math.sqrt(rounds) < abs(apart):
            return rounds
    return None


def smallest_change_between(figures: Sequence[float], band: float = BAND) -> float | None:
    """The same for these rounds in turn with as many of another case that spread alike.

    So few rounds estimate their own spread poorly, rather too small than too large, and a heavy
    tail makes it worse. The spread is taken at its upper 60 % limit (`spread_limit`).
    """
    rounds = len(figures)
    if rounds < LEAST_ROUNDS:
        return None
    spread = spread_limit(deviation(np.log(np.array(figures))), rounds - 1)
    return smallest_change(spread * math.sqrt(2.0 / rounds), rounds - 1, band)


def _power_reach(freedom: float, level: float) -> float:
    """How many standard errors beyond the band a change is found with `FOUND`, by a one-sided test
    at this level."""
    return noncentrality(freedom, t_quantile(freedom, level), 1.0 - FOUND)


def binomial_interval(count: int, of: int) -> Interval:
    """The exact 95 % interval of a share (Clopper & Pearson, Biometrika 26, 1934)."""
    tail = (1.0 - CONFIDENCE) / 2
    low = beta_quantile(count, of - count + 1, tail) if count else 0.0
    high = beta_quantile(count + 1, of - count, 1.0 - tail) if count < of else 1.0
    return Interval(low, high)


def _verdict(d: Difference | None, step: _Step, band: float, confidence: float) -> Verdict:
    if d is None:
        why = f"fewer than {LEAST_ROUNDS} rounds"
        return Verdict("undecided", None, None, why, reason=TOO_FEW_ROUNDS)
    ratio, interval = math.exp(d.log), interval_of(d, step.confidence)
    if step.rejected:
        word: Word = "slower" if d.log > 0 else "faster"
        return Verdict(word, ratio, interval, "", step.confidence, variation=d.variation)
    both_sides = 2.0 * confidence - 1.0
    if _within(d, band, confidence):
        within = interval_of(d, both_sides)
        return Verdict("same", ratio, within, "", both_sides, variation=d.variation)
    edge = math.expm1(math.log1p(band) + d.resolution)
    least = smallest_change(d.error, d.freedom, edge, step.confidence)
    why, reason = f"would find a change of {least:.0%}", NOT_RESOLVED
    if d.variation is not None and d.variation.variance > d.error**2 / 2.0:
        why, reason = f"measured apart, {why}", RUN_VARIATION
    return Verdict(
        "undecided",
        ratio,
        interval,
        why,
        step.confidence,
        reason=reason,
        variation=d.variation,
    )


def _beyond(d: Difference, band: float) -> float:
    """The two-sided p value of a change within the band, as far as the ticks may have moved it."""
    edge = math.log1p(band) + d.resolution
    if not d.error:
        return float(abs(d.log) <= edge)
    return 2.0 * min(0.5, t_share(d.freedom, (edge - abs(d.log)) / d.error))


def _within(d: Difference, band: float, confidence: float) -> bool:
    reach = t_quantile(d.freedom, confidence) * d.error + d.resolution
    return abs(d.log) + reach < math.log1p(band)


def _holm(values: Sequence[float | None], level: float) -> list[_Step]:
    """What becomes of each test at this level together; None is no test.

    The tests after the first that does not fail have its level: none of them was decided.
    """
    known = sorted((p, place) for place, p in enumerate(values) if p is not None)
    steps = [_Step(False, 1.0 - level)] * len(values)
    rejecting, own = True, level
    for rank, (p, place) in enumerate(known):
        if rejecting:
            own = level / (len(known) - rank)
            rejecting = p <= own
        steps[place] = _Step(rejecting, 1.0 - own)
    return steps
