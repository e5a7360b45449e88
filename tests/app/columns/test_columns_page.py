"""The page of columns says what the table says."""

from __future__ import annotations

from app.columns.columns_page import PAGE, page


def test_the_page_is_made_of_the_table() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m app.columns.columns_page"
