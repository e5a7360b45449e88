"""Generated pages say what their tables say."""

from __future__ import annotations

from app.analysis.columns.pages import (
    COLUMNS_PAGE,
    DIAGNOSTICS_PAGE,
    columns_page,
    diagnostics_page,
)


def test_the_pages_are_made_of_the_tables() -> None:
    for path, made in ((COLUMNS_PAGE, columns_page()), (DIAGNOSTICS_PAGE, diagnostics_page())):
        assert path.read_text("utf-8") == made, "run python -m app.analysis.columns.pages"
