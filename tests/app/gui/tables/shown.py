"""What stands in the rows of the results table, from above."""

from __future__ import annotations

from app.gui.tables.results import ResultsTable
from app.plot_data.series import Series


def series_shown(table: ResultsTable) -> list[Series]:
    """The case of each row; none of them may be a group's own."""
    all_series = [table.filter.series_at(row) for row in range(table.filter.rowCount())]
    assert None not in all_series
    return [case_series for case_series in all_series if case_series is not None]


def keys_shown(table: ResultsTable) -> list[str]:
    return [case_series.key for case_series in series_shown(table)]
