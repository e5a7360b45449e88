"""The comparison of two cases: verdicts, and the spread between runs.

Rounds of one run share its boot, its memory layout, its temperature and its neighbours, so their
spread says nothing about how far the next run differs. That spread comes from earlier runs of the
machine or, for medians, it is a stated value.

A round is a process, so rounds are what is counted. Where rounds of the two were measured in
turn, each pair is one observation; where not, both spreads count, and what two runs differ by
without a change of the code. All comparisons that are read together are judged together.

Where processes are in one of few modes, the pairs of a comparison with few rounds may all have the
same two modes. They then spread hardly at all, however far the modes are apart, and with many
comparisons this happens to some of them. How far pairs spread in the other comparisons shows it,
and so does how much their neighbours correlate.

What is left of a model without its no-op twin is an amount: microseconds and not a ratio.

Whatever is compared, a pairing states which rounds are compared with each other and how they were
measured: two runs, a case and its baseline, a case and itself, steps of an ablation. Verdicts come
from `judge_rounds` alone, so that no comparison has a statistics of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from app.cases.objectives import BAND, Word
from app.stats.intervals import (
    MINIMUM_ROUNDS,
    beta_quantile,
    deviation,
    noncentrality,
    reaches,
    round_correlation,
    skewness_of,
    spread_limit,
    t_quantile,
    t_share,
    tail_allowance,
    typical,
)
from app.stats.quantiles import CONFIDENCE, Interval, mean

Source = Literal["history", "stated"]

MINIMUM_PAST_RUNS = 3
"""Of two earlier runs the deviation has one degree of freedom, and t reaches 12.7 deviations."""
MINIMUM_DEVIATION = 0.01
"""Runs that were started one after another agree better than runs of two days: below this no
history is believed."""
STATED_DEVIATION = 0.05
"""Of the p50, where nothing else is known: runs on shared machines differ by as much."""


@dataclass(frozen=True, slots=True)
class RunVariation:
    """The standard deviation of the logarithm of a figure from run to run, and its degrees of
    freedom: infinite where it is stated and not estimated.

    Figures of earlier runs scatter by what their rounds do too: `sampling` is that part of the
    variance, which a comparison must not count again.
    """

    deviation: float
    freedom: float
    source: Source
    sampling: float = 0.0

    @property
    def variance(self) -> float:
        """Of the difference of two runs."""
        return 2.0 * self.deviation**2


STATED = RunVariation(STATED_DEVIATION, math.inf, "stated")


def from_history(
    logs: Sequence[float], levels: int = 1, errors: Sequence[float] = ()
) -> RunVariation | None:
    """From the logarithms of one figure in earlier runs, levels taken out of them; None of fewer
    than three runs, or where no more runs than levels are left. `errors` are the standard errors
    of these logarithms by the runs' own rounds, where they are known."""
    freedom = len(logs) - levels
    if len(logs) < MINIMUM_PAST_RUNS or freedom < MINIMUM_PAST_RUNS - 1:
        return None
    residuals = np.array(logs) - float(np.mean(logs))
    deviation = math.sqrt(float(np.add.reduce(residuals * residuals)) / freedom)
    sampling = float(np.mean(np.square(errors))) if len(errors) == len(logs) else 0.0
    sampling = min(sampling, deviation**2)
    return RunVariation(max(deviation, MINIMUM_DEVIATION), freedom, "history", sampling)


