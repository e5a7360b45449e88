"""Rounds until an interval is as narrow as asked: when it is looked at, and how wide it must be.

Whoever looks at an interval again and again, and stops when it is narrow, stops where rounds
happened to spread little. So the 5 % that an interval may miss are shared among all looks that
there may be: whichever look ends the case, its interval holds the truth as often as one that
is looked at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.stats.quantiles import CONFIDENCE

if TYPE_CHECKING:  # a plan is read without what computes its figures
    from app.stats.typical import Estimate

LOOKED = "t_ranks_looks"
"""What the method of an interval is called that was made wider for the looks at it."""
FIRST_LOOK = 5
"""Four rounds hardly tell how far rounds spread: their deviation is off by half of itself."""
GROWTH = 2**0.5
"""From look to look so many more rounds, so that looks are few and none is long waited for."""
MOST_ROUNDS = 40
"""What a case may come to where a plan says no number of rounds."""


@dataclass(frozen=True, slots=True)
class Precise:
    """`asked` maps the names of percentiles to how far an interval may reach, as a share of the
    figure; `most` rounds end a case in any event, and are at least `FIRST_LOOK`."""

    asked: Mapping[str, float]
    most: int = MOST_ROUNDS

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of rounds at which is looked: 5, 7, 10, 14, 20, 28, 40, the last `most`."""
        looks, rounds = [], float(FIRST_LOOK)
        while int(rounds) < self.most:
            looks.append(int(rounds))
            rounds *= GROWTH
        return (*looks, self.most)

    @property
    def confidence(self) -> float:
        """Of the interval at each look: what it may miss by is shared among the looks."""
        return 1.0 - (1.0 - CONFIDENCE) / len(self.looks)

    def narrow(self, figures: Mapping[str, Estimate]) -> bool:
        """Whether every interval that was asked for is there and narrow enough."""
        reaches = {name: reach(figures[name]) for name in self.asked}
        return all(r is not None and r <= self.asked[name] for name, r in reaches.items())

    def settles(self, figures: Mapping[str, Estimate]) -> bool:
        """Whether the case is over at this look: all is narrow, or more rounds would not make it
        so, because each of them is too short."""
        return self.narrow(figures) or any(figures[name].too_short for name in self.asked)

    def next_look(self, rounds: int) -> int:
        """How many rounds the case has at the next look after so many; `most` after the last."""
        return next((look for look in self.looks if look > rounds), self.most)


def reach(figure: Estimate) -> float | None:
    """How far the interval reaches from the figure to its farther side, as a share of it.

    None also where it is all of too few runs, and no interval of any confidence.
    """
    if figure.value is None or figure.interval is None or figure.absent:
        return None
    low, high = figure.interval.low, figure.interval.high
    return max(high / figure.value - 1.0, 1.0 - low / figure.value)
