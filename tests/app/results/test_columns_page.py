"""The page of columns says what the table says."""

from __future__ import annotations

from app.columns.columns_page import PAGE, page
from tests.checkout import ROOT


def test_the_page_is_made_of_the_table() -> None:
    told = (ROOT / "app" / "results" / PAGE.name).read_text("utf-8")
    assert told == page(), "run python -m app.columns.columns_page"
