"""The timeline: millions of samples, none of the spikes lost, nothing read twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.series import Series, part_ns
from app.cases.telemetry import Disturbance, Reading
from app.gui.plots.timeline import TimelineView
from app.gui.plots.trace import (
    BLOCK,
    RAW_LIMIT,
    Envelope,
    RoundTimes,
    lane_names,
    lanes_of,
    told_at,
)
from app.run_folder.telemetry import RoundTelemetry
from tests.app.gui.plots.views import at, hover, on_screen
from tests.app.gui.synthetic import latencies_ns, records, series

SERVICE = partial(part_ns, part="service", from_schedule=False)


def _view(qtbot: QtBot, rounds: Sequence[np.ndarray]) -> TimelineView:
    case_series = replace(series(count=300, rounds=1), rounds=tuple(rounds))
    return on_screen(qtbot, TimelineView(), [case_series])


def test_an_envelope_that_follows_equals_one_of_the_whole() -> None:
    rows = records(latencies_ns(20.0, 20_000, 3), warmup=700)
    incremental, whole = Envelope(SERVICE), Envelope(SERVICE)
    for end in (0, 100, 5000, 5001, 12_345, 20_000):
        incremental.follow(rows[:end])
    whole.follow(rows)
    latency_s = (rows["finished_ns"] - rows["started_ns"]) * 1e-9
    blocks = latency_s[: 20_000 // BLOCK * BLOCK].reshape(-1, BLOCK)
    assert whole.greatest_s == pytest.approx(blocks.max(axis=1))
    assert whole.least_s == pytest.approx(blocks.min(axis=1))
    for name in ("start_s", "least_s", "greatest_s", "median_s"):
        assert np.array_equal(getattr(incremental, name), getattr(whole, name))
    assert incremental.warmup_end_s == whole.warmup_end_s
    assert whole.warmup_end_s == pytest.approx(rows["finished_ns"][699] * 1e-9, rel=1e-3)
    another = records(latencies_ns(40.0, 20_000, 4))
    another["started_ns"] += 1
    incremental.follow(another)
    assert incremental.least_s.min() > 30e-6, "of a round that began anew nothing old stays"


def test_one_slow_sample_among_a_million_is_drawn_and_zooming_in_draws_the_samples_themselves(
    qtbot: QtBot,
) -> None:
    latency = latencies_ns(20.0, 1_000_000, 1, tail=0.0)
    latency[654_321] = 7_000_000
    rows = records(latency)
    view = _view(qtbot, [rows])
    plot = view.plots[0]
    curves = [curve.yData for curve in plot.listDataItems() if curve.yData is not None]
    assert 10.0 ** max(float(np.nanmax(y)) for y in curves) == pytest.approx(7e-3)
    samples = plot.listDataItems()[0]
    assert len(samples.xData) < RAW_LIMIT
    middle = float(rows["started_ns"][200_000]) * 1e-9
    plot.getViewBox().sigRangeChangedManually.emit([True, False])
    plot.setXRange(middle, middle + 0.01, padding=0)
    view.refresh()
    starts = (rows["started_ns"] - rows["started_ns"][0]) * 1e-9
    counts = [int(((x >= middle) & (x <= middle + 0.01)).sum()) for x in (samples.xData, starts)]
    assert counts[0] == counts[1] > 0


def test_rounds_stand_one_after_another_with_their_warm_up_shaded(qtbot: QtBot) -> None:
    rounds = [records(latencies_ns(20.0, 3000, k), warmup=400) for k in range(3)]
    view = _view(qtbot, rounds)
    shade = next(iter(view._shades.values()))
    lengths = [(r["finished_ns"][-1] - r["started_ns"][0]) * 1e-9 for r in rounds]
    assert shade._offsets == pytest.approx([0.0, lengths[0], lengths[0] + lengths[1]])
    for (begin, end), rows, offset in zip(shade._warm, rounds, shade._offsets, strict=True):
        assert begin == offset
        warm = (rows["finished_ns"][399] - rows["started_ns"][0]) * 1e-9
        assert end - begin == pytest.approx(warm)


def test_by_the_clock_a_disturbance_is_at_one_place_in_all_cases(qtbot: QtBot) -> None:
    """By rounds, cases that were disturbed at the same moment show it at different places."""
    cases = [series("fpga:v80", key="c", count=300, clock="simulated")]
    for key, begun_s in (("a", 5.0), ("b", 6.5)):
        rows = records(latencies_ns(20.0, 2_000, 1))
        for name in ("started_ns", "finished_ns", "scheduled_ns"):
            rows[name] += int(begun_s * 1e9)
        cases.append(replace(series(key=key, count=300, rounds=1), rounds=(rows,)))
    view = on_screen(qtbot, TimelineView(), cases)

    def begins() -> dict[str, float]:
        return {key: envelopes[0].offset_s for key, envelopes in view._drawn.items()}

    view.time_choice.choose("clock")
    assert begins() == pytest.approx({"a": 0.0, "b": 1.5}), "a simulated card has no clock time"
    assert 1.5 < view.plots[0].viewRange()[0][1] < 2.0
    drawn = [plot.listDataItems()[0].xData[0] for plot in view.plots]
    assert drawn == pytest.approx([0.0, 1.5]), "from the first sample on"
    view.time_choice.choose("rounds")
    assert begins() == {"a": 0.0, "b": 0.0, "c": 0.0}
    view.set_series([replace(case, row={**case.row, "warnings": "busy"}) for case in cases])
    view.refresh()
    assert {trace._style.standing for trace in view._traces.values()} == {"doubted"}


MS = 1_000_000


@pytest.fixture
def recorded() -> Series:
    """Two rounds of 10 ms, the second with more beside it."""
    rows = records(np.full(100, 100_000, np.int64))
    readings = (
        Reading(0, "gpu:0", clock_mhz=1800.0, temperature_c=60.0, throttle=()),
        Reading(5 * MS, "gpu:0", clock_mhz=1500.0, throttle=("thermal",)),
    )
    disturbance = Disturbance(2 * MS, 3 * MS, steal_ms=4.0, involuntary_switches=1)
    second = RoundTelemetry(readings, (disturbance,), cpu_mhz=2400.0, load=0.5)
    plain = series(count=10, rounds=2)
    return replace(plain, rounds=(rows, rows), watched=(RoundTelemetry(), second))


def test_lanes_hold_what_was_told_from_one_reading_to_the_next(recorded: Series) -> None:
    times = [RoundTimes(0.0, 0.01, 0), RoundTimes(0.01, 0.02, 0)]
    lanes = {lane.name: lane for lane in lanes_of(recorded.watched, times)}
    assert tuple(lanes) == lane_names(recorded.watched)
    assert set(lanes) == {
        "CPU clock", "gpu:0 clock", "gpu:0 temperature", "gpu:0 throttle", "came between", "load",
    }  # fmt: skip
    assert lanes["gpu:0 clock"].at(0.005) is None, "nothing was recorded in the first round"
    clock = [lanes["gpu:0 clock"].at(time_s) for time_s in (0.012, 0.017)]
    assert [stretch and stretch.text for stretch in clock] == ["1800 MHz", "1500 MHz"]
    assert [s.amiss for s in lanes["gpu:0 throttle"].stretches] == [False, True]
    interruption = lanes["came between"].at(0.0125)
    assert interruption is not None and interruption.text == "4.0 ms stolen, 1 switch"
    assert "load 0.50" in told_at(tuple(lanes.values()), 0.013)
    assert told_at(tuple(lanes.values()), 0.001) == ""


def test_the_timeline_has_lanes_below_the_samples_and_reads_them(
    qtbot: QtBot, recorded: Series
) -> None:
    view = on_screen(qtbot, TimelineView(), [recorded])
    assert len(view.plots) == 2 and view._lanes
    readout = hover(view, at(view, 0.0125, 0.0, plot=1))
    assert readout.startswith("CPU clock\n2400 MHz")
    upper_range, lower_range = (plot.viewRange()[0] for plot in view.plots)
    assert lower_range == pytest.approx(upper_range), "over the same time"
    readout = hover(view, at(view, 0.0125, -4.0))
    assert "4.0 ms stolen" in readout, "a sample says what was beside it"
    view.lanes_box.setChecked(False)
    assert len(view.plots) == 1
