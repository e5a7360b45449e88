"""Runs as the whole window shows them: beside each other, read and marked; garbage behind them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.plots.base import PlotView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.read.reading import Brush
from app.gui.window import MainWindow
from tests.app.gui.runs import measured_run, steady
from tests.app.gui.windows import activate, dialogs, open_run, seen, wait_for_summaries
from tests.app.run_folder.runs import damage_line

CASES = tuple(Case("mlp", "fake", threads=threads) for threads in (1, 2, 3))


def _run(path: Path, latency_us: float, cases: Sequence[Case]) -> Path:
    """The higher the place of a case, the slower; rounds differ by a little."""

    def latencies_us(place: int, number: int) -> list[float]:
        base = latency_us * (1 + place) * (1.0 + 0.002 * number)
        return [base + k % 7 for k in range(600)]

    return measured_run(path, cases, latencies_us, rounds=3)


def test_the_second_run_is_asked_for_its_damage_told_and_every_case_compared_and_judged(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [Case("mlp", "fake", threads=threads) for threads in range(1, 9)]
    second = _run(tmp_path / "tuesday", 197.0, cases[:-1])
    damage_line(second, len(cases) + 1)
    open_run(window, qtbot, _run(tmp_path / "monday", 100.0, cases))
    assert len(seen(window).visible_keys) < len(cases), "not only those in the plots"
    table = window.table
    qtbot.waitUntil(lambda: len(table.model.series) == len(cases), timeout=20_000)
    table.view.setCurrentIndex(table.filter.index(0, 0))
    table.toggle_baseline()

    def words() -> list[str]:
        places = [k for k, c in enumerate(table.model.columns) if c.title.startswith("p50 / ")]
        texts = [table.filter.index(row, k).data() for k in places for row in range(1, len(cases))]
        return [text.split()[-1] for text in texts if text]

    qtbot.waitUntil(lambda: words() == ["slower"] * (len(cases) - 1), timeout=60_000)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(second))
    window.actions_by_key["compare"].trigger()
    qtbot.waitUntil(lambda: bool(dialogs(window)), timeout=10_000)
    (dialog,) = dialogs(window)
    assert f"line {len(cases) + 1} of" in dialog.whole
    dialog.close()
    view = window.views.by_key["compare"]
    qtbot.waitUntil(lambda: len(view.table()[1]) == len(cases) - 1, timeout=60_000)
    assert window.frame.current == "compare"
    header, rows = view.table()
    ratios = [row[header.index("p50_ratio")] for row in rows]
    assert ratios == pytest.approx([1.97] * len(rows), rel=0.02)


class _Cycle:
    """Garbage that only a collection finds; it records the thread of its end."""

    def __init__(self, ends: list[int]) -> None:
        self.cycle, self._ends = self, ends

    def __del__(self) -> None:
        self._ends.append(threading.get_ident())


def _leave_garbage(ends: list[int]) -> None:
    """As many objects as several collections wait for, in a thread of their own."""
    limit = gc.get_threshold()[0]
    thread = threading.Thread(target=lambda: [_Cycle(ends) for _ in range(3 * limit)])
    thread.start()
    thread.join()


def test_a_thread_beside_the_window_collects_no_garbage_and_python_does_once_it_is_closed(
    window: MainWindow, qtbot: QtBot
) -> None:
    ends = list[int]()
    _leave_garbage(ends)
    assert not ends and not gc.isenabled()

    def is_collected() -> bool:
        _leave_garbage(ends)  # again: objects that end meanwhile count against those that began
        return bool(ends)

    qtbot.waitUntil(is_collected)
    assert set(ends) == {threading.main_thread().ident}
    window.close()
    window.close()
    assert gc.isenabled()


OTHERS = (CASES[0], CASES[1], Case("cnn_tiny", "fake"))


def _read_column(window: MainWindow, column: str) -> list[str]:
    """The cells below this heading, from top to bottom; none where no such column is shown."""
    table = window.table
    places = [k for k, one in enumerate(table.model.columns) if one.title == column]
    if not places or table.view.isColumnHidden(places[0]):
        return []
    rows = range(table.filter.rowCount())
    return [str(table.filter.index(row, places[0]).data()) for row in rows]


def _grey(view: HistogramView) -> list[str]:
    """The baselines that are drawn behind, by their legend lines."""
    view.refresh()
    return [e.text for e in view.legend._entries if e.text.startswith("baseline ")]


def test_another_run_is_a_baseline_of_the_cases_that_it_has(
    opened: MainWindow,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = _run(tmp_path / "tuesday", 100.0, OTHERS)
    opened.frame.show_key("histogram")
    monday = opened.views.by_key["histogram"]
    assert isinstance(monday, HistogramView)
    qtbot.waitUntil(lambda: len(monday.series) == 3, timeout=20_000)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(other))
    activate(qtbot, opened)
    ctrl, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(opened, Qt.Key.Key_B, ctrl | shift)
    qtbot.waitUntil(lambda: _grey(monday) == ["baseline tuesday"], timeout=20_000)
    grey_keys = [baseline.key for baseline in monday._grey(monday.series)]
    assert grey_keys == [CASES[0].case_id, CASES[1].case_id], "the third is not in that run"
    qtbot.waitUntil(lambda: any(_read_column(opened, "p50 / tuesday")), timeout=60_000)
    ratio = float(_read_column(opened, "p50 / tuesday")[0].split()[0])
    assert ratio == pytest.approx(54.0 / 103.0, rel=0.02)
    assert _read_column(opened, "p50 / tuesday")[2] == ""
    opened.actions_by_key["drop_baselines"].trigger()
    qtbot.waitUntil(lambda: _grey(monday) == [], timeout=20_000)
    assert _read_column(opened, "p50 / tuesday") == []


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> MainWindow:
    """Three cases; in the first every hundredth sample stalls for a millisecond."""

    def latencies_us(place: int, number: int) -> list[float]:
        plain = steady(place, number)
        return plain if place else [1000.0 if k % 100 == 99 else us for k, us in enumerate(plain)]

    open_run(window, qtbot, measured_run(tmp_path / "run", CASES, latencies_us, rounds=3))
    wait_for_summaries(window, qtbot)
    return window


def _is_lit(view: PlotView) -> bool:
    return bool(view.plots) and not view.lit_stale


def test_what_is_clicked_in_a_plot_is_selected_in_the_table_and_framed_in_plots_of_all(
    opened: MainWindow, qtbot: QtBot
) -> None:
    first, second, third = (case.case_id for case in CASES)
    opened.frame.show_key("matrix")
    heat = opened.views.by_key["matrix"]
    qtbot.waitUntil(lambda: bool(heat.plots), timeout=10_000)
    image_before = heat.canvas.grab().toImage()
    heat.picked.emit((second,), False)
    assert opened.table.selected_keys() == [second]
    (layer,) = heat.crosshair._framed.values()
    assert [spot.keys for spot in layer.spots] == [(second,)]
    assert heat.canvas.grab().toImage() != image_before
    opened.table.select([])
    assert not layer.spots
    heat.picked.emit((second,), False)
    heat.picked.emit((third,), True)
    assert opened.table.selected_keys() == [second, third]
    qtbot.wait(250)
    assert seen(opened).visible_keys == (first, second, third), "a click takes nothing out"
    opened.table.select([first])
    qtbot.waitUntil(lambda: seen(opened).visible_keys == (first,), timeout=10_000)
    opened.table.filter_box.setText("threads=2")
    heat.picked.emit((third,), False)
    assert opened.table.filter_box.text() == "", "a row that the filter hides is shown again"
    qtbot.waitUntil(lambda: seen(opened).visible_keys == (third,), timeout=10_000)


def test_a_marked_range_lights_the_same_iterations_in_every_view(
    opened: MainWindow, qtbot: QtBot
) -> None:
    opened.views.by_key["histogram"].brushed.emit(Brush("latency", 500e-6, 2e-3))
    for key in ("histogram", "percentiles", "timeline"):
        opened.frame.show_key(key)
        view = opened.views.by_key[key]
        qtbot.waitUntil(partial(_is_lit, view), timeout=10_000)
        assert view.lit is opened.feed.lit
        readout = view.crosshair.box.plain
        assert "12 samples, 1.0 % of the samples" in readout and "every 6.25 ms" in readout, key
    timeline = opened.views.by_key["timeline"]
    timeline.drop_readout()
    assert opened.feed.lit is None
    assert all(view.lit is None for view in opened.views.shown)
