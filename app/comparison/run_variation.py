"""What two runs differ by without a change: from their machine's history, or stated.

The variation between runs is best known from the runs of the machine's history: the same case, in
runs that nobody changed anything for. Else the p50 has a stated variation, and of a tail nothing is
known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.cases.units import percentile_of
from app.comparison.measured_case import MeasuredCase
from app.run_folder.hosts import identity_of
from app.stats.verdict import STATED, RunVariation

_MIDDLE = 50.0
Key = tuple[str, str, str, str, str]
"""A case, a percentile, a clock, a host and its processor."""


@dataclass(frozen=True, slots=True)
class RunVariations:
    """By case and percentile what two runs of one machine differ by.

    `past` is from its history, `cpus` are the processors of the hosts that both runs share and
    `cores` how many these have.
    """

    past: Mapping[Key, RunVariation] = field(default_factory=dict)
    cpus: Mapping[str, str] = field(default_factory=dict)
    cores: Mapping[str, int] = field(default_factory=dict)

    def of(self, first: MeasuredCase, second: MeasuredCase, name: str) -> RunVariation | None:
        """None where it is not known, as of a tail without a history."""
        host = str(second.row["host"] or "")
        if str(first.row["host"] or "") == host:
            clock = str(second.row["clock"] or "")
            key = (identity_of(second.case), name, clock, host, self.cpus.get(host, ""))
            if variation := self.past.get(key):
                return variation
        return STATED if is_middle(name) else None


STATED_ALONE = RunVariations()
"""Where there is no history."""


def is_middle(name: str) -> bool:
    """Whether it is the median or below, of which a variation is stated."""
    percentile = percentile_of(name)
    return percentile is not None and percentile <= _MIDDLE
