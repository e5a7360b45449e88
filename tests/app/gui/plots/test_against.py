"""A figure against a setting: which points are on which line, where, and between which ends."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pyqtgraph as pg
import pytest
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

from app.cases.scenario import Scenario
from app.gui.plots.against import AgainstView
from app.gui.plots.axes import LogAxis
from app.plot_data.series import Series
from app.plot_data.settings import figures, lines, numeric_settings
from tests.app.gui.plots.views import on_screen
from tests.app.gui.synthetic import series

P50 = "latency_p50_us"


def _case(p50_us: float, spread: float, threads: int = 1, **row: Any) -> Series:
    """A case with an option that is a number, and an interval of 10 % about its median."""
    one = series(
        "ort-cpu", "m", key=f"{spread} {threads} {row}", count=10, rounds=1, finished=False,
        threads=threads, options=f"spread={spread:g}", **row,
    )  # fmt: skip
    ends = {"latency_p50_ci_low_us": 0.9 * p50_us, "latency_p50_ci_high_us": 1.1 * p50_us}
    return replace(one, row={**one.row, P50: p50_us, **ends})


@pytest.fixture
def cases() -> list[Series]:
    return [
        _case(10.0 * spread / threads, spread, threads)
        for spread in (30.0, 1.0, 3.0)
        for threads in (1, 2)
    ]


def test_every_number_that_varies_can_go_across_and_every_figure_up(cases: list[Series]) -> None:
    assert numeric_settings(cases) == {"threads": "Threads", "option:spread": "spread"}
    assert next(iter(figures(cases))) == P50
    assert "threads" not in figures(cases)
    assert "seed" not in figures(cases), "the same in all rows"


def test_what_else_differs_is_a_line_of_its_own_by_rising_x(cases: list[Series]) -> None:
    found = {line.name: [x for x, _ in line.points] for line in lines(cases, "option:spread")}
    assert found == {
        "ort-cpu threads 1": [1.0, 3.0, 30.0],
        "ort-cpu threads 2": [1.0, 3.0, 30.0],
    }
    assert len(lines(cases, "threads")) == 3


def test_gaps_that_differ_are_one_line_though_their_scenarios_are_three() -> None:
    paced = [
        replace(
            one,
            case=replace(one.case, scenario=Scenario.parse(f"paced:{gap}us")),
            row={**one.row, "gap_us": float(gap), "scenario": f"paced:{gap}us"},
        )
        for gap in (20, 40, 80)
        for one in [_case(float(gap), 1.0, key_of=gap)]
    ]
    (line,) = lines(paced, "gap_us")
    assert [x for x, _ in line.points] == [20.0, 40.0, 80.0]


def test_points_and_intervals_lie_where_the_rows_say(qtbot: QtBot, cases: list[Series]) -> None:
    view = on_screen(qtbot, AgainstView(), cases)
    view.over_choice.choose("option:spread")
    (plot,) = view.plots
    assert isinstance(plot.getAxis("bottom"), LogAxis), "thirty times apart"
    curves = [item for item in plot.listDataItems() if isinstance(item, pg.PlotDataItem)]
    assert len(curves) == 2
    for curve in curves:
        assert curve.xData == pytest.approx([0.0, math.log10(3.0), math.log10(30.0)])
    heights = sorted(curve.yData[0] for curve in curves)
    assert heights == pytest.approx([math.log10(5e-6), math.log10(10e-6)])
    header, rows = view.table()
    assert header[3:] == ["option:spread", P50, "latency_p50_ci_low_us", "latency_p50_ci_high_us"]
    assert len(rows) == 6
    assert rows[0] == ["m", "ort-cpu threads 1", "wall", 1.0, 10.0, 9.0, 11.0]
    view.over_choice.choose("threads")
    assert not isinstance(view.plots[0].getAxis("bottom"), LogAxis), "1 and 2 are near"


def test_a_figure_with_a_zero_is_not_on_a_logarithmic_axis(
    qtbot: QtBot, cases: list[Series]
) -> None:
    counted = [replace(one, row={**one.row, "outliers": k}) for k, one in enumerate(cases)]
    view = on_screen(qtbot, AgainstView(), counted)
    view.figure_choice.choose("outliers")
    assert not isinstance(view.plots[0].getAxis("left"), LogAxis)
    assert view.heading._title.startswith("Outliers against")


def test_one_value_of_each_says_what_to_measure(qtbot: QtBot, cases: list[Series]) -> None:
    view = on_screen(qtbot, AgainstView(), cases[:1])
    assert "measure several sizes" in view._missing.text()


def test_the_values_that_a_sweep_chose_are_the_ticks(qtbot: QtBot, cases: list[Series]) -> None:
    """An axis of batches 1, 4 and 16 told 2, 5 and 10, where nothing was measured."""
    view = on_screen(qtbot, AgainstView(), cases)
    for setting, told in (("option:spread", ["1", "3", "30"]), ("threads", ["1", "2"])):
        view.over_choice.choose(setting)
        assert _told(view.plots[0].getAxis("bottom")) == told
    view.over_choice.choose("option:spread")
    view.set_series([_case(10.0 * spread, float(spread)) for spread in range(1, 41)])
    view.refresh()
    assert 2 < len(_told(view.plots[0].getAxis("bottom"))) < 20, "of forty those with room"


def _told(axis: pg.AxisItem) -> list[str]:
    """The texts of its ticks, as they are painted."""
    picture = QImage(10, 10, QImage.Format.Format_RGB888)
    painter = QPainter(picture)
    specs: Any = axis.generateDrawSpecs(painter)
    painter.end()
    return [text for _, _, text in specs[2]]
