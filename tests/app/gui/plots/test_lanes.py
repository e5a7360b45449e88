"""Lanes below the timeline: what the run folder has of the machine, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.telemetry import Disturbance, Interference, Reading
from app.gui.plots.lanes import RoundTimes, disturbance_text, lane_names, lanes_of, told_at
from app.gui.plots.timeline import TimelineView
from app.plot_data.series import Series
from app.run_folder.telemetry import RoundTelemetry
from app.runs.following.reader import RunReader
from tests.app.gui.plots.read.pointing import at, hover
from tests.app.gui.plots.views import on_screen
from tests.app.gui.runs import new_run, records, sample_path
from tests.app.gui.synthetic import series

CASE = Case("cnn_tiny", "fake")
MS = 1_000_000


def _readings(begin_ns: int) -> list[Reading]:
    return [
        Reading(begin_ns, "gpu:0", clock_mhz=1800.0, temperature_c=60.0, throttle=()),
        Reading(begin_ns + 5 * MS, "gpu:0", clock_mhz=1500.0, throttle=("thermal",)),
    ]


@pytest.fixture
def recorded(tmp_path: Path) -> Series:
    """A case of a run folder: two rounds of 10 ms, the second with more beside it."""
    rows = records([100.0] * 100)
    with new_run(tmp_path / "run", [CASE], rounds=2) as folder:
        for number in (0, 1):
            sample_path(folder, CASE, number).write_bytes(rows.tobytes())
            disturbance = Disturbance(2 * MS, 3 * MS, steal_ms=4.0, involuntary_switches=1)
            folder.record(
                RoundResult(
                    CASE.case_id,
                    number,
                    "ok",
                    samples=sample_path(folder, CASE, number).name,
                    iterations=100,
                    environment={"cpu_mhz": 2400.0, "load_1min": 0.5} if number else {},
                    interference=Interference(0.01, disturbances=(disturbance,))
                    if number
                    else None,
                )
            )
        folder.record_readings(CASE.case_id, 1, _readings(0))
    reader = RunReader(tmp_path / "run")
    state = reader.poll()
    reader.close()
    assert state is not None
    return state.series[0]


def test_a_series_has_what_the_run_folder_recorded_beside_each_round(recorded: Series) -> None:
    first, second = recorded.watched
    assert first == RoundTelemetry()
    assert (second.cpu_mhz, second.load) == (2400.0, 0.5)
    assert list(second.readings) == _readings(0)
    assert [disturbance.steal_ms for disturbance in second.disturbances] == [4.0]


def test_lanes_hold_what_was_told_from_one_reading_to_the_next(recorded: Series) -> None:
    times = [RoundTimes(0.0, 0.01, 0), RoundTimes(0.01, 0.02, 0)]
    lanes = {lane.name: lane for lane in lanes_of(recorded.watched, times)}
    assert tuple(lanes) == lane_names(recorded.watched)
    assert set(lanes) == {
        "CPU clock", "gpu:0 clock", "gpu:0 temperature", "gpu:0 throttle", "came between", "load",
    }  # fmt: skip
    assert lanes["gpu:0 clock"].at(0.005) is None, "nothing was recorded in the first round"
    texts = [
        stretch.text for time_s in (0.012, 0.017) if (stretch := lanes["gpu:0 clock"].at(time_s))
    ]
    assert texts == ["1800 MHz", "1500 MHz"]
    throttle = lanes["gpu:0 throttle"]
    assert [s.amiss for s in throttle.stretches] == [False, True]
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


def test_a_range_marked_over_the_lanes_is_of_the_samples_above(
    qtbot: QtBot, recorded: Series
) -> None:
    view = on_screen(qtbot, TimelineView(), [recorded])
    series_plot, lanes = view.plots
    assert view.brush_between(lanes, 0.0, 0.005) == view.brush_between(series_plot, 0.0, 0.005)
    assert view.brush_between(lanes, 0.0, 0.005) is not None


def test_a_machine_that_tells_nothing_has_no_lanes(qtbot: QtBot) -> None:
    case_series = series(count=300, rounds=2)
    view = on_screen(
        qtbot, TimelineView(), [replace(case_series, watched=(RoundTelemetry(), RoundTelemetry()))]
    )
    assert len(view.plots) == 1 and not view._lanes


def test_many_cases_leave_no_room_for_lanes(qtbot: QtBot) -> None:
    telemetry = (RoundTelemetry(cpu_mhz=2400.0),)
    cases = [replace(series(key=str(k), count=50, rounds=1), watched=telemetry) for k in range(4)]
    view = on_screen(qtbot, TimelineView(), cases)
    assert not view._lanes
    view.set_series(cases[:3])
    view.refresh()
    assert len(view._lanes) == 3


def test_what_came_between_is_told_in_words() -> None:
    disturbance = Disturbance(0, 1, 0.0, 3, 1, many_interrupts=True, low_clock=True)
    assert (
        disturbance_text(disturbance) == "3 switches, 1 page from disk, many interrupts, low clock"
    )
