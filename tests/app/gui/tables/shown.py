"""What stands in the rows of the results table, from above."""

from __future__ import annotations

from app.gui.tables.results import ResultsTable
from app.plot_data.series import Series


def series_shown(table: ResultsTable) -> list[Series]:
    """The case of each row; none of them may be a group's own."""
    found = [table.filter.series_at(row) for row in range(table.filter.rowCount())]
    assert None not in found
    return [one for one in found if one is not None]


def keys_shown(table: ResultsTable) -> list[str]:
    return [one.key for one in series_shown(table)]
