"""Trends: which points are on which line, where, between which ends; knee, target and validity."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import Series
from app.analysis.plot_data.settings import figures, numeric_settings
from app.capabilities.slo_search.answer import RateAnswer
from app.cases.scenario import Scenario
from app.gui.plots.axes import LogAxis
from app.gui.plots.marks import MarkLayer
from app.gui.plots.trends import TrendsView
from tests.app.gui.plots.views import figures_of, loaded, on_screen
from tests.app.gui.synthetic import series

P50 = "latency_p50_us"


def _case(p50_us: float, spread: float, threads: int = 1, **row: Any) -> Series:
    """A case with an option that is a number, and an interval of 10 % about its median."""
    case_series = series(
        "ort-cpu", "m", key=f"{spread} {threads} {row}", count=10, rounds=1, finished=False,
        threads=threads, options=f"spread={spread:g}", **row,
    )  # fmt: skip
    ends = {"latency_p50_ci_low_us": 0.9 * p50_us, "latency_p50_ci_high_us": 1.1 * p50_us}
    return replace(case_series, row={**case_series.row, P50: p50_us, **ends})


def _loaded_at(scenario: str, p50: float, **row: object) -> Series:
    """A case with these figures and nothing else."""
    case_series = series(key=f"{scenario} {row}", count=1, rounds=1, finished=False)
    case = replace(case_series.case, scenario=Scenario.parse(scenario))
    figures_of_it = {"latency_p50_us": p50, "latency_p99_us": 2 * p50}
    return replace(case_series, case=case, row={**case_series.row, **figures_of_it, **row})


@pytest.fixture
def cases() -> list[Series]:
    return [
        _case(10.0 * spread / threads, spread, threads)
        for spread in (30.0, 1.0, 3.0)
        for threads in (1, 2)
    ]


def test_points_and_intervals_lie_where_the_rows_say(qtbot: QtBot, cases: list[Series]) -> None:
    assert numeric_settings(cases) == {"threads": "Threads", "option:spread": "spread"}
    assert next(iter(figures(cases))) == P50
    assert not {"threads", "seed"} & figures(cases).keys(), "a setting; the same in all rows"
    counted = [replace(case, row={**case.row, "outliers": k}) for k, case in enumerate(cases)]
    view = on_screen(qtbot, TrendsView(), counted)
    view.over_choice.choose("option:spread")
    (layer,) = figures_of(view)
    assert isinstance(view.plots[0].getAxis("bottom"), LogAxis), "thirty times apart"
    marks = {series.name: series.marks for series in layer.figure.series}
    assert [mark.x for mark in marks[f"m ort-cpu threads 1 {P50}"]] == [1.0, 3.0, 30.0]
    assert [mark.y for mark in marks[f"m ort-cpu threads 2 {P50}"]] == [5.0, 15.0, 150.0]
    ends = [(mark.low, mark.high) for mark in marks[f"m ort-cpu threads 1 {P50}"]]
    assert ends[0] == pytest.approx((9.0, 11.0))
    header, rows = view.table()
    columns = header.index("option:spread"), header.index(P50)
    assert len(rows) == 6 and [rows[0][k] for k in columns] == [1.0, 10.0]
    view.over_choice.choose("threads")
    assert not isinstance(view.plots[0].getAxis("bottom"), LogAxis), "1 and 2 are near"
    view.figure_choice.choose("outliers")
    assert not isinstance(view.plots[0].getAxis("left"), LogAxis), "one of them is zero"
    assert view.heading._title.startswith("Outliers over")


def test_an_interval_that_would_rule_the_axis_is_cut_and_a_point_without_one_is_open(
    qtbot: QtBot,
) -> None:
    """One p50 of 12 µs with an interval to 6 s once left the data a fifth of the height."""
    wide = [_case(10.0 + spread, spread) for spread in (1.0, 2.0, 3.0)]
    for place, low_us, high_us in ((1, 4.0, 39.0), (2, None, None)):
        ends = {"latency_p50_ci_low_us": low_us, "latency_p50_ci_high_us": high_us}
        wide[place] = replace(wide[place], row={**wide[place].row, **ends})
    view = on_screen(qtbot, TrendsView(), wide)
    assert view.plots[0].viewRange()[1][1] < math.log10(39.0e-6)
    (layer,) = figures_of(view)
    assert [mark.is_hollow for mark in layer.figure.marks] == [False, False, True]


def test_a_case_that_broke_its_own_protocol_is_crossed_out(qtbot: QtBot) -> None:
    rates = [_loaded_at(f"rate:{rate}/s", 10.0) for rate in (100, 200, 400)]
    late = _loaded_at("rate:800/s", 90.0, valid=False)
    failed_case = replace(_loaded_at("rate:1600/s", 1.0), status="timeout")
    view = on_screen(qtbot, TrendsView(), [*rates, late, failed_case])
    assert "not valid, see its warnings" in [entry.text for entry in view.legend._entries]
    header, rows = view.table()
    assert [row[header.index("valid")] for row in rows] == [True, True, True, False]
    cross_series = [s for s in figures_of(view)[0].figure.series if s.symbol == "cross"]
    assert {mark.x for series in cross_series for mark in series.marks} == {800.0}


def test_over_a_rate_the_knee_and_what_a_search_found_are_marked(qtbot: QtBot) -> None:
    sentence = "ort-cpu holds 38,000/s at p99 <= 2.00 ms (limit: 38,000/s to 42,000/s)"
    rate_answer = RateAnswer("p99", 2000.0, sentence, 38_000.0, 42_000.0)
    view = on_screen(
        qtbot,
        TrendsView(),
        [replace(item, found={"slo": rate_answer}) for item in loaded()],
    )
    assert view.over_choice.value == "offered_rate_hz"
    assert sentence in view.heading._note
    (target,) = figures_of(view)[0].figure.references
    assert (target.value, target.label) == (2000.0, "p99 <= 2.00 ms")
    low, high = view.plots[0].viewRange()[1]
    assert low < math.log10(2e-3) < high, "the target is in view"

    (layer,) = (layer for layer in view._layers if isinstance(layer, MarkLayer))
    marks = [mark.text for mark in layer.marks]
    assert "holds 38.0k/s" in marks and any(mark.startswith("knee") for mark in marks)
