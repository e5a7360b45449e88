"""Streams of latencies whose typical process is known, to count how often an interval holds it.

Each process of a stream gives its own latencies in order of time, in microseconds. The truth
of a quantile is the pseudo-median of the processes' own quantiles: in closed form where there is
one, else from many processes drawn with another seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtri

Process = Callable[[np.random.Generator, int], np.ndarray]
"""One process: so many latencies of it."""


@dataclass(frozen=True, slots=True)
class Stream:
    name: str
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


def _bimodal(rng: np.random.Generator, runs: int) -> np.ndarray:
    level = np.where(rng.random(runs) < 0.7, 100.0, 130.0)
    return level * np.exp(0.02 * rng.standard_normal(runs))


def _tails(rng: np.random.Generator, runs: int) -> np.ndarray:
    """The share of slow runs is the process's own."""
    latency = 100.0 * np.exp(0.01 * rng.standard_normal() + 0.05 * rng.standard_normal(runs))
    share = min(0.5, 0.02 * np.exp(0.5 * rng.standard_normal()))
    slow = rng.random(runs) < share
    latency[slow] *= 1.0 + 0.3 * rng.exponential(size=int(slow.sum()))
    return latency


def _skewed_processes(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Processes are unlucky, never lucky: memory that fell badly makes some slower."""
    process_shift = 0.03 * rng.exponential()
    return 100.0 * np.exp(process_shift + 0.08 * np.abs(_normal(rng, runs, 0.6)))


def _student_processes(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Now and then a process is far off: Student's t with four degrees of freedom."""
    return 100.0 * np.exp(0.02 * rng.standard_t(4) + 0.05 * _normal(rng, runs, 0.8))


STREAMS: tuple[Stream, ...] = (
    Stream("bimodal", _bimodal),
    Stream("AR 0.9", _log_normal(0.05, 0.9), _log_normal_truth(0.05)),
    Stream("processes 3 %", _log_normal(0.05, 0, 0.03), _log_normal_truth(0.05)),
    Stream("processes 10 %", _log_normal(0.05, 0, 0.1), _log_normal_truth(0.05)),
    Stream("tails by process", _tails),
    Stream("skewed processes", _skewed_processes),
    Stream("heavy processes", _student_processes),
)
