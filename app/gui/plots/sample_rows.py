"""The samples of a timeline as rows of a table, as many as a spreadsheet can open."""

from __future__ import annotations

from collections.abc import Iterable

from app.gui.plots.envelope import Taken
from app.gui.plots.read.samples import PHASES
from app.plot_data.series import Series

MOST_ROWS = 1_000_000


def sample_rows(series: Iterable[tuple[Series, Taken]]) -> list[list[object]]:
    """Series, clock, round, when it started in nanoseconds, what it took in microseconds, phase."""
    rows: list[list[object]] = []
    for one, taken in series:
        for number, records in enumerate(one.rounds):
            kept = records[: max(0, MOST_ROWS - len(rows))]
            for record, us in zip(kept, (taken(kept) / 1e3).tolist(), strict=True):
                phase = PHASES[int(record["phase"])]
                started = int(record["started_ns"])
                rows.append([one.label, one.clock, number, started, us, phase])
    return rows
