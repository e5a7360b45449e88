"""The documentation of settings is that of the table."""

from __future__ import annotations

from app.plan.settings.table import SETTINGS
from app.plan.settings_page import PLAN_PAGE, SETTINGS_PAGE, plan_page, settings_page

WRITE = "run python -m app.plan.settings_page"


def test_both_pages_are_current() -> None:
    assert SETTINGS_PAGE.read_text("utf-8") == settings_page(), WRITE
    text = PLAN_PAGE.read_text("utf-8")
    assert text == plan_page(text), WRITE


def test_every_setting_is_documented() -> None:
    settings, plan = settings_page(), PLAN_PAGE.read_text("utf-8")
    for row in SETTINGS:
        assert all(f"`{spelling}" in settings for spelling in row.spellings)
        if row.scope != "command" and not row.extends:
            assert f"| `{row.name}` | `{row.flag}` |" in plan


def test_a_help_text_fits_its_line() -> None:
    long = {row.flag: row.help for row in SETTINGS if len(row.help) > 75}
    assert not long
