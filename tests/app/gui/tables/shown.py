"""What stands in the rows of the results table, from above."""

from __future__ import annotations

from app.gui.tables.results import ResultsTable


def keys_shown(table: ResultsTable) -> list[str]:
    """None of them may be a group's own row."""
    all_series = [table.filter.series_at(row) for row in range(table.filter.rowCount())]
    assert None not in all_series
    return [case_series.key for case_series in all_series if case_series is not None]
