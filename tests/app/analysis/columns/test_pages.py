"""Generated pages say what their tables say."""

from __future__ import annotations

from app.analysis.columns import columns_page, diagnostics_page


def test_the_pages_are_made_of_the_tables() -> None:
    for made in (columns_page, diagnostics_page):
        assert made.PAGE.read_text("utf-8") == made.page(), f"run python -m {made.__name__}"
