"""Sets of processes that take turns, on machines that played no part in choosing the method.

A set has the medians of each side's turns, a number for each cycle, 0 in a cycle without. The
typical ratio of second over first is known: what the sides do is alike, or divided by its median.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from app.stats.levels import ratio_in_turns, ratios_by_state
from app.stats.quantiles import CONFIDENCE
from app.stats.verdict import Difference, RoundPairs, interval_of, judge, with_minimum_spread
from tests.simulated.machines import autoregressive

CYCLES = 60
LAYOUT, NOISE = 0.01, 0.03
"""What processes of a side differ by, and its turns."""
Draw = Callable[[np.random.Generator, int], np.ndarray]
"""The logarithms of the turns of so many sets of one comparison [sides, sets, cycles]; not a number
in a cycle without a turn."""


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    draw: Draw

    def pairs(self, rng: np.random.Generator, sets: int, ratio: float) -> RoundPairs:
        """As pairs of measured cases have them: a set is one ratio, and
        one of each state of the machine. The level of the first side does not matter."""
        turns = np.nan_to_num(100.0 * np.exp(self.draw(rng, sets)))
        turns[1] *= ratio
        return pairs_of(turns[0].tolist(), turns[1].tolist())


def pairs_of(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> RoundPairs:
    """Of sets of turns of both sides."""
    ratios = [ratio_in_turns(a, b) for a, b in zip(first, second, strict=True)]
    known = [ratio for ratio in ratios if ratio is not None]
    assert len(known) == len(first)
    states = ratios_by_state(first, second)
    return RoundPairs([1.0] * len(known), known, figure="p50", states=states)


def held(kind: Kind, sets: int, tries: int, ratio: float = 1.05) -> int:
    """In how many of so many tries the interval holds the ratio."""
    rng = np.random.default_rng(zlib.crc32(f"{kind.name} {sets} held".encode()))
    return holding([kind.pairs(rng, sets, ratio).difference for _ in range(tries)], ratio)


def holding(differences: Sequence[Difference | None], ratio: float) -> int:
    """How many of the intervals hold the ratio; one that is missing does not."""
    intervals = [interval_of(d, CONFIDENCE) for d in differences if d is not None]
    return sum(interval.low <= ratio <= interval.high for interval in intervals)


def alike(kind: Kind, sets: int, comparisons: int) -> list[Difference | None]:
    """Comparisons of files with their copies."""
    rng = np.random.default_rng(zlib.crc32(f"{kind.name} {sets} alike".encode()))
    return [kind.pairs(rng, sets, 1.0).difference for _ in range(comparisons)]


def wrong_runs(differences: Sequence[Difference | None], cases: int, band: float) -> float:
    """The share of runs of so many comparisons, judged together, that call any slower or faster."""
    runs = [differences[n : n + cases] for n in range(0, len(differences), cases)]
    wrong = [
        any(v.word in ("slower", "faster") for v in judge(with_minimum_spread(run, names), band))
        for run in runs
        for names in [["p50"] * cases]
    ]
    return sum(wrong) / len(wrong)


def _noise(rng: np.random.Generator, sets: int, cycles: int = CYCLES) -> np.ndarray:
    """Two sides alike: processes that differ, turns that differ."""
    layouts = LAYOUT * rng.standard_normal((2, sets, 1))
    return layouts + NOISE * rng.standard_normal((2, sets, cycles))


def _spells(rng: np.random.Generator, series: int, levels: Sequence[float]) -> np.ndarray:
    """One of the levels at a time [series, CYCLES], each for a time with a long tail: half of the
    spells are shorter than five cycles, and one in ten is longer than a set. It leaps within a
    cycle as likely as between two, so that sides that share a timing may meet two levels."""
    lengths = np.ceil(3.0 * (1.0 + rng.pareto(0.8, (series, CYCLES + 1)))).astype(int)
    ends = np.cumsum(np.minimum(lengths, 10 * CYCLES), axis=1)
    ends -= (rng.random(series) * ends[:, 0]).astype(int)[:, None]
    place = np.array([np.searchsorted(own, np.arange(CYCLES), side="right") for own in ends])
    steps = rng.integers(1, len(levels), (series, CYCLES + 2))
    steps[:, 0] = rng.integers(0, len(levels), series)
    visited = np.cumsum(steps, axis=1) % len(levels)
    return np.log(np.array(levels))[np.take_along_axis(visited, place, axis=1)]


def _shared_spells(*levels: float) -> Draw:
    """One turn in fifty meets another level than the cycle's other turn."""

    def draw(rng: np.random.Generator, sets: int) -> np.ndarray:
        spells = _spells(rng, sets, levels)
        late = np.concatenate([spells[:, :1], spells[:, :-1]], axis=1)
        is_late = rng.random((2, sets, CYCLES)) < 0.5
        return _noise(rng, sets) + np.where(is_late, late, spells)

    return draw


def _own_spells(rng: np.random.Generator, sets: int) -> np.ndarray:
    return _noise(rng, sets) + _spells(rng, 2 * sets, (1.0, 1.35)).reshape(2, sets, CYCLES)


