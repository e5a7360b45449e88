"""The table of views against the views themselves."""

from __future__ import annotations

from collections.abc import Sequence

from pytestqt.qtbot import QtBot

from app.gui.views import VIEWS, Fed, Views


def test_every_view_can_be_fed_with_what_its_row_says(qtbot: QtBot) -> None:
    views = Views()
    views_by_feed: dict[Fed, Sequence[object]] = {
        "shown": views.shown,
        "all": views.all,
        "pair": views.pair,
        "history": views.past,
        "details": views.details,
        "card": views.card,
    }
    for spec in VIEWS:
        qtbot.addWidget(views.by_key[spec.key])
        assert views.by_key[spec.key] in views_by_feed[spec.fed], spec.key