TOO_FEW_ROUNDS, TOO_FEW_RUNS = "too_few_rounds", "too_few_runs"
NOT_RESOLVED, RUN_VARIATION = "not_resolved", "run_variation"
STATES_DIFFER = "states_differ"
NO_RUN_VARIATION, CLOCK_CHANGED = "run_variation_unknown", "clock_changed"
LOADED = "load"
"""Why a verdict is undecided: too few rounds for an interval, too few runs in them, an interval
that is too wide because rounds differ, or because runs do, one verdict of the machine undisturbed
and another of it disturbed, runs of which nobody knows by how much
they do, another clock of the cores, other work on them."""
FOUND = 0.9
"""`smallest_change` is what would be found in so many of all tries."""
MAXIMUM_ROUNDS = 100
"""Nobody is told to measure more than so many."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The logarithm of second over first, its standard error and its degrees of freedom.

    `resolution` is how far the logarithm may be off because of the ticks of the clocks, whatever
    the rounds' spread. `variation` is what two runs differ by without a change, where it counts.
    `inflation` is what the correlation of neighbouring pairs has multiplied the error by. `states`
    are the same of the machine undisturbed and disturbed, where the two differ.
    """

    log: float
    error: float
    freedom: float
    in_turn: bool
    resolution: float = 0.0
    variation: RunVariation | None = None
    inflation: float = 1.0
    states: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ratio` is second over first; `detail` says what is undecided, `reason` is its code.

    `interval` is the one that decided, at `confidence`: it lies beyond the band where the word is
    slower or faster, within it where it is same, and neither where the size of the change leaves
    it undecided. `family` is how many comparisons were judged together, `difference` what was
    judged; None with too few rounds. `detectable` is the slowdown that an undecided one would have
    found in nine of ten tries, as a share.
    """

    word: Word
    ratio: float | None
    interval: Interval | None
    detail: str = ""
    confidence: float = CONFIDENCE
    family: int = 1
    reason: str = ""
    difference: Difference | None = None
    detectable: float | None = None

    @property
    def variation(self) -> RunVariation | None:
        """What the two runs differ by without a change, where it counted."""
        return None if self.difference is None else self.difference.variation


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

    In turn: the mean of the logarithms' differences, with n - 1 degrees of freedom, its error
    widened where neighbouring pairs correlate (`round_correlation`): a side that wanders by itself
    moves the ratio slowly, and pairs then spread less than their mean is unsure. Apart: Welch's t,
    with the degrees of freedom of Satterthwaite. Of two runs their `variation` is a third part of
    the variance, which no number of rounds makes smaller; without it the figures are compared as if
    the machine were the same (DerSimonian & Laird, Control. Clin. Trials 7, 1986, have the same two
    parts). `resolution` is that of the clocks (`clock_tick.ratio_resolution`).
    """
    a, b = np.log(np.array(first)), np.log(np.array(second))
    if in_turn:
        count = min(len(a), len(b))
        a, b = a[:count], b[:count]
    if min(len(a), len(b)) < MINIMUM_ROUNDS:
        return None
    log = float(b.mean() - a.mean())
    if in_turn:
        inflation = round_correlation(np.exp(b - a)).inflation
        error = inflation * deviation(b - a) / math.sqrt(len(a))
        return Difference(log, error, len(a) - 1, in_turn, resolution, inflation=inflation)
    parts = [(float(np.var(side, ddof=1)) / len(side), len(side) - 1.0) for side in (a, b)]
    if variation is not None:
        sampled_variance = sum(variance for variance, _ in parts)
        counted_share = (
            min(1.0, 2.0 * variation.sampling / sampled_variance) if sampled_variance else 0.0
        )
        parts = [(variance * (1.0 - counted_share), freedom) for variance, freedom in parts]
        parts.append((variation.variance, variation.freedom))
    total = sum(variance for variance, _ in parts)
    weights = sum(variance**2 / freedom for variance, freedom in parts)
    freedom = total**2 / weights if weights else len(a) + len(b) - 2
    return Difference(log, math.sqrt(total), freedom, in_turn, resolution, variation)


def with_states(d: Difference, states: Sequence[Difference | None]) -> Difference:
    """With the differences by state, where each is known and they differ by more than chance
    (Welch's t at 95 %): of two versions of one graph they are one, and all cycles tell it best."""
    undisturbed, disturbed = states
    if undisturbed is None or disturbed is None:
        return d
    freedom = min(undisturbed.freedom, disturbed.freedom)
    error = math.hypot(undisturbed.error, disturbed.error)
    reach = t_quantile(freedom, 0.5 + CONFIDENCE / 2) * error + 2.0 * d.resolution
    is_one = abs(disturbed.log - undisturbed.log) <= reach
    return d if is_one else replace(d, states=(undisturbed, disturbed))


def interval_of(d: Difference, confidence: float) -> Interval:
    """The t interval of the ratio, second over first, and beyond it what the ticks leave open."""
    reach = t_quantile(d.freedom, 0.5 + confidence / 2) * d.error + d.resolution
    return Interval(math.exp(d.log - reach), math.exp(d.log + reach))


def judge(
    differences: Sequence[Difference | None],
    band: float = BAND,
    confidence: float | Sequence[float] = CONFIDENCE,
) -> list[Verdict]:
    """A verdict for each, none of all being wrongly faster or slower in more than 5 % of runs.

    At another `confidence` in as many more or fewer; a sequence has one for each difference, as of
    comparisons that ended at different looks. Faster and slower: the test that the change lies
    within the band fails, with Holm's correction over all (Holm, Scand. J. Statist. 6, 1979).
    Its interval is at the level of its step, so it lies beyond the band exactly where the test
    fails. Where the states of the machine differ that of each must fail, on the same side. Same:
    two one-sided tests that it lies beyond the band fail (Schuirmann, J. Pharmacokin. Biopharm. 15,
    1987), which an interval at 90 % says where they are at 5 %.
    """
    p_values = [None if d is None else _band_p_value(d, band) for d in differences]
    confidences = [confidence] * len(p_values) if isinstance(confidence, float) else confidence
    steps = _holm(p_values, [1.0 - own_confidence for own_confidence in confidences])
    family = len(p_values) - p_values.count(None)
    return [
        replace(_verdict(d, step, band, own_confidence), family=family)
        for d, step, own_confidence in zip(differences, steps, confidences, strict=True)
    ]


def smallest_change(
    error: float,
    freedom: float,
    band: float = BAND,
    confidence: float = CONFIDENCE,
    inflation: float = 1.0,
) -> float:
    """The slowdown that such a comparison would call slower in nine of ten tries, as a share.

    ln(1 + x) = ln(1 + band) + d error, with the noncentrality d at which the noncentral t exceeds
    the critical value of the test with nine chances of ten. `error` is the true standard error,
    times the `inflation` that the test reckons with. For one comparison; Holm's correction asks for
    more.
    """
    reach = _power_reach(freedom, 0.5 + confidence / 2, inflation)
    return math.expm1(math.log1p(band) + reach * error)


def rounds_to_decide(
    d: Difference, band: float = BAND, confidence: float = CONFIDENCE
) -> int | None:
    """How many rounds in turn would decide it in nine of ten tries, were it as large as it looks.

    The least n at which |ln ratio| lies beyond the band, by a test at this `confidence`, or within
    it, by the reach of the test and of its power, with standard errors of s / sqrt(n). None where
    `MAXIMUM_ROUNDS` are too few.
    """
    spread = d.error * math.sqrt(d.freedom + 1)
    distance = abs(d.log) - math.log1p(band)
    if abs(distance) <= d.resolution:
        return None
    distance -= math.copysign(d.resolution, distance)
    level = 0.5 + confidence / 2 if distance > 0 else CONFIDENCE
    for rounds in range(MINIMUM_ROUNDS, MAXIMUM_ROUNDS + 1):
        if _power_reach(rounds - 1, level, d.inflation) * spread / math.sqrt(rounds) < abs(
            distance
        ):
            return rounds
    return None


def smallest_change_between(figures: Sequence[float], band: float = BAND) -> float | None:
    """The same for these rounds in turn with as many of another case that spread alike.

    So few rounds estimate their own spread poorly, rather too small than too large, and a heavy
    tail makes it worse. The spread is taken at its upper 60 % limit (`spread_limit`), larger where
    the rounds show a tail (`tail_allowance`) or correlate, as pairs would.
    """
    rounds = len(figures)
    if rounds < MINIMUM_ROUNDS:
        return None
    logarithms = np.log(np.array(figures))
    spread = tail_allowance(logarithms) * spread_limit(deviation(logarithms), rounds - 1)
    inflation = round_correlation(figures).inflation
    error = inflation * spread * math.sqrt(2.0 / rounds)
    return smallest_change(error, rounds - 1, band, inflation=inflation)


def _power_reach(freedom: float, level: float, inflation: float) -> float:
    """How many inflated standard errors beyond the band a change is found with `FOUND`, by a
    one-sided test at this level, where rounds do not correlate."""
    return noncentrality(freedom, inflation * t_quantile(freedom, level), 1.0 - FOUND) / inflation


def binomial_interval(count: int, total: int) -> Interval:
    """The exact 95 % interval of a share (Clopper & Pearson, Biometrika 26, 1934)."""
    tail = (1.0 - CONFIDENCE) / 2
    low = beta_quantile(count, total - count + 1, tail) if count else 0.0
    high = beta_quantile(count + 1, total - count, 1.0 - tail) if count < total else 1.0
    return Interval(low, high)


def _verdict(d: Difference | None, step: _Step, band: float, confidence: float) -> Verdict:
    if d is None:
        detail = f"fewer than {MINIMUM_ROUNDS} rounds"
        return Verdict("undecided", None, None, detail, reason=TOO_FEW_ROUNDS)
    if d.states:
        return _verdict_by_state(d, step, band, confidence)
    ratio, interval = math.exp(d.log), interval_of(d, step.confidence)
    if step.rejected:
        word: Word = "slower" if d.log > 0 else "faster"
        return Verdict(word, ratio, interval, "", step.confidence, difference=d)
    both_sides = 2.0 * confidence - 1.0
    if _is_equivalent(d, band, confidence):
        equivalence_interval = interval_of(d, both_sides)
        return Verdict("same", ratio, equivalence_interval, "", both_sides, difference=d)
    edge = math.expm1(math.log1p(band) + d.resolution)
    detectable_change = smallest_change(d.error, d.freedom, edge, step.confidence, d.inflation)
    detail, reason = f"would find a change of {detectable_change:.0%}", NOT_RESOLVED
    if d.variation is not None and d.variation.variance > d.error**2 / 2.0:
        detail, reason = f"measured apart, {detail}", RUN_VARIATION
    return Verdict(
        "undecided",
        ratio,
        interval,
        detail,
        step.confidence,
        reason=reason,
        difference=d,
        detectable=detectable_change,
    )


def _verdict_by_state(d: Difference, step: _Step, band: float, confidence: float) -> Verdict:
    """The ratio undisturbed, and an interval that holds those of both states."""
    is_same = not step.rejected and all(_is_equivalent(s, band, confidence) for s in d.states)
    level = 2.0 * confidence - 1.0 if is_same else step.confidence
    ends = [interval_of(state, level) for state in d.states]
    word: Word = "same" if is_same else "undecided"
    if step.rejected:
        word = "slower" if d.states[0].log > 0 else "faster"
    detail = ", ".join(
        f"{state} {math.exp(s.log):.3f} ({end.low:.3f} to {end.high:.3f})"
        for state, s, end in zip(("undisturbed", "disturbed"), d.states, ends, strict=True)
    )
    reason, detectable = "", None
    if word == "undecided":
        are_known = all(
            _band_p_value(state, band) <= 1.0 - level or _is_equivalent(state, band, confidence)
            for state in d.states
        )
        reason = STATES_DIFFER if are_known else NOT_RESOLVED
        detectable = max(
            smallest_change(state.error, state.freedom, band, level, state.inflation)
            for state in d.states
        )
    return Verdict(
        word,
        math.exp(d.states[0].log),
        Interval(min(end.low for end in ends), max(end.high for end in ends)),
        detail,
        level,
        reason=reason,
        difference=d,
        detectable=detectable,
    )


def _band_p_value(d: Difference, band: float) -> float:
    """The two-sided p value of a change within the band, as far as the ticks may have moved it; the
    larger of both states', 1 where these point to either side."""
    if d.states:
        is_one_way = len({state.log > 0.0 for state in d.states}) == 1
        return max(_band_p_value(state, band) for state in d.states) if is_one_way else 1.0
    edge = math.log1p(band) + d.resolution
    if not d.error:
        return float(abs(d.log) <= edge)
    return 2.0 * min(0.5, t_share(d.freedom, (edge - abs(d.log)) / d.error))


def _is_equivalent(d: Difference, band: float, confidence: float) -> bool:
    reach = t_quantile(d.freedom, confidence) * d.error + d.resolution
    return abs(d.log) + reach < math.log1p(band)


def _holm(values: Sequence[float | None], levels: Sequence[float]) -> list[_Step]:
    """What becomes of each test at its level, all of them together; None is no test.

    Tests are ordered by p values as shares of their levels, which is by p values where the levels
    are equal. The tests after the first that does not fail have its share: none was decided.
    """
    tests = sorted((p / levels[place], place) for place, p in enumerate(values) if p is not None)
    steps = [_Step(False, 1.0 - level) for level in levels]
    rejecting, step_share = True, 1.0
    for rank, (p_share, place) in enumerate(tests):
        if rejecting:
            step_share = 1.0 / (len(tests) - rank)
            rejecting = p_share <= step_share
        steps[place] = _Step(rejecting, 1.0 - step_share * levels[place])
    return steps


MINIMUM_COMPARISONS = 3
"""Fewer comparisons of a figure have no typical spread."""


def with_minimum_spread(
    differences: Sequence[Difference | None], figures: Sequence[str]
) -> list[Difference | None]:
    """The same differences; those in turn correlate and spread at least as is typical of a figure.

    `figures` names the figure that each is of: a p99 spreads more than a p50. Eight pairs hardly
    show that they correlate, many comparisons do, so each error is inflated by at least the root
    mean square of all inflations. And each comparison spreads as if one more pair had the typical
    variance: with the variance v of its pairs, its degrees of freedom f and the median V of the
    variances of all comparisons of the figure, the variance becomes (f v + V) / (f + 1) where that
    is larger. The degrees of freedom stay, so that an interval never becomes narrower.
    """
    results = list(differences)
    for figure in set(figures):
        own = [
            (place, d)
            for place, (d, name) in enumerate(zip(differences, figures, strict=True))
            if d is not None and d.in_turn and name == figure
        ]
        if len(own) < MINIMUM_COMPARISONS:
            continue
        typical_inflation = math.sqrt(mean(np.array([d.inflation**2 for _, d in own])))
        # A comparison in turn has one degree of freedom fewer than pairs.
        variances = [
            (d.freedom + 1.0) * (d.error * max(1.0, typical_inflation / d.inflation)) ** 2
            for _, d in own
        ]
        typical_variance = float(np.median(variances))
        for (place, d), variance in zip(own, variances, strict=True):
            raised = (d.freedom * variance + typical_variance) / (d.freedom + 1.0)
            error = math.sqrt(max(variance, raised) / (d.freedom + 1.0))
            inflation = max(d.inflation, typical_inflation)
            wider = error / d.error if d.error else 1.0
            states = tuple(replace(state, error=wider * state.error) for state in d.states)
            results[place] = replace(d, error=error, inflation=inflation, states=states)
    return results


@dataclass(frozen=True, slots=True)
class TypicalDifference:
    """`value` is the longer's figure minus the shorter's, in their unit; the interval is None with
    fewer than three pairs."""

    value: float
    interval: Interval | None


def typical_difference(
    longer: Sequence[float], shorter: Sequence[float], confidence: float = CONFIDENCE
) -> TypicalDifference | None:
    """The difference of what the rounds have typically, each pair one observation; None without.

    Each side's figure G is that of a typical round, as rows quote it. To first order a pair moves
    the difference by G_a (ln a - ln G_a) - G_b (ln b - ln G_b) (the delta method;
    Oehlert, Am. Stat. 46, 1992), and the interval is that of the mean of these, by Student's t,
    widened for skewness as `student_interval` is, and for correlation. What moves both sides of a
    pair alike, as a slow minute of the machine does, is in neither.
    """
    pairs = len(longer)
    if not pairs:
        return None
    a, b = np.array(longer, float), np.array(shorter, float)
    typical_a, typical_b = typical(a), typical(b)
    value = typical_a - typical_b
    if pairs < MINIMUM_ROUNDS:
        return TypicalDifference(value, None)
    pair_shifts = typical_a * np.log(a / typical_a) - typical_b * np.log(b / typical_b)
    error = deviation(pair_shifts) / math.sqrt(pairs)
    if error == 0.0:
        return TypicalDifference(value, Interval(value, value))
    error *= round_correlation(np.exp(pair_shifts / max(typical_a, typical_b))).inflation
    low_reach, high_reach = reaches(pairs, skewness_of(pair_shifts), confidence)
    return TypicalDifference(value, Interval(value - low_reach * error, value + high_reach * error))


@dataclass(frozen=True, slots=True)
class RoundPairs:
    """Figures of the rounds of both sides, of which less is better.

    `in_turn`: figures of one place are of one pair of rounds, which saw the same machine; else the
    sides were measured apart, and `variation` is what two runs differ by. `resolution` is the
    clocks'. Comparisons of one `figure` share a minimum spread; an empty name shares none. `states`
    are the ratios of second over first of the machine undisturbed and disturbed, a number for each
    set of processes that met it; empty where it had one speed.
    """

    first: Sequence[float]
    second: Sequence[float]
    in_turn: bool = True
    figure: str = ""
    resolution: float = 0.0
    variation: RunVariation | None = None
    states: tuple[Sequence[float], Sequence[float]] = ((), ())

    @property
    def difference(self) -> Difference | None:
        """None with fewer than three rounds a side."""
        change = difference(self.first, self.second, self.in_turn, self.resolution, self.variation)
        if change is None or not all(self.states):
            return change
        states = [difference([1.0] * len(s), s, True, self.resolution) for s in self.states]
        return with_states(change, states)

    @property
    def typical_difference(self) -> TypicalDifference | None:
        """First minus second, in their unit; None without a pair."""
        return typical_difference(self.first, self.second)

    def ratio_interval(self, confidence: float = CONFIDENCE) -> Interval | None:
        """Of second over first, for one comparison alone; None with fewer than three rounds."""
        change = self.difference
        return None if change is None else interval_of(change, confidence)


def pair_rounds(
    first: Mapping[int, float], second: Mapping[int, float], figure: str = "", resolution: float = 0
) -> RoundPairs:
    """The rounds that both sides have, paired by their numbers."""
    numbers = [number for number in first if number in second]
    a, b = ([side[number] for number in numbers] for side in (first, second))
    return RoundPairs(a, b, figure=figure, resolution=resolution)


def judge_rounds(
    comparisons: Sequence[RoundPairs | None],
    band: float = BAND,
    confidence: float | Sequence[float] = CONFIDENCE,
) -> list[Verdict]:
    """A verdict for each, all of them judged together; undecided where nothing is known.

    `confidence` is one level, or a sequence with a level for each.
    """
    changes = [None if pairs is None else pairs.difference for pairs in comparisons]
    figures = [pairs.figure if pairs is not None else "" for pairs in comparisons]
    spreads = with_minimum_spread(changes, figures)
    changes = [
        spread if figure else change
        for change, spread, figure in zip(changes, spreads, figures, strict=True)
    ]
    return judge(changes, band, confidence)
