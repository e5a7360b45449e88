"""Latency, service time or queueing: which part of a run's time the distribution views show.

Only an open loop has the three; where no case of one is shown there is nothing to choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from app.analysis.plot_data.series import Part, Series, part_ns
from app.cases.column import Blank
from app.cases.round import MEASURED
from app.cases.status import FITS
from app.gui.look.controls import Choice
from app.stats.quantiles import Histogram

NAMES: dict[str, str] = {"latency": "Latency", "service": "Service time", "queue": "Queueing"}


class PartChoice(Choice):
    """Offered while some case is of an open loop; `part` is the latency otherwise."""

    def __init__(self) -> None:
        super().__init__(
            "Part of the time",
            NAMES,
            "Of open loops. Latency: from when a run was due to its end. Service time: from when "
            "it began. Queueing: from when it was due to when it began.",
        )
        self.setVisible(False)
        self._offered = False

    @property
    def part(self) -> Part:
        return next((p for p in get_args(Part) if self._offered and p == self.value), "latency")

    def offer(self, series: Sequence[Series]) -> None:
        """Show the choice where one of these has parts to choose from."""
        self._offered = any(case_series.case.scenario.is_open_loop for case_series in series)
        self.setVisible(self._offered)


class PartBins:
    """Bins of a part of the time, read on as rounds grow."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[str, int, Part], tuple[Histogram, int]] = {}

    def of(self, series: Sequence[Series], part: Part) -> list[Series]:
        """The series with the bins of this part; those without it are left out."""
        if part == "latency":
            return [case_series for case_series in series if case_series.counts.any()]
        parts = (
            self._bin_part(case_series, part) for case_series in series if case_series.has(part)
        )
        return [case_series for case_series in parts if case_series.counts.any()]

    def _bin_part(self, series: Series, part: Part) -> Series:
        if not series.case.scenario.is_open_loop:
            return series  # its latency is its service
        counts, row = self._counts(series, part), _without_latencies(series)
        return replace(series, counts=counts, summary=None, published=(), row=row)

    def _counts(self, series: Series, part: Part) -> np.ndarray:
        total = Histogram().counts
        for number, records in enumerate(series.rounds):
            key = (series.key, number, part)
            histogram, read = self._rounds.get(key, (Histogram(), 0))
            if len(records) < read:
                histogram, read = Histogram(), 0
            new_records = records[read:]
            histogram.add(
                part_ns(new_records[new_records["phase"] == MEASURED], part, from_schedule=True)
            )
            self._rounds[key] = histogram, len(records)
            total += histogram.counts
        return total


def _without_latencies(series: Series) -> Blank:
    """Its row without the figures that are of the latency, as another part has its own."""
    return Blank({name: x for name, x in series.row.items() if not name.startswith("latency_")})


def without_samples(series: Sequence[Series], not_yet: str) -> str:
    """What is said in place of a plot: `not_yet` while samples may come, else that none will."""
    if not series or any(case_series.status in ("waiting", "measuring") for case_series in series):
        return not_yet
    if any(case_series.status in FITS for case_series in series):
        return "The samples of these cases are not in the run folder, so only the table has them."
    return "None of these cases gave samples. The results table has the cause, under Reason."


def since_when(series: Sequence[Series], part: Part) -> str:
    """What a part counts from, "" where all count from their start as ever."""
    if part == "queue":
        return "from when runs were due to when they began"
    if part == "service":
        return "from when runs began"
    loops = {case_series.case.scenario.is_open_loop for case_series in series}
    if loops == {True}:
        return "from when runs were due"
    return "open loops from when runs were due" if True in loops else ""
