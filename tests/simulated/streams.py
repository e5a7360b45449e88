"""Streams of latencies whose typical process is known, to count how often an interval holds it.

Each process of a stream gives its own latencies in order of time, in microseconds. The truth
of a quantile is the pseudo-median of the processes' own quantiles: in closed form where there is
one, else from many processes drawn with another seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtri

Kind = Literal["continuous", "tails", "modes"]
Process = Callable[[np.random.Generator, int], np.ndarray]
"""One process: so many latencies of it."""


@dataclass(frozen=True, slots=True)
class Stream:
    """`kind` says what may be asked of an interval: see the tests of coverage."""

    name: str
    kind: Kind
    process: Process
    exact: Callable[[float], float] | None = None

    def rounds(self, rng: np.random.Generator, rounds: int, runs: int) -> list[np.ndarray]:
        return [self.process(rng, runs) for _ in range(rounds)]

    def truth(self, quantile: float) -> float:
        return self.exact(quantile) if self.exact else _typical(self)[QUANTILES.index(quantile)]


QUANTILES = (0.5, 0.9, 0.99, 0.999)


@cache
def _typical(stream: Stream) -> list[float]:
    rng = np.random.default_rng(20_000)
    logs = [
        np.log(np.quantile(stream.process(rng, 20_000), QUANTILES, method="inverted_cdf"))
        for _ in range(2000)
    ]
    return [float(truth) for truth in pseudo_medians(np.array(logs))]


def pseudo_medians(logarithms: np.ndarray) -> np.ndarray:
    """Of many processes' figures [processes, figures]: the medians of the geometric means of pairs,
    of which so many are drawn that their median is known to within a two-hundredth of the spread.
    """
    first, second = np.random.default_rng(1).integers(0, len(logarithms), (2, 200_000))
    medians: np.ndarray = np.exp(np.median((logarithms[first] + logarithms[second]) / 2.0, axis=0))
    return medians


def _normal(rng: np.random.Generator, runs: int, rho: float = 0.0) -> np.ndarray:
    """A standard normal series, AR(1) with the given correlation."""
    noise = rng.standard_normal(runs)
    if not rho:
        return noise
    noise[1:] *= np.sqrt(1.0 - rho**2)
    series: np.ndarray = lfilter([1.0], [1.0, -rho], noise)
    return series


def _log_normal(sigma: float, rho: float = 0.0, process_sigma: float = 0.0) -> Process:
    def process(rng: np.random.Generator, runs: int) -> np.ndarray:
        process_shift = process_sigma * rng.standard_normal()
        return 100.0 * np.exp(sigma * _normal(rng, runs, rho) + process_shift)

    return process


def _log_normal_truth(sigma: float) -> Callable[[float], float]:
    return lambda quantile: float(100.0 * np.exp(sigma * ndtri(quantile)))


def _heavy(rng: np.random.Generator, runs: int) -> np.ndarray:
    latency = 100.0 * np.exp(0.03 * rng.standard_normal(runs))
    slow = rng.random(runs) < 0.02
    latency[slow] += 20.0 * (1.0 + rng.pareto(1.5, int(slow.sum())))
    return latency


def _bimodal(rng: np.random.Generator, runs: int) -> np.ndarray:
    level = np.where(rng.random(runs) < 0.7, 100.0, 130.0)
    return level * np.exp(0.02 * rng.standard_normal(runs))


def _bursts(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Bursts of 50 runs that take a fifth longer, 2 % of the time."""
    latency = 100.0 * np.exp(0.05 * rng.standard_normal(runs))
    for begin in np.flatnonzero(rng.random(runs) < 0.02 / 50):
        latency[begin : begin + 50] *= 1.2
    return latency


