"""What two runs differ by without a change: from their machine's history, from an anchor, stated.

The variation between runs is best known from the runs of the machine's history: the same case, in
runs that nobody changed anything for. Next comes the anchor, a case that both runs measured and
that is the same in both. Else the p50 has a stated variation, and of a tail nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.cases.units import percentile_of
from app.comparison.measured_case import MeasuredCase
from app.run_folder.hosts import identity_of
from app.stats.verdict import (
    STATED,
    RunVariation,
    from_anchor,
)

_MIDDLE = 50.0
Key = tuple[str, str, str, str, str]
"""A case, a percentile, a clock, a host and its processor."""


@dataclass(frozen=True, slots=True)
class RunVariations:
    """By case and percentile what two runs of one machine differ by.

    `past` is from its history, `cpus` are the processors of the hosts that both runs share and
    `cores` how many these have;
    `anchor` is the same unchanged case in both runs.
    """

    past: Mapping[Key, RunVariation] = field(default_factory=dict)
    cpus: Mapping[str, str] = field(default_factory=dict)
    cores: Mapping[str, int] = field(default_factory=dict)
    anchor: tuple[MeasuredCase, MeasuredCase] | None = None

    def of(self, first: MeasuredCase, second: MeasuredCase, name: str) -> RunVariation | None:
        """None where it is not known, as of a tail without a history and without an anchor."""
        host = str(second.row["host"] or "")
        if str(first.row["host"] or "") == host:
            clock = str(second.row["clock"] or "")
            key = (identity_of(second.case), name, clock, host, self.cpus.get(host, ""))
            variation = self.past.get(key) or self._from_anchor(first, second, name)
            if variation is not None:
                return variation
        return STATED if is_middle(name) else None

    def anchor_ratios(self, names: Sequence[str]) -> dict[str, float]:
        """By percentile the anchor's second figure over its first: how the machine moved."""
        if self.anchor is None:
            return {}
        first, second = self.anchor
        figures = {name: (first.value(name), second.value(name)) for name in names}
        return {
            name: second_value / first_value
            for name, (first_value, second_value) in figures.items()
            if first_value and second_value
        }

    def _from_anchor(
        self, first: MeasuredCase, second: MeasuredCase, name: str
    ) -> RunVariation | None:
        """Where the anchor was measured on the machine and by the clock of both cases."""
        if self.anchor is None:
            return None
        for anchor, side in zip(self.anchor, (first, second), strict=True):
            if any(anchor.row[column] != side.row[column] for column in ("host", "clock")):
                return None
        anchor_figures, case_figures = (
            (list(pair[0].by_round(name).values()), list(pair[1].by_round(name).values()))
            for pair in (self.anchor, (first, second))
        )
        return from_anchor(anchor_figures, None if is_middle(name) else case_figures)


STATED_ALONE = RunVariations()
"""Where there is neither a history nor an anchor."""


def is_middle(name: str) -> bool:
    """Whether it is the median or below, of which a variation is stated."""
    percentile = percentile_of(name)
    return percentile is not None and percentile <= _MIDDLE
