"""The rounds and samples that a precision requires, and when an interval is looked at.

Whoever looks at an interval again and again, and stops when it is narrow, stops where rounds
happened to spread little. Which look that is depends on the spread alone, of which the middle of
normal rounds is independent, so the look that ends a case misses less often than the sum of all:
with intervals of 97.5 % at 5, 7, 10, 14, 20, 28 and 40 rounds in 4.3 % at the least favourable
spread, and in up to 6 % of other streams (`tests.benchmarks stopping`).

A comparison that is judged after each few rounds, and that ends once it is decided, has as many
chances to be wrong as it has looks. So each look has a part of the error of a single judgement, in
proportion to its rounds (a spending function; Lan & DeMets, Biometrika 70, 1983). The parts add up
to the whole error, so by Bonferroni's inequality the looks of a comparison are together wrong no
more often than one look at a fixed number of rounds, whatever the correlation between looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.stats.intervals import (
    MINIMUM_ROUNDS,
    deviation,
    interval_between,
    pairs_beyond,
    reaches,
    skewness_of,
    spread_limit,
    typical,
)
from app.stats.quantiles import CONFIDENCE, Interval, needed_samples

if TYPE_CHECKING:
    from app.stats.estimates import Estimate


LOOKED = "t_ranks_looks"
"""What the method of an interval is called that was made wider for the looks at it."""
FIRST_LOOK = 5
"""Four rounds hardly tell how far rounds spread: their deviation is off by half of itself."""
GROWTH = 2**0.5
"""From look to look so many more rounds, so that looks are few and none is long waited for."""
MAXIMUM_ROUNDS = 40
"""What a case may come to where a plan says no number of rounds."""
_LOOK_ERROR = 0.025
"""What the interval of each of several looks misses by, for about 5 % of the last one."""


def looks_between(first: int, maximum: int) -> tuple[int, ...]:
    """Numbers of rounds that grow by `GROWTH` from the first look to the last, the maximum."""
    looks, rounds = [], float(first)
    while int(rounds) < maximum:
        looks.append(int(rounds))
        rounds *= GROWTH
    return (*looks, maximum)


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """`asked` maps the names of percentiles to how far an interval may reach, as a share of the
    figure; `most` rounds end a case in any event, and are at least `FIRST_LOOK`."""

    targets: Mapping[str, float]
    maximum: int = MAXIMUM_ROUNDS

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of rounds at which is looked: 5, 7, 10, 14, 20, 28, 40, the last `most`."""
        return looks_between(FIRST_LOOK, self.maximum)

    @property
    def confidence(self) -> float:
        """Of the interval at each look."""
        return CONFIDENCE if len(self.looks) == 1 else 1.0 - _LOOK_ERROR

    def narrow(self, figures: Mapping[str, Estimate]) -> bool:
        """Whether every interval that was asked for is there and narrow enough."""
        reaches = {name: reach(figures[name]) for name in self.targets}
        return all(r is not None and r <= self.targets[name] for name, r in reaches.items())

    def settles(self, figures: Mapping[str, Estimate]) -> bool:
        """Whether the case is over at this look: all is narrow, or more rounds would not make it
        so, because each of them is too short."""
        return self.narrow(figures) or any(figures[name].too_short for name in self.targets)

    def next_look(self, rounds: int) -> int:
        """How many rounds the case has at the next look after so many; `most` after the last."""
        return next((look for look in self.looks if look > rounds), self.maximum)


def reach(figure: Estimate) -> float | None:
    """How far the interval reaches from the figure to its farther side, as a share of it.

    None also where it is all of too few runs, and no interval of any confidence.
    """
    if figure.value is None or figure.interval is None or figure.absent:
        return None
    return _reach(figure.interval, figure.value)


def _reach(interval: Interval, value: float) -> float:
    return max(interval.high / value - 1.0, 1.0 - interval.low / value)


NARROW = 0.05
"""An interval that reaches so far to either side, as a share of the figure, is called narrow."""


def samples_needed(quantile: float, samples: int) -> int:
    """How many more samples of all rounds the percentile takes; 0 where there are enough."""
    return max(0, needed_samples(quantile) - samples)


def rounds_needed(
    figures: Sequence[float],
    share: float = NARROW,
    confidence: float = CONFIDENCE,
    inflation: float = 1.0,
) -> int | None:
    """How many rounds in all give an interval of +-share, if more spread as these do.

    As many as there are or fewer where their interval (`interval_between`) reaches no farther, else
    the fewest of which Student's t does, with the `inflation` of their correlation, the most that
    the deviation may be (`spread_limit`), and the skewness where they are too few for ranks. None
    below three rounds, which tell neither.
    """
    interval = interval_between(np.array(figures), confidence, inflation)
    if interval is None:
        return None
    logarithms, edge = np.log(np.array(figures)), math.log1p(share)
    spread, count = inflation * deviation(logarithms), len(figures)
    skewness = skewness_of(logarithms) if spread else 0.0
    is_narrow = _reach(interval, typical(np.array(figures))) <= share
    if not is_narrow:
        spread = spread_limit(spread, count - 1)

    def suffice(rounds: int) -> bool:
        shape = 0.0 if pairs_beyond(rounds, confidence) else skewness
        return max(reaches(rounds, shape, confidence)) * spread / math.sqrt(rounds) <= edge

    # Student's t reaches farther than the normal law, whose 1.96 is where the search begins.
    first = MINIMUM_ROUNDS if is_narrow else count + 1
    rounds = max(first, math.floor((1.96 * spread / edge) ** 2))
    while not suffice(rounds):
        rounds += 1
    return min(rounds, count) if is_narrow else rounds


@dataclass(frozen=True, slots=True)
class SequentialRule:
    """Looks at 3, 4, 6, 8, 12, 16, 24, 33 and 40 rounds, as far as there are `maximum` rounds."""

    maximum: int

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of rounds at which verdicts are looked at, ascending."""
        return looks_between(MINIMUM_ROUNDS, self.maximum)

    def look_after(self, rounds: int) -> int:
        """The number of rounds at the first look after so many; the maximum after the last."""
        return next((look for look in self.looks if look > rounds), self.maximum)

    def look_at(self, rounds: int) -> int:
        """The number of rounds at the first look that is no earlier than so many."""
        return next((look for look in self.looks if look >= rounds), self.maximum)

    def confidence_at(self, rounds: int) -> float:
        """Of a judgement after so many rounds: what it may be wrong by is the part of its look.

        Between two looks a run ends only for other reasons than its figures, so the part of the
        next look, which is then not taken, is there to be spent.
        """
        looks = self.looks
        return 1.0 - (1.0 - CONFIDENCE) * self.look_at(rounds) / sum(looks)
