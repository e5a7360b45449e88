"""How often the interval that ends a case holds the truth, counted over simulated runs."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from app.stats.estimates import Estimate, Rounds, typical_quantile
from app.stats.required_rounds import StoppingRule
from app.stats.verdict import difference, judge
from tests.simulated.machines import MACHINES
from tests.simulated.streams import STREAMS as _STREAMS
from tests.simulated.streams import Stream

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

_MACHINES = {machine.name: machine for machine in MACHINES}


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
)
"""Machines on which the first rounds may agree by chance."""
