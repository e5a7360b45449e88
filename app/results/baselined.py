"""What series are held against: a case of their own run, or another run, each by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.results.figures import is_same_work, ranked
from app.results.hosts import the_same
from app.results.series import Series
from app.results.verdicts import Pair, Sides, judged


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """A case that all others are held against, `own`, or the cases of another run.

    Each is itself alone: arrays of samples are not compared. `key` is what it is known by,
    however it is named.
    """

    key: str
    name: str
    own: Series | None = None
    others: tuple[Series, ...] = ()

    @property
    def in_turn(self) -> bool:
        """Whether its rounds alternated with those of the cases: then they are pairs."""
        return self.own is not None

    def beside(self, series: Series) -> Series | None:
        """What this case is held against; None where nothing of its clock is there."""
        found = self.own
        if found is None:
            same = the_same([(series.case, series.row.get("host"))])
            others = (one for one in self.others if same(one.case, one.row.get("host")))
            found = next(others, None)
        if found is None or (self.own is not None and found.key == series.key):
            return None
        return found if found.clock == series.clock else None


def deltas(
    baseline: Baseline, series: Sequence[Series], band: float
) -> dict[str, Mapping[str, Sides]]:
    """By key the percentiles of each case beside the baseline's, all of them judged together.

    Nothing of a case that does other work: its ratio is no speed-up.
    """
    alike = set(map(id, ranked([*series, *baseline.others, *filter(None, [baseline.own])])))
    pairs = [
        Pair(one.key, found.measured, one.measured)
        for one in series
        if (found := baseline.beside(one)) is not None
        and id(one) in alike
        and id(found) in alike
        and is_same_work(one, found)
    ]
    return {one.label: one.percentiles for one in judged(pairs, band, baseline.in_turn)}
