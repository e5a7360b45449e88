"""Colours as people see them, some of whom see fewer: and names short of room: told apart."""

from __future__ import annotations

from itertools import combinations, product, starmap

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.look.text import shorter
from app.gui.look.theme import THEMES, Theme, contrast, runtime_color
from app.gui.plots.style import apart
from app.gui.window import MainWindow
from runtimes.registry import RUNTIMES
from tests.app.gui.windows import activate


def test_distances_and_contrasts_of_colours_are_those_of_the_eye() -> None:
    """Values by Ottosson's Oklab with the vision matrices of Machado et al., and by WCAG 2."""
    black, white = QColor("#000000"), QColor("#ffffff")
    assert apart(black, white) == pytest.approx(1.0, abs=1e-3)
    assert contrast(black, white) == pytest.approx(21.0)
    assert contrast(QColor("#777777"), white) == pytest.approx(4.478, abs=1e-3)
    red, green = QColor("#c42b2b"), QColor("#6b7a2b")
    assert apart(red, green) == pytest.approx(0.01, abs=1e-4), "to some they look alike"


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_lines_texts_and_runtimes_stand_out_from_the_ground_and_apart(theme: Theme) -> None:
    assert set(RUNTIMES) <= set(theme.runtimes)
    runtimes = [runtime_color(name, theme) for name in theme.runtimes]
    assert min(starmap(apart, combinations(runtimes, 2))) > 0.05
    texts = [theme.text, theme.muted, theme.accent, theme.good, theme.warning, theme.bad]
    grounds = [theme.base, theme.stripe, theme.window, theme.raised]
    pairs = [(text, ground, 4.5) for text in texts for ground in grounds]
    pairs += [(text, theme.base, 4.5) for text in (theme.faster, theme.slower)]
    pairs += [(theme.on_accent, theme.accent, 4.5)]
    pairs += [(theme.control, ground, 3.0) for ground in grounds if ground != theme.stripe]
    pairs += [(color, theme.base, 3.0) for color in theme.hues]
    pairs += [(color.name(), theme.base, 3.0) for color in runtimes]
    for color, ground, least in pairs:
        assert contrast(QColor(color), QColor(ground)) >= least, (color, ground)


def test_the_focus_is_seen_on_every_kind_of_control(window: MainWindow, qtbot: QtBot) -> None:
    window.frame.show_key("editor")
    activate(qtbot, window)
    form = window.editor
    grid, plan = form.grid_form, form.plan_form
    controls = (grid.fields["batch_size"], plan.profile, plan.boxes["profile_ops"])
    for control in (*controls, form.footer.copy_button, form.advanced.button):
        control.setEnabled(True)
        form.close_button.setFocus()
        QApplication.processEvents()
        image_before = control.grab().toImage()
        control.setFocus()
        QApplication.processEvents()
        assert control.grab().toImage() != image_before, control.accessibleName()


def test_names_stay_apart_and_within_their_room() -> None:
    settings = product(("cnn_tiny", "mlp"), ("ort-cpu", "openvino-cpu"), (1, 2, 16))
    long_names = [f"{model} · {runtime} · batch {batch}" for model, runtime, batch in settings]
    for room in (60, 24, 18):
        names = shorter(
            [f"{name}{end}" for name in long_names for end in ("", " (doubted)")], room, len
        )
        assert len(set(names)) == 24 and max(map(len, names)) <= room
