"""What is known of the variation between two runs, for the comparison of their cases.

The runs of the machine's history say it best: the same case, in runs that nobody changed anything
for. Next comes the anchor, a case that both runs measured and that is the same in both. Else the
p50 has a stated variation, and of a tail nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.cases.percentiles import percentile_of
from app.results.hosts import identity_of
from app.results.measured import Measured
from app.stats.run_variation import STATED, RunVariation, from_anchor

_MIDDLE = 50.0
Key = tuple[str, str, str, str, str]
"""A case, a percentile, a clock, a host and its processor."""


@dataclass(frozen=True, slots=True)
class RunVariations:
    """By case and percentile what two runs of one machine differ by.

    `past` is from its history and `cpus` are the processors of the hosts that both runs share;
    `anchor` is the same unchanged case in both runs.
    """

    past: Mapping[Key, RunVariation] = field(default_factory=dict)
    cpus: Mapping[str, str] = field(default_factory=dict)
    anchor: tuple[Measured, Measured] | None = None

    def of(self, first: Measured, second: Measured, name: str) -> RunVariation | None:
        """None where it is not known, as of a tail without a history and without an anchor."""
        host = str(second.row["host"] or "")
        if str(first.row["host"] or "") == host:
            clock = str(second.row["clock"] or "")
            key = (identity_of(second.case), name, clock, host, self.cpus.get(host, ""))
            known = self.past.get(key) or self._from_anchor(first, second, name)
            if known is not None:
                return known
        return STATED if is_middle(name) else None

    def anchor_ratios(self, names: Sequence[str]) -> dict[str, float]:
        """By percentile the anchor's second figure over its first: how the machine moved."""
        if self.anchor is None:
            return {}
        first, second = self.anchor
        figures = {name: (first.value(name), second.value(name)) for name in names}
        return {
            name: after / before for name, (before, after) in figures.items() if before and after
        }

    def _from_anchor(self, first: Measured, second: Measured, name: str) -> RunVariation | None:
        """Where the anchor was measured on the machine and by the clock of both cases."""
        if self.anchor is None:
            return None
        for anchor, side in zip(self.anchor, (first, second), strict=True):
            if any(anchor.row[column] != side.row[column] for column in ("host", "clock")):
                return None
        one, other = (list(side.by_round(name).values()) for side in self.anchor)
        return from_anchor(one, other)


STATED_ALONE = RunVariations()
"""Where there is neither a history nor an anchor."""


def is_middle(name: str) -> bool:
    """Whether it is the median or below, of which a variation is stated."""
    percentile = percentile_of(name)
    return percentile is not None and percentile <= _MIDDLE
