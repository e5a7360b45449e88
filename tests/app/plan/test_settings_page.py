"""The documentation of settings is that of the table."""

from __future__ import annotations

from app.plan.settings.table import SETTINGS
from app.plan.settings_page import PAGE, settings_page


def test_the_page_is_current() -> None:
    text = PAGE.read_text("utf-8")
    assert text == settings_page(), "run python -m app.plan.settings_page"
    assert all(f"`{row.flag}" in text for row in SETTINGS)


def test_a_help_text_fits_its_line() -> None:
    long = {row.flag: row.help for row in SETTINGS if len(row.help) > 75}
    assert not long
