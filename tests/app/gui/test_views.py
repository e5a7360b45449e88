"""The table of views, and every view of runs of one, six and forty series."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.gui.views import VIEWS, Fed, Views
from tests.checkout import ROOT


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


@pytest.mark.rare
@pytest.mark.timeout(900)
def test_a_window_that_has_shown_everything_still_stands(tmp_path: Path) -> None:
    """Qt once painted what had been deleted, after some forty views on a large screen."""
    command = [sys.executable, "-m", "tests.desktop.grabs", str(tmp_path), "1920x1080"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    for theme in ("light", "dark"):
        pictures = {path.stem for path in (tmp_path / f"1920x1080-{theme}").glob("*.png")}
        view_keys = {spec.key for spec in VIEWS if any(spec.key in name for name in pictures)}
        assert view_keys == {spec.key for spec in VIEWS}
