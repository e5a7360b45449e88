"""The row that all others of a table are held against: ratios of every figure, verdicts of some.

Verdicts are of p50 and p99, from pairs of rounds of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.cases.objectives import BAND
from app.comparison.judge import Sides, judge_pairs
from app.comparison.measured_case import COMPARED
from app.comparison.pairing import Pair
from app.formatting.text import significant
from app.gui.tables.columns import Column
from app.gui.tables.deltas import DeltaColumn
from app.plot_data.series import Series, is_same_work, ranked

JUDGED = {f"latency_{name}_us": name for name in COMPARED}
"""The columns whose figures have a verdict against a baseline row."""


class BaselineRow:
    """`series` is that row, None for no comparison; `band` is within what a change is none."""

    def __init__(self) -> None:
        self.series: Series | None = None
        self.band = BAND
        self._verdicts: dict[str, Mapping[str, Sides]] = {}

    def renew(self, series: Sequence[Series]) -> None:
        """The same case among these, where it is still there."""
        if self.series is not None:
            self.series = {one.key: one for one in series}.get(self.series.key)
            self.judge(series)

    def judge(self, series: Sequence[Series]) -> None:
        """The verdicts by key, of those whose figures may be compared with the baseline's."""
        self._verdicts = {}
        alike = {one.key: one for one in ranked(series)}
        base = alike.pop(self.series.key, None) if self.series is not None else None
        if base is not None:
            pairs = [
                Pair(one.key, base.measured, one.measured)
                for one in alike.values()
                if is_same_work(one, base)
            ]
            told = judge_pairs(pairs, self.band, in_turn=True)
            self._verdicts = {one.label: one.percentiles for one in told}

    def sides(self, series: Series, column: Column) -> Sides | None:
        """The figure beside the baseline's; None where it has no verdict."""
        if isinstance(column, DeltaColumn):
            return column.sides.get(series.key)
        return self._verdicts.get(series.key, {}).get(JUDGED.get(column.key, ""))

    def change(self, series: Series, column: Column) -> float | None:
        """The ratio to the baseline's figure, where both rows may be compared."""
        base = self.series
        if base is None or base is series or column.kind not in ("lower", "higher"):
            return None
        if series.status != "ok" or base.status != "ok":
            return None
        value, reference = column.raw(series), column.raw(base)
        if isinstance(value, str) or isinstance(reference, str):
            return None
        return value / reference if value and reference else None


def change_text(change: float) -> str:
    """A ratio to the baseline: -12 %, +4.1 %, and as a factor from three times on."""
    if change >= 3.0:
        return f"{significant(change)}x"
    percent = significant(100.0 * (change - 1.0), 2)
    if float(percent) == 0.0 or abs(change - 1.0) < 5e-4:
        return "±0 %"
    return f"{'+' if change > 1.0 else ''}{percent} %"