def _shift(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Three processes in ten become 5 % slower at some moment, and stay so."""
    latency = 100.0 * np.exp(0.02 * rng.standard_normal(runs))
    if rng.random() < 0.3:
        latency[int(rng.random() * runs) :] *= 1.05
    return latency


def _drift(rng: np.random.Generator, runs: int) -> np.ndarray:
    return 100.0 * np.exp(0.05 * rng.standard_normal(runs)) * np.linspace(1.0, 1.03, runs)


def _process_modes(rng: np.random.Generator, runs: int) -> np.ndarray:
    level = 110.0 if rng.random() < 0.3 else 100.0
    return level * np.exp(0.05 * rng.standard_normal(runs))


def _tails(rng: np.random.Generator, runs: int) -> np.ndarray:
    """The share of slow runs is the process's own."""
    latency = 100.0 * np.exp(0.01 * rng.standard_normal() + 0.05 * rng.standard_normal(runs))
    share = min(0.5, 0.02 * np.exp(0.5 * rng.standard_normal()))
    slow = rng.random(runs) < share
    latency[slow] *= 1.0 + 0.3 * rng.exponential(size=int(slow.sum()))
    return latency


def _preempted_runs(rng: np.random.Generator, runs: int) -> np.ndarray:
    """A timer takes a slice of 4 % of the runs, at gaps that repeat but for a jitter."""
    latency = 100.0 + rng.gamma(4.0, 2.0, runs)
    beat = np.cumsum(25 + rng.integers(-3, 4, runs // 20))
    hit = beat[beat < runs]
    latency[hit] += 15.0 + rng.gamma(2.0, 10.0, len(hit))
    return latency


def _clock_states(rng: np.random.Generator, runs: int) -> np.ndarray:
    """A core that changes between two clocks, staying some 40 runs in each."""
    changes = np.cumsum(rng.random(runs) < 1 / 40) + rng.integers(0, 2)
    level = np.where(changes % 2 == 0, 100.0, 112.0)
    return level * np.exp(0.03 * _normal(rng, runs, 0.3))


def _skewed_processes(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Processes are unlucky, never lucky: memory that fell badly makes some slower."""
    process_shift = 0.03 * rng.exponential()
    return 100.0 * np.exp(process_shift + 0.08 * np.abs(_normal(rng, runs, 0.6)))


def _student_processes(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Now and then a process is far off: Student's t with four degrees of freedom."""
    return 100.0 * np.exp(0.02 * rng.standard_t(4) + 0.05 * _normal(rng, runs, 0.8))


def _periodic(rng: np.random.Generator, runs: int) -> np.ndarray:
    """A slow wave of some hundred runs whose phase is the process's own."""
    time = np.arange(runs) / rng.uniform(80, 160) + rng.random()
    return 100.0 * np.exp(0.04 * np.sin(2 * np.pi * time) + 0.02 * rng.standard_normal(runs))


def _quantised_runs(rng: np.random.Generator, runs: int) -> np.ndarray:
    """A clock with a coarse tick: many samples are equal."""
    latency = np.exp(0.02 * rng.standard_normal() + 0.15 * _normal(rng, runs, 0.5))
    return np.ceil(40.0 * latency) * 2.5


AUDITED: tuple[Stream, ...] = (
    Stream("log-normal", "continuous", _log_normal(0.05), _log_normal_truth(0.05)),
    Stream("heavy tail", "continuous", _heavy),
    Stream("bimodal", "continuous", _bimodal),
    Stream("AR 0.5", "continuous", _log_normal(0.05, 0.5), _log_normal_truth(0.05)),
    Stream("AR 0.9", "continuous", _log_normal(0.05, 0.9), _log_normal_truth(0.05)),
    Stream("AR 0.99", "continuous", _log_normal(0.05, 0.99), _log_normal_truth(0.05)),
    Stream("bursts", "tails", _bursts),
    Stream("shift of 5 %", "modes", _shift),
    Stream("drift of 3 %", "continuous", _drift),
    Stream("processes 1 %", "continuous", _log_normal(0.05, 0, 0.01), _log_normal_truth(0.05)),
    Stream("processes 3 %", "continuous", _log_normal(0.05, 0, 0.03), _log_normal_truth(0.05)),
    Stream("processes 10 %", "continuous", _log_normal(0.05, 0, 0.1), _log_normal_truth(0.05)),
    Stream(
        "processes 1 %, AR 0.99",
        "continuous",
        _log_normal(0.05, 0.99, 0.01),
        _log_normal_truth(0.05),
    ),
    Stream("process modes", "modes", _process_modes),
    Stream("tails by process", "tails", _tails),
)
"""The kinds on which the first edition's interval was found wanting."""

UNSEEN: tuple[Stream, ...] = (
    Stream("preempted", "continuous", _preempted_runs),
    Stream("clock states", "continuous", _clock_states),
    Stream("skewed processes", "tails", _skewed_processes),
    Stream("heavy processes", "continuous", _student_processes),
    Stream("waves", "continuous", _periodic),
    Stream("coarse clock", "continuous", _quantised_runs),
)
"""Kinds that played no part in choosing the method."""