def _own_linked(rho: float) -> Draw:
    """The turns of a side resemble those before by themselves."""
    return lambda rng, sets: (
        LAYOUT * rng.standard_normal((2, sets, 1))
        + 0.05 * autoregressive(rng.standard_normal((2, sets, CYCLES)), rho)
    )


def _linked_sets(rng: np.random.Generator, sets: int) -> np.ndarray:
    """The level of each side wanders from set to set by itself."""
    noise = _noise(rng, sets)
    return noise + 0.02 * autoregressive(rng.standard_normal((2, sets)), 0.6)[..., None]


def _rare(rng: np.random.Generator, sets: int) -> np.ndarray:
    return _noise(rng, sets) + np.log(1.2) * (rng.random((2, sets, 1)) < 0.1)


def _drift(rng: np.random.Generator, sets: int) -> np.ndarray:
    """A machine that slows down within each pass, by 10 to 20 %."""
    slopes = np.log(rng.uniform(1.1, 1.2, (sets, 1))) * np.linspace(0.0, 1.0, CYCLES)
    return _noise(rng, sets) + slopes


def _warming(rng: np.random.Generator, sets: int) -> np.ndarray:
    """The second side begins 10 % slower, the first does not. What it is slower by in the median of
    many cycles, noise included, is taken from it."""
    turns = _noise(rng, sets)
    curve = 0.1 * np.exp(-np.arange(CYCLES) / 15.0)
    noise = NOISE * np.sqrt(2.0) * ndtri((np.arange(2000) + 0.5) / 2000.0)
    turns[1] += curve - np.median(curve[:, None] + noise)
    return turns


def _heavy(rng: np.random.Generator, sets: int) -> np.ndarray:
    shape = (2, sets, CYCLES)
    stalls = np.log(10.0) * (rng.random(shape) < 0.01)
    return LAYOUT * rng.standard_normal((2, sets, 1)) + NOISE * rng.standard_t(2, shape) + stalls


def _few_cycles(rng: np.random.Generator, sets: int) -> np.ndarray:
    """Runs of 10 ms: 5 to 16 turns a set, of four runs each, that differ by 10 %."""
    turns = LAYOUT * rng.standard_normal((2, sets, 1)) + 0.1 * rng.standard_normal((2, sets, 16))
    turns[:, np.arange(16) >= rng.integers(5, 17, (sets, 1))] = np.nan
    return turns


def _modes(*levels: float) -> Draw:
    """The layout of a process's memory is one of few."""
    return lambda rng, sets: (
        NOISE * rng.standard_normal((2, sets, CYCLES))
        + np.log(np.array(levels))[rng.integers(0, len(levels), (2, sets, 1))]
        + 0.002 * rng.standard_normal((2, sets, 1))
    )


def _every_fourth(rng: np.random.Generator, sets: int) -> np.ndarray:
    """The second side has long turns, and one only in every fourth cycle."""
    turns = _shared_spells(1.0, 1.35)(rng, sets)
    turns[1, :, np.arange(CYCLES) % 4 > 0] = np.nan
    return turns


KINDS: tuple[Kind, ...] = (
    Kind("two levels, shared", _shared_spells(1.0, 1.35)),
    Kind("two levels, each side's own", _own_spells),
    Kind("three levels, shared", _shared_spells(1.0, 1.2, 1.5)),
    Kind("cycles AR 0.6, own", _own_linked(0.6)),
    Kind("cycles AR 0.9, own", _own_linked(0.9)),
    Kind("sets AR 0.6, own", _linked_sets),
    Kind("1 process in 10 is 20 % slower", _rare),
    Kind("drift of 10 to 20 %, shared", _drift),
    Kind("one side warms up by 10 %", _warming),
    Kind("turns t, 2, and 1 % 10x", _heavy),
    Kind("5 to 16 cycles, 10 %", _few_cycles),
    Kind("two layouts, 5 %", _modes(1.0, 1.05)),
    Kind("three layouts, 5 and 10 %", _modes(1.0, 1.05, 1.1)),
    Kind("turns in every fourth cycle", _every_fourth),
)


RECORDED = Path(__file__).with_name("recorded_turns.csv")


def recorded() -> list[list[list[float]]]:
    """The turns of both sides of a real run [sides][sets], in microseconds: a network of 17 µs and
    its copy on ONNX Runtime, 60 rounds of `--preset brief` in 4 minutes on a rented virtual machine
    with two cores at a load of 5 to 6."""
    with RECORDED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        [list(map(float, row["turns_us"].split())) for row in rows if row["side"] == side]
        for side in ("first", "second")
    ]


def resampled(
    sides: Sequence[Sequence[Sequence[float]]], sets: int, tries: int
) -> list[Difference | None]:
    """Comparisons of so many sets of a recorded run, drawn without replacement, in their order."""
    rng = np.random.default_rng(zlib.crc32(f"recorded {sets}".encode()))
    differences = []
    for _ in range(tries):
        chosen = np.sort(rng.choice(len(sides[0]), sets, replace=False)).tolist()
        first, second = ([side[n] for n in chosen] for side in sides)
        differences.append(pairs_of(first, second).difference)
    return differences
