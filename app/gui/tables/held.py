"""Rows that all others are held against, in the order in which they were chosen."""

from __future__ import annotations

from collections.abc import Sequence

from app.gui.tables.deltas import delta_columns
from app.gui.tables.model import ResultsModel
from app.plot_data.series import Baseline


class HeldAgainst:
    """The last row chosen is told beside every figure; what else there is has columns."""

    def __init__(self, model: ResultsModel) -> None:
        self._model = model
        self.keys: tuple[str, ...] = ()
        self._baselines: tuple[Baseline, ...] = ()

    def toggle(self, key: str) -> None:
        """Hold all rows against this one too, or no longer; "" for no row changes nothing."""
        others = tuple(one for one in self.keys if one != key)
        self.set(others if key in self.keys or not key else (*others, key))

    def set(self, keys: Sequence[str]) -> None:
        """Those of these that there are."""
        by_key = {one.key: one for one in self._model.series}
        self.keys = tuple(key for key in keys if key in by_key)
        self._model.set_baseline(by_key[self.keys[-1]] if self.keys else None)

    def set_baselines(self, baselines: Sequence[Baseline]) -> None:
        """All that there are, those of other runs too."""
        self._baselines = tuple(baselines)
        self.renew()

    def renew(self) -> None:
        """Judge anew: other rounds may be there."""
        told = self._model.baseline
        beside = [
            one
            for one in self._baselines
            if told is None or one.case_series is None or one.case_series.key != told.key
        ]
        self._model.set_deltas(delta_columns(beside, self._model.series, self._model.band))
