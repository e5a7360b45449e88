"""How often the interval that ends a case holds the truth, counted over simulated runs.

Each process of a stream gives its own latencies in order of time, in microseconds. The truth of a
quantile is the pseudo-median of the processes' own quantiles: in closed form where there is one,
else from many processes drawn with another seed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri

from app.stats.estimates import Estimate, Rounds, typical_quantile
from app.stats.required_rounds import StoppingRule
from app.stats.verdict import difference, judge
from tests.simulated.held_out import HELD_OUT
from tests.simulated.machine_coverage import pseudo_medians
from tests.simulated.machines import MACHINES, autoregressive

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


def _normal(rng: np.random.Generator, runs: int, rho: float = 0.0) -> np.ndarray:
    """A standard normal series, AR(1) with the given correlation."""
    noise = rng.standard_normal(runs)
    return autoregressive(noise, rho) if rho else noise


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


_STREAMS: tuple[Stream, ...] = (
    Stream("bimodal", _bimodal),
    Stream("AR 0.9", _log_normal(0.05, 0.9), _log_normal_truth(0.05)),
    Stream("processes 3 %", _log_normal(0.05, 0, 0.03), _log_normal_truth(0.05)),
    Stream("processes 10 %", _log_normal(0.05, 0, 0.1), _log_normal_truth(0.05)),
    Stream("tails by process", _tails),
    Stream("skewed processes", _skewed_processes),
    Stream("heavy processes", _student_processes),
)

_BY_NAME = {stream.name: stream for stream in _STREAMS}


@dataclass(frozen=True, slots=True)
class Asked:
    """A quantile of a stream, how narrow its interval is to be, and the runs of each round."""

    stream: Stream
    quantile: float
    share: float
    runs: int = 2000


@dataclass(frozen=True, slots=True)
class Stopped:
    """Of so many tries there was an interval in `claimed` when it ended, which held the truth in
    `held`; `narrow` were as narrow as asked. `ends` are the rounds at which it ended, ascending."""

    claimed: int
    held: int
    narrow: int
    ends: tuple[int, ...]


def stopped(request: Asked, tries: int) -> Stopped:
    """Rounds are drawn until the interval is narrow or there are as many as may be."""
    seed = f"{request.stream.name} {request.quantile} {request.share}".encode()
    rng = np.random.default_rng(zlib.crc32(seed))
    rule = StoppingRule({"asked": request.share})
    claim_count = hit_count = narrow = 0
    ends = []
    for _ in range(tries):
        figure, is_narrow = _run_until_stop(request, rule, rng)
        narrow += is_narrow
        ends.append(len(figure.by_round))
        if figure.interval is not None:
            claim_count += 1
            truth = request.stream.truth(request.quantile)
            hit_count += figure.interval.low <= truth <= figure.interval.high
    return Stopped(claim_count, hit_count, narrow, tuple(sorted(ends)))


def wrongly_called(request: Asked, tries: int) -> int:
    """How often a case is called faster or slower than itself, each side ended by the rule."""
    rng = np.random.default_rng(zlib.crc32(f"{request.stream.name} {request.share} twice".encode()))
    rule = StoppingRule({"asked": request.share})
    wrong = 0
    for _ in range(tries):
        first, second = (_run_until_stop(request, rule, rng)[0].by_round for _ in range(2))
        result = difference(first, second, in_turn=True)
        (verdict,) = judge([result], band=0.0, confidence=rule.confidence)
        wrong += verdict.word in ("faster", "slower")
    return wrong


def _run_until_stop(
    asked: Asked, rule: StoppingRule, rng: np.random.Generator
) -> tuple[Estimate, bool]:
    """The figure at the look that ends the case, and whether it is narrow then."""
    drawn: list[np.ndarray] = []
    for look in rule.looks:
        drawn += asked.stream.rounds(rng, look - len(drawn), asked.runs)
        figure = typical_quantile(Rounds.of(drawn), asked.quantile, rule.confidence)
        if rule.narrow({"asked": figure}):
            return figure, True
    return figure, False


STREAMS: tuple[Asked, ...] = (
    Asked(_BY_NAME["processes 3 %"], 0.5, 0.03),
    Asked(_BY_NAME["processes 10 %"], 0.5, 0.10),
    Asked(_BY_NAME["tails by process"], 0.99, 0.25, runs=5000),
    Asked(_BY_NAME["AR 0.9"], 0.5, 0.005),
    Asked(_BY_NAME["bimodal"], 0.9, 0.003),
    Asked(_BY_NAME["skewed processes"], 0.5, 0.04),
    Asked(_BY_NAME["heavy processes"], 0.9, 0.03),
)
"""Asked for so that they end at various looks."""

_MACHINES = {machine.name: machine for machine in (*MACHINES, *HELD_OUT)}


def _independent(name: str) -> Stream:
    """Of a machine whose rounds do not depend on each other."""
    machine = _MACHINES[name]
    return Stream(name, lambda rng, runs: machine.processes(rng, 1, runs)[0])


DISTURBED: tuple[Asked, ...] = (
    Asked(_independent("1 process in 20 is 3x"), 0.5, 0.10, runs=800),
    Asked(_independent("DVFS hysteresis"), 0.5, 0.05, runs=800),
    Asked(_independent("NUMA, 3 levels"), 0.5, 0.05, runs=800),
    Asked(_independent("clock of 100 ns"), 0.5, 0.10, runs=800),
    Asked(_independent("on-off neighbour"), 0.5, 0.08, runs=800),
    *(Asked(_independent(machine.name), 0.5, 0.03, runs=800) for machine in HELD_OUT[:3]),
)
"""Machines on which the first rounds may agree by chance, the last three held out."""
