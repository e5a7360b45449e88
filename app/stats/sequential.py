"""Sequential comparisons: when verdicts are looked at, and how much error each look may spend.

A comparison that is judged after each few rounds, and that ends once it is decided, has as many
chances to be wrong as it has looks. So each look has a part of the error of a single judgement, in
proportion to its rounds (a spending function; Lan & DeMets, Biometrika 70, 1983). The parts add up
to the whole error, so by Bonferroni's inequality the looks of a comparison are together wrong no
more often than one look at a fixed number of rounds, whatever the correlation between looks.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.stats.intervals import MINIMUM_ROUNDS
from app.stats.quantiles import CONFIDENCE
from app.stats.required_rounds import looks_between


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
