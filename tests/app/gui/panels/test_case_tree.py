"""The case tree by mouse and keys: what it says, hides, shows alone, moves and lights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTreeWidgetItem
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import Series
from app.capabilities.largest_batch.present import LargestBatchView
from app.gui.panels.case_tree import CaseTree
from app.gui.plots.distributions import PercentileView
from app.gui.plots.figure_view import CapabilityView, FigureLayer
from app.gui.plots.histogram import HistogramView
from app.gui.plots.ranking import RankingView
from app.gui.plots.trends import TrendsView
from tests.app.gui.plots.views import finished, grid, many, on_screen

Views = tuple[HistogramView, PercentileView]


def _show_cases(qtbot: QtBot, cases: Sequence[Series]) -> CaseTree:
    panel = CaseTree()
    qtbot.addWidget(panel)
    panel.resize(300, 400)
    panel.show()
    qtbot.waitExposed(panel)
    panel.set_series(cases)
    return panel


def _with_views(qtbot: QtBot, cases: Sequence[Series]) -> tuple[CaseTree, Views]:
    views = (HistogramView(), PercentileView())
    panel = _show_cases(qtbot, cases)
    for view in views:
        on_screen(qtbot, view, cases)
        panel.arranged.connect(view.arrange)
    return panel, views


def _row(panel: CaseTree, key: str) -> QTreeWidgetItem:
    return panel.rows._by_key[key]


def _drawn(views: Views) -> list[list[str]]:
    for view in views:
        view.refresh()
    return [[case_series.key for case_series in view.series] for view in views]


def test_it_says_what_sets_series_apart_and_their_figures(qtbot: QtBot) -> None:
    panel = _show_cases(qtbot, grid(("cnn", "lstm"), batches=(4,), finished=True))
    assert panel.shared_label.text() == "ort-cpu · batch 4"
    assert [line.name for line in panel.rows.lines] == ["cnn", "lstm"]
    p50_us = [float(line.p50.removesuffix(" µs")) for line in panel.rows.lines]
    assert p50_us == pytest.approx([20.0, 25.0], rel=0.04)
    measuring = _show_cases(qtbot, many(2))
    assert measuring.rows.lines[0].p50.startswith("~"), "known from bins alone"


def test_a_check_mark_hides_a_series_in_every_view_which_say_how_to_see_all_again(
    qtbot: QtBot,
) -> None:
    keys = [case_series.key for case_series in many(3)]
    panel, views = _with_views(qtbot, many(3))
    panel.rows.setFocus()

    def press_space(key: str) -> list[list[str]]:
        panel.rows.setCurrentItem(_row(panel, key))
        QTest.keyClick(panel.rows, Qt.Key.Key_Space)
        return _drawn(views)

    assert press_space(keys[1]) == [[keys[0], keys[2]]] * 2
    assert press_space(keys[1]) == [keys] * 2
    assert [press_space(key) for key in keys][-1] == [[]] * 2
    assert all("hidden" in view._missing.text() for view in views)
    panel.all_button.click()
    assert _drawn(views) == [keys] * 2
    assert not any(view._missing.isVisible() for view in views)


def test_a_case_keeps_its_colour_whatever_a_view_lists_and_in_which_order(qtbot: QtBot) -> None:
    cases = [replace(case, label=case.key) for case in finished()]
    panel = _show_cases(qtbot, cases[:2])
    panel.set_cases(cases)
    swatches = {line.key: line.style.color for line in panel.rows.lines}
    for chosen in (cases, cases[1:]):
        ranking, trends, largest = RankingView(), TrendsView(), CapabilityView(LargestBatchView())
        for view in (ranking, trends, largest):
            view.arrange(panel.arrangement)
            on_screen(qtbot, view, chosen)
        for view in (ranking, trends, largest):
            layers = [layer for layer in view._layers if isinstance(layer, FigureLayer)]
            assert layers
            for layer in layers:
                for marks in layer.figure.series:
                    color = layer._styles[marks.name].color
                    assert color in list(swatches.values())
                    same = [swatches[key] == color for key in marks.cases]
                    assert view is not ranking or all(same)
