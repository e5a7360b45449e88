"""Latency over the rate and over the gap: which cases make a curve, and what it shows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.capabilities.slo_search.answer import RateAnswer
from app.cases.scenario import Scenario
from app.gui.plots.load import LoadView
from app.gui.plots.rate_marks import RateMarks, TargetLine
from app.plot_data.curves import curves
from app.plot_data.series import Series
from tests.app.gui.plots.views import loaded, on_screen
from tests.app.gui.synthetic import series


def _at(scenario: str, p50: float, p99: float, runtime: str = "ort-cpu", **row: object) -> Series:
    """A case with these figures and nothing else."""
    one = series(runtime, key=f"{runtime} {scenario} {row}", count=1, rounds=1, finished=False)
    case = replace(one.case, scenario=Scenario.parse(scenario), runtime=runtime)
    figures = {"latency_p50_us": p50, "latency_p99_us": p99}
    return replace(one, case=case, row={**one.row, **figures, **row})


def _paced(*gaps: str, runtime: str = "ort-cpu") -> list[Series]:
    return [_at(f"paced:{gap}", 10.0 + k, 20.0 + k, runtime) for k, gap in enumerate(gaps)]


def test_cases_that_differ_in_their_load_alone_make_a_curve() -> None:
    cases = [
        *_paced("1ms", "20us", "100us"),
        *_paced("20us", "1ms", runtime="torch-cpu"),
        *(_at(f"poisson:{rate}/s", 10.0, 20.0) for rate in (400, 100, 200)),
        series(key="closed"),
    ]
    gap, rate = curves(cases)
    assert (gap.over, gap.places()) == ("gap", [20.0, 100.0, 1000.0])
    assert (rate.over, rate.places()) == ("rate", [100.0, 200.0, 400.0])
    assert [gap.name, rate.name] == ["ort-cpu", "ort-cpu"], "two gaps of torch-cpu are no curve"


def test_even_and_poisson_arrivals_are_curves_of_their_own() -> None:
    cases = [_at(f"{k}:{r}/s", 10.0, 20.0) for k in ("rate", "poisson") for r in (100, 200, 400)]
    assert [curve.name for curve in curves(cases)] == ["ort-cpu rate", "ort-cpu poisson"]


def test_a_case_that_failed_is_no_point_and_one_that_is_not_valid_is_crossed_out(
    qtbot: QtBot,
) -> None:
    cases = [_at(f"rate:{rate}/s", 10.0, 20.0) for rate in (100, 200, 400)]
    late = _at("rate:800/s", 90.0, 200.0, valid=False)
    failed = replace(_at("rate:1600/s", 1.0, 1.0), status="timeout")
    (curve,) = curves([*cases, late, failed])
    assert curve.places() == [100.0, 200.0, 400.0, 800.0]
    view = on_screen(qtbot, LoadView(), [*cases, late, failed])
    assert "not valid, see its warnings" in [entry.text for entry in view.legend._entries]
    header, rows = view.table()
    assert [row[header.index("valid")] for row in rows] == [True, True, True, False]


@pytest.mark.parametrize(
    ("p50_us", "knee"),
    [
        ((10, 10, 11, 13, 20, 400), 500.0),  # rates over p50: 10, 20, 27, 38, 25, 1.5
        ((10, 10, 10, 10, 10, 10), None),
        ((10, 25, 40, 80, 160, 320), 100.0),
    ],
)
def test_the_knee_is_where_a_queue_does_most_for_its_wait(
    p50_us: tuple[float, ...], knee: float | None
) -> None:
    rates = (100, 200, 300, 500, 510, 600)
    cases = [_at(f"rate:{r}/s", us, 2 * us) for r, us in zip(rates, p50_us, strict=True)]
    (curve,) = curves(cases)
    assert curve.knee_hz() == knee


def test_the_view_offers_rate_and_gap_where_a_run_has_them(qtbot: QtBot) -> None:
    view = on_screen(qtbot, LoadView(), _paced("20us", "1ms"))
    assert "Measure a model at 3 rates" in view._missing.text()
    view.set_series(_paced("20us", "100us", "1ms"))
    view.refresh()
    assert [view.over_choice.itemData(k) for k in range(view.over_choice.count())] == ["gap"]
    assert view.heading._title == "Latency over the gap"
    view.set_series([*_paced("20us", "100us", "1ms"), *loaded()])
    view.refresh()
    view.over_choice.choose("rate")
    assert view.heading._title == "Latency over the rate"
    assert any(entry.text.startswith("knee") for entry in view.legend._entries)


def test_a_search_shows_what_it_was_to_keep_and_what_it_found(qtbot: QtBot) -> None:
    told = "ort-cpu holds 38,000/s at p99 <= 2.00 ms (limit: 38,000/s to 42,000/s)"
    found = RateAnswer("p99", 2000.0, told, 38_000.0, 42_000.0)
    view = on_screen(qtbot, LoadView(), [replace(one, sought=found) for one in loaded()])
    assert view.heading._note.startswith(told)
    (target,) = [layer for layer in view._layers if isinstance(layer, TargetLine)]
    (marks,) = [layer for layer in view._layers if isinstance(layer, RateMarks)]
    assert target._text == "p99 <= 2.00 ms"
    assert target.boundingRect().contains(1.0, target.y_px(math.log10(2e-3))), "it is in view"
    assert "holds 38.0k/s" in [mark.text for mark in marks._marks]
    view.set_series([replace(one, sought=RateAnswer("p99", 2000.0)) for one in loaded()])
    view.refresh()
    (marks,) = [layer for layer in view._layers if isinstance(layer, RateMarks)]
    assert not any("holds" in mark.text for mark in marks._marks), "it goes on"


def test_the_csv_has_every_point_with_its_intervals(qtbot: QtBot) -> None:
    view = on_screen(qtbot, LoadView(), [*_paced("20us", "100us", "1ms"), *loaded()])
    header, rows = view.table()
    told = [dict(zip(header, row, strict=True)) for row in rows]
    assert [one["gap_us"] for one in told] == [20.0, 100.0, 1000.0, *[None] * 5]
    assert [one["offered_rate_hz"] for one in told][3:] == [5_000, 10_000, 20_000, 40_000, 48_000]
    assert told[0]["scenario"] == "paced:20us" and told[0]["latency_p99_us"] == 20.0
    low, high = (told[4][f"latency_p50_ci_{end}_us"] for end in ("low", "high"))
    assert isinstance(low, float) and isinstance(high, float) and low < high


def test_the_keyboard_zooms_and_moves_the_curve(qtbot: QtBot) -> None:
    view = on_screen(qtbot, LoadView(), loaded())
    with qtbot.waitActive(view):
        view.activateWindow()
    view.over_choice.setFocus()
    before = view.plots[0].viewRange()[0]
    QTest.keyClick(view.over_choice, Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
    low, high = view.plots[0].viewRange()[0]
    assert high - low == pytest.approx(0.8 * (before[1] - before[0]))
    QTest.keyClick(view.over_choice, Qt.Key.Key_0, Qt.KeyboardModifier.ControlModifier)
    assert view.plots[0].viewRange()[0] == pytest.approx(before)
