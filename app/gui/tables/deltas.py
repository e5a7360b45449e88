"""Columns that hold each case against a baseline: the ratio, its interval and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.cases.units import percentile_label as percentile_as_written
from app.comparison.judge import Sides
from app.comparison.measured_case import COMPARED
from app.formatting.text import ratio_interval, significant
from app.gui.tables.columns import Column
from app.plot_data.series import Baseline, Series, deltas

_WIDTH = 210


@dataclass(frozen=True, slots=True)
class DeltaColumn(Column):
    """`sides` by the keys of cases; columns of one baseline are the same whatever is in them."""

    sides: Mapping[str, Sides] = field(default_factory=dict, compare=False)

    def raw(self, series: Series) -> str | float | None:
        found = self.sides.get(series.key)
        return None if found is None else found.ratio

    def told(self, series: Series) -> str:
        """`0.970 (0.951 to 0.989) faster`; "" where nothing is to be compared."""
        found = self.sides.get(series.key)
        if found is None:
            return ""
        interval = found.verdict.interval
        limits = f" ({ratio_interval(interval.low, interval.high)})" if interval else ""
        return f"{significant(found.ratio)}{limits} {found.verdict.word}"


def delta_columns(
    baselines: Sequence[Baseline], series: Sequence[Series], band: float
) -> tuple[DeltaColumn, ...]:
    """Two for each baseline: p50 and p99 over its own."""
    columns = []
    for baseline in baselines:
        found = deltas(baseline, series, band)
        several = any(one.verdict.family > 1 for of in found.values() for one in of.values())
        correction = ", corrected for all comparisons" * several
        for name in COMPARED:
            told = percentile_as_written(name)
            how = "pairs of rounds" if baseline.in_turn else "two runs, measured apart"
            columns.append(
                DeltaColumn(
                    f"over:{baseline.key}:{name}",
                    f"{told} / {baseline.name}",
                    f"The {told} over that of the baseline {baseline.name}, from {how}, with its "
                    f"verdict and the interval that decided it{correction}.",
                    "count",
                    _WIDTH,
                    {key: of[name] for key, of in found.items() if name in of},
                )
            )
    return tuple(columns)
