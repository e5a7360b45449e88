"""Change points, and what the series of a machine share."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.stats.change_points import (
    MINIMUM_RUNS,
    MINIMUM_SERIES,
    change_points,
    common_factor,
)
from tests.simulated.histories import STATIONARY, boots, gaussian, history, machine_history


def drawn(seed: int, runs: int, slower: slice = slice(0, 0), change: float = 0.05) -> list[float]:
    return history(np.random.default_rng(seed), gaussian, runs, slower=slower, change=change)


def others(count: int) -> list[list[float]]:
    """Series that never move, which are looked at too and so make each other's test harder."""
    return [[100.0] * MINIMUM_RUNS] * count


@pytest.mark.parametrize("name", STATIONARY)
@pytest.mark.parametrize(("runs", "series", "tries"), [(10, 1, 150), (24, 1, 150), (16, 8, 30)])
def test_a_history_without_a_change_shows_none(
    name: str, runs: int, series: int, tries: int
) -> None:
    """With no band, which would only hide more; three standard errors above 5 %."""
    rng = np.random.default_rng(1)
    wrong = sum(
        any(change_points([history(rng, STATIONARY[name], runs) for _ in range(series)], 0.0))
        for _ in range(tries)
    )
    assert wrong / tries <= 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / tries)


@pytest.mark.parametrize("beside", [0, 99])
def test_a_slowdown_of_5_percent_is_found_among_a_hundred_series(beside: int) -> None:
    detections = 0
    for seed in range(60):
        slower = drawn(seed, 20, slice(10, None))
        changes = change_points([slower, *others(beside)])[0]
        detections += len(changes) == 1 and abs(changes[0].place - 10) <= 1 and changes[0].ratio > 1
    assert detections / 60 >= 0.9


def test_a_slowdown_is_told_after_four_runs_and_two_moves_are_two_changes() -> None:
    """Of a level that rises twice, the second is found in what the first parts."""
    late = change_points([drawn(1, 30, slice(26, None)), *others(19)])[0]
    assert [change.place for change in late] == [26]
    mended = change_points([drawn(2, 30, slice(10, 20)), *others(19)])[0]
    assert [change.place for change in mended] == [10, 20]
    assert mended[0].ratio > 1 > mended[1].ratio
    assert mended[1].previous_level == mended[0].new_level
    (rising,) = change_points([[level for level in (100.0, 110.0, 130.0) for _ in range(15)]])
    assert [change.place for change in rising] == [15, 30]
    assert [change.previous_level for change in rising] == pytest.approx([100.0, 110.0])


def test_what_is_told_of_a_change_are_the_medians_on_both_sides() -> None:
    """Nine runs are too few, and cost other series nothing."""
    series = [100.0, 101.0, 102.0, 103.0, 104.0, 110.0, 111.0, 112.0, 113.0, 114.0]
    none, (change,) = change_points([[100.0] * 4 + [200.0] * 5, series])
    assert none == () and change_points([series]) == [(change,)]
    assert change.place == 5
    assert [change.previous_level, change.new_level] == pytest.approx([102.0, 112.0])
    # Of the 252 ways to choose five runs 2 part them as cleanly; doubled for steps and episodes.
    assert change.p_value == pytest.approx(4 / 252, abs=0.01)
    same, (change,) = change_points([[7.5] * 30, [7.5] * 15 + [8.5] * 15])
    assert same == () and change.place == 15
    assert [change.previous_level, change.new_level] == pytest.approx([7.5, 8.5])


def test_a_move_within_the_band_is_none() -> None:
    series = drawn(3, 40, slice(20, None), change=0.015)
    quiet = [figure**0.2 * 100.0**0.8 for figure in series]
    assert change_points([drawn(3, 40, slice(20, None), change=0.05)], 0.02)[0]
    assert change_points([quiet], 0.0)[0] and not change_points([quiet], 0.02)[0]


def test_one_bad_night_is_no_change_and_hides_none() -> None:
    series = drawn(4, 30)
    series[12] *= 5.0
    assert change_points([series])[0] == ()
    series[20:] = [figure * 1.05 for figure in series[20:]]
    assert [change.place for change in change_points([series])[0]] == [20]


def test_a_factor_of_all_series_is_found() -> None:
    rng = np.random.default_rng(1)
    truth = boots(rng, 60)
    logs = np.log(np.array(machine_history(rng, truth, 20)))
    factor = common_factor(logs)
    assert factor is not None
    error = np.std(factor - truth)
    assert error < 2.0 * 1.2533 * 0.01 / np.sqrt(20), "twice what a median of 20 has"
    assert np.median(factor) == pytest.approx(0.0, abs=1e-12)


def test_a_change_of_one_series_is_not_the_machines() -> None:
    rng = np.random.default_rng(2)
    logs = np.log(np.array(machine_history(rng, np.zeros(40), 5, spread=0.002)))
    logs[0, 20:] += 0.2
    factor = common_factor(logs)
    assert factor is not None
    assert np.abs(factor).max() < 0.02


def test_a_very_quiet_series_does_not_become_the_factor() -> None:
    rng = np.random.default_rng(3)
    logs = 0.02 * rng.standard_normal((5, 40))
    logs[0] = 1e-6 * rng.standard_normal(40)
    logs[0, 20:] += 0.1
    factor = common_factor(logs)
    assert factor is not None
    assert abs(np.median(factor[20:]) - np.median(factor[:20])) < 0.03


def test_too_few_series_have_no_factor_and_a_run_with_too_few_has_that_of_the_one_before() -> None:
    rng = np.random.default_rng(4)
    logs = np.log(np.array(machine_history(rng, boots(rng, 30), 5, spread=0.001)))
    assert common_factor(logs[: MINIMUM_SERIES - 1]) is None
    logs[2:, 10] = np.nan
    factor = common_factor(logs)
    assert factor is not None and np.isfinite(factor).all()
    assert factor[10] == factor[9]
    assert common_factor(np.full((3, 4), np.nan)) is None


def _alarm_and_found(
    rng: np.random.Generator, series: int, tries: int, change: float
) -> tuple[float, float]:
    """In which share of histories of a machine that is booted now and then an unchanged series
    shows a change, and in which the change of the first is found in its place or beside it."""
    alarms = detections = 0
    for _ in range(tries):
        history = machine_history(rng, boots(rng, 40), series, slower=slice(30, 40), change=change)
        logs = np.log(np.array(history))
        factor = common_factor(logs)
        assert factor is not None
        changes = change_points(np.exp(logs - factor).tolist())
        alarms += any(changes[1:])
        detections += any(abs(change_point.place - 30) <= 1 for change_point in changes[0])
    return alarms / tries, detections / tries


@pytest.mark.parametrize("series", [3, 20])
def test_boots_are_no_changes_of_cases_and_a_slowdown_is_still_found(series: int) -> None:
    alarms, detection_rate = _alarm_and_found(np.random.default_rng(5), series, 40, change=0.05)
    assert alarms <= 0.1
    assert detection_rate >= 0.95 - 0.035, "of 40 tries, within a standard error of 95 %"


def test_series_that_no_two_neighbouring_runs_have_are_no_error() -> None:
    """One case each in the first run, another in the second, as where models were exchanged."""
    logs = np.log(np.full((4, 2), 100.0))
    logs[0, 1] = logs[1, 0] = np.nan
    factor = common_factor(logs)
    assert factor is None or np.isfinite(factor).all()
