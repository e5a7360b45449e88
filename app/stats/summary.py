"""The summary of a case: its rounds' samples as the figures of its row, nothing trimmed.

Percentiles and the mean are those of a typical process, with their intervals (`estimates.py`);
the pooled percentiles are those of all samples together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.cases.objectives import BOUNDED, JUDGED
from app.cases.scenario import Batcher
from app.cases.units import DEFAULT, name_of, share
from app.stats.estimates import (
    Bound,
    Estimate,
    Rounds,
    marks_of,
    typical_mean,
    typical_quantile,
    upper_bound,
)
from app.stats.intervals import (
    MOSTLY_DEPENDENT,
    RARELY_DEPENDENT,
    interval_between,
    round_correlation,
    typical,
)
from app.stats.open_loop import lateness_ns
from app.stats.patterns import Modes, Stalls, Timed, consensus_modes, modes, outlier_mask, stalls
from app.stats.quantiles import (
    CONFIDENCE,
    Interval,
    needed_samples,
    order_statistic,
    supported_quantile,
)
from app.stats.steadiness import Movement, Word, movement, window_medians
from app.stats.tails import EarlyStopping, early_stopping
from exporters.diagnostics import Diagnostic, diagnostic
from runtimes.execution import Samples


@dataclass(frozen=True, slots=True)
class Rate:
    """Runs in a second of a typical process, and of each; `interval` is None with fewer than three
    rounds."""

    per_s: float
    interval: Interval | None
    by_round: tuple[float, ...]


def rate_of(
    rounds: Sequence[Samples],
    confidence: float = CONFIDENCE,
    starts_s: Sequence[float] = (),
    is_contended: bool = False,
) -> Rate | None:
    """The rate of a typical process, and its interval; None without samples.

    `starts_s` are the times at which the rounds began, empty where one is not known;
    `is_contended`: other work took the core from them.
    """
    rates = np.array([runs_per_s(samples) for samples in rounds if len(samples.started_ns)])
    if not len(rates):
        return None
    prior = MOSTLY_DEPENDENT if is_contended else RARELY_DEPENDENT
    inflation = round_correlation(rates, starts_s, prior).inflation
    return Rate(
        typical(rates), interval_between(rates, confidence, inflation), tuple(rates.tolist())
    )


def runs_per_s(samples: Samples) -> float:
    """All runs of a round over the time that its blocks took together.

    A block is what was due at one moment, and takes from the first start in it to the last end,
    whichever lanes these were of: what a lane does between its runs is part of it, and so is the
    end, when lanes that find no more to do wait for the last.
    """
    order = np.argsort(samples.scheduled_ns, kind="stable")
    due, starts_ns, ends_ns = (
        times[order] for times in (samples.scheduled_ns, samples.started_ns, samples.finished_ns)
    )
    first = np.flatnonzero(np.concatenate([[True], np.diff(due) > 0]))
    spent_ns = np.maximum.reduceat(ends_ns, first) - np.minimum.reduceat(starts_ns, first)
    return len(due) * 1e9 / float(spent_ns.sum())


def interval_of_sum(figures: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """The interval of the sum of figures that are independent of each other, from their own.

    Each interval tells how far its figure may lie on either side, and what is independent adds by
    squares: from S - sqrt(sum (x - low)^2) to S + sqrt(sum (high - x)^2), at the confidence of the
    intervals (G. Y. Zou and A. Donner, Statist. Med. 27, 2008). So the long side of a skewed one
    stays the longer.
    """
    total = sum(figures)
    pairs = list(zip(figures, intervals, strict=True))
    low_width = math.sqrt(sum((figure - ends.low) ** 2 for figure, ends in pairs))
    high_width = math.sqrt(sum((ends.high - figure) ** 2 for figure, ends in pairs))
    return Interval(total - low_width, total + high_width)


QUANTILES: dict[str, float] = {name_of(percentile): share(percentile) for percentile in DEFAULT}
MEAN = "mean"
_TAIL = "p99"
WINDOW_S, MINIMUM_RUNS, WINDOWS = 0.05, 30, 10
"""A round's level is followed in windows of so long, shorter ones where it would be fewer than so
many, with at least so many runs each."""
ROUNDS_APART = 0.05
"""Rounds whose medians differ by more are warned of, as is one whose level moves by more."""
OUTLIER_SHARE = 0.01
"""So many samples far above the rest are warned of."""
FAR_TAIL = 10.0
"""A p99 so many times the p50 is warned of."""
_DIRECTIONS: Mapping[Word, str] = {"slowed down": "up", "warmed up": "down", "level moves": "shift"}


@dataclass(frozen=True, slots=True)
class Summary:
    """Latencies in microseconds; None where the samples cannot support the figure.

    `figures` are of a typical process, keyed mean and by the names of the percentiles, p50 and
    p999 among them; `pooled` are the percentiles of all samples. `bounds` are what p90 and p99 of
    a typical process are at most, `early_stopping` what MLPerf's rules would tell of all samples.
    `effective_samples` is how many independent runs the tail of all rounds is worth. `marks` are
    words on all intervals (`few_rounds`). `outliers` counts the samples more than three
    interquartile ranges above their round's third quartile. `drift` says in words what the level
    did within the rounds (`flat`), and is empty where they are too short. `round_p50_spread` is
    (max - min) / min of the rounds' medians, `confidence` that of every interval. `modes` are two
    levels that the runs of most rounds jump between, `stalls` what slows runs at even distances.

    In an open loop a latency counts from when a run was due. `outliers`, `drift`, the spread,
    `modes`, `stalls` and the warnings are then of the time that runs took from their own start,
    `service`, since queueing is no fault of the machine; `queue` is the time before that. Both are
    pooled, by percentile, and None of any other scenario, as `response_*` are None of an open loop.
    """

    iterations: int
    rounds: int
    std_us: float | None
    min_us: float
    max_us: float
    figures: Mapping[str, Estimate]
    pooled: Mapping[str, float | None]
    bounds: Mapping[str, Bound]
    early_stopping: Mapping[str, EarlyStopping]
    effective_samples: int
    marks: tuple[str, ...]
    response_p50_us: float | None
    response_p99_us: float | None
    start_lateness_p50_us: float | None
    start_lateness_p99_us: float | None
    outliers: int
    drift: str
    round_p50_spread: float | None
    warnings: tuple[Diagnostic, ...] = ()
    confidence: float = CONFIDENCE
    service: Mapping[str, float | None] | None = None
    queue: Mapping[str, float | None] | None = None
    modes: Modes | None = None
    stalls: Stalls | None = None

    def value_us(self, name: str) -> float | None:
        """One of `figures`; None where it is absent."""
        figure = self.figures.get(name)
        return None if figure is None else figure.value

    def interval_us(self, name: str) -> Interval | None:
        """The interval of one of `figures`; None where it is absent."""
        figure = self.figures.get(name)
        return None if figure is None else figure.interval


def summarise(
    rounds: Sequence[Samples],
    quantiles: Mapping[str, float] = QUANTILES,
    confidence: float = CONFIDENCE,
    batcher: Batcher | None = None,
    starts_s: Sequence[float] = (),
    is_contended: bool = False,
) -> Summary | None:
    """The summary of the measured samples of all rounds; None if there are none.

    `quantiles` by their names are told, the default ones among them; `confidence` is that of
    every interval. A `batcher` has sent several requests together. `starts_s` are the times at
    which the rounds began, on one scale for all, empty where one is not known. `is_contended`:
    other work took the core from the rounds.
    """
    timed_samples = [in_time_order(samples) for samples in rounds if len(samples.started_ns)]
    if not timed_samples:
        return None
    simulated = all(s.clock == "simulated" for s in timed_samples)  # nothing disturbs those
    latencies = Rounds.of(
        [samples.latency_ns / 1e3 for samples in timed_samples],
        simulated,
        () if simulated else _starts_of_timed(rounds, starts_s),
        is_contended and not simulated,
    )
    pooled_us = latencies.pooled
    figures = {
        MEAN: typical_mean(latencies, confidence),
        **{name: typical_quantile(latencies, q, confidence) for name, q in quantiles.items()},
    }
    if figures["p50"].value is None:
        figures["p50"] = _median_of_few(pooled_us)
    values = {name: figure.value for name, figure in figures.items()}
    is_open = timed_samples[0].from_schedule
    service_rounds = (
        Rounds.of([samples.service_ns / 1e3 for samples in timed_samples]) if is_open else latencies
    )
    service = _quantiles(service_rounds.pooled, ("p50", "p90", "p99")) if is_open else None
    queue = _pool_us([samples.queue_ns for samples in timed_samples])
    lateness = (
        _pool_us([lateness_ns(samples, batcher) for samples in timed_samples]) if is_open else queue
    )
    response = (
        None if is_open else _pool_us([s.finished_ns - s.scheduled_ns for s in timed_samples])
    )
    round_medians = [supported_quantile(ascending, 0.5) for ascending in service_rounds.ascending]
    medians = [median for median in round_medians if median is not None]
    outliers = sum(int(np.count_nonzero(outlier_mask(samples))) for samples in timed_samples)
    movements = [move for samples in timed_samples if (move := _movement(samples)) is not None]
    # Shapes have times of their own, and so a tail that is nobody's fault.
    tail = _tail(service or values) if timed_samples[0].shapes is None else 1.0
    spread = (max(medians) - min(medians)) / min(medians) if len(medians) > 1 else None
    disturbances = (
        *_disturbances(spread, outliers / len(pooled_us), tail),
        *_correlation_warnings(figures),
        *_drift_warnings(movements),
    )
    return Summary(
        iterations=len(pooled_us),
        rounds=len(timed_samples),
        std_us=float(pooled_us.std(ddof=1)) if len(pooled_us) > 1 else None,
        min_us=float(pooled_us[0]),
        max_us=float(pooled_us[-1]),
        figures=figures,
        pooled={name: supported_quantile(pooled_us, q) for name, q in quantiles.items()},
        bounds={name: upper_bound(latencies, QUANTILES[name]) for name in BOUNDED},
        early_stopping={name: early_stopping(pooled_us, QUANTILES[name]) for name in BOUNDED},
        effective_samples=sum(latencies.independent(QUANTILES[_TAIL])),
        marks=marks_of(latencies, [figures[name] for name in JUDGED]),
        response_p50_us=None if response is None else supported_quantile(response, 0.5),
        response_p99_us=None if response is None else supported_quantile(response, 0.99),
        start_lateness_p50_us=supported_quantile(lateness, 0.5),
        start_lateness_p99_us=supported_quantile(lateness, 0.99),
        outliers=outliers,
        drift=_drift(movements),
        round_p50_spread=spread,
        warnings=(*_few_runs_diagnostic(len(pooled_us)), *([] if simulated else disturbances)),
        confidence=confidence,
        service=service,
        queue=_quantiles(queue, ("p50", "p99")) if is_open else None,
        modes=_modes(service_rounds) if timed_samples[0].shapes is None else None,
        stalls=None if simulated else _stalls(timed_samples, service_rounds),
    )


def _starts_of_timed(rounds: Sequence[Samples], starts_s: Sequence[float]) -> Sequence[float]:
    if len(starts_s) != len(rounds):
        return ()
    pairs = zip(rounds, starts_s, strict=True)
    return [start for samples, start in pairs if len(samples.started_ns)]


def _modes(service_rounds: Rounds) -> Modes | None:
    return consensus_modes(
        [
            modes(*pair)
            for pair in zip(service_rounds.in_time, service_rounds.ascending, strict=True)
        ]
    )


def _stalls(timed_samples: Sequence[Samples], service_rounds: Rounds) -> Stalls | None:
    parts = zip(timed_samples, service_rounds.in_time, service_rounds.ascending, strict=True)
    return stalls([Timed(s.started_ns, s.finished_ns, *latencies) for s, *latencies in parts])


def _pool_us(rounds_ns: Sequence[np.ndarray]) -> np.ndarray:
    """All of them ascending, in microseconds."""
    ascending: np.ndarray = np.sort(np.concatenate(rounds_ns)) / 1e3
    return ascending


def _quantiles(ascending: np.ndarray, names: Sequence[str]) -> dict[str, float | None]:
    return {name: supported_quantile(ascending, QUANTILES[name]) for name in names}


def in_time_order(samples: Samples) -> Samples:
    """By their start: several lanes are kept one after another."""
    started_ns = samples.started_ns
    if (started_ns[1:] >= started_ns[:-1]).all():
        return samples
    order = np.argsort(started_ns, kind="stable")
    return replace(
        samples,
        scheduled_ns=samples.scheduled_ns[order],
        started_ns=samples.started_ns[order],
        finished_ns=samples.finished_ns[order],
        lanes=None if samples.lanes is None else samples.lanes[order],
        shapes=None if samples.shapes is None else samples.shapes[order],
    )


def _movement(samples: Samples) -> Movement | None:
    """Of samples in order of time."""
    starts_ns = samples.started_ns
    shorter_s = float(starts_ns[-1] - starts_ns[0]) * 1e-9 / WINDOWS
    window_s = min(WINDOW_S, shorter_s) or WINDOW_S
    return movement(window_medians(starts_ns, samples.service_ns, window_s, MINIMUM_RUNS))


def _median_of_few(ascending: np.ndarray) -> Estimate:
    """From the fastest to the slowest: no other of these samples is surer to hold the median."""
    widest = Interval(float(ascending[0]), float(ascending[-1])) if len(ascending) > 1 else None
    reason = f"{len(ascending)} of {needed_samples(0.5)} runs, the interval is all of them"
    return Estimate(order_statistic(ascending, 0.5), widest, reason)


def _few_runs_diagnostic(runs: int) -> tuple[Diagnostic, ...]:
    """What so few samples are worth: all lie on one side of the median once in 2^(n-1) times."""
    needed_runs = needed_samples(0.5)
    if runs >= needed_runs:
        return ()
    confidence = 1.0 - 2.0 ** (1 - runs)
    return (diagnostic("few_runs", runs=runs, confidence=confidence, more=needed_runs - runs),)


def _tail(values: Mapping[str, float | None]) -> float:
    """The p99 over the p50; 1 where either is not known."""
    p50, p99 = values["p50"], values["p99"]
    return p99 / p50 if p50 and p99 else 1.0


def _drift(movements: Sequence[Movement]) -> str:
    """`level moves by up to 4 % in 2 of 6 rounds`, the most frequent word first."""
    words = Counter(move.word for move in movements)
    if words.keys() <= {"flat"}:
        return "flat" if movements else ""
    return "; ".join(
        f"{word} by up to {_largest_change(movements, word):.0%} in {count} of "
        f"{len(movements)} rounds"
        for word, count in words.most_common()
        if word != "flat"
    )


def _drift_warnings(movements: Sequence[Movement]) -> Iterator[Diagnostic]:
    """One diagnostic for each way in which the level moved in most rounds, as a case's own doing
    does, or far: what the machine does to one round now and then is in the spread of rounds."""
    for word, count in Counter(move.word for move in movements).most_common():
        change = _largest_change(movements, word)
        if word != "flat" and (2 * count > len(movements) or change > ROUNDS_APART):
            yield diagnostic(
                "latency_drift",
                rounds=count,
                timed=len(movements),
                change=change,
                direction=_DIRECTIONS[word],
            )


def _correlation_warnings(figures: Mapping[str, Estimate]) -> Iterator[Diagnostic]:
    """One for each figure whose neighbouring rounds resemble each other significantly."""
    for name in JUDGED:
        correlation = figures[name].correlation
        if correlation is not None and correlation.lag1 is not None and correlation.is_significant:
            yield diagnostic(
                "rounds_correlated",
                figure=name,
                rounds=correlation.rounds,
                correlation=correlation.lag1,
            )


def _largest_change(movements: Sequence[Movement], word: Word) -> float:
    return max(abs(move.change) for move in movements if move.word == word)


def _disturbances(
    round_p50_spread: float | None, outlier_share: float, tail: float
) -> Iterator[Diagnostic]:
    """Why figures deserve less trust than their intervals claim."""
    if round_p50_spread is not None and round_p50_spread > ROUNDS_APART:
        yield diagnostic("rounds_differ", spread=round_p50_spread)
    if outlier_share > OUTLIER_SHARE:
        yield diagnostic("outliers", share=outlier_share)
    elif tail > FAR_TAIL:
        yield diagnostic("far_tail", ratio=tail)
