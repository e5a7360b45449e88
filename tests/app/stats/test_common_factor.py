"""What the series of a machine share: found, left out of each, and never one series alone."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.change_points import MINIMUM_SERIES, change_points, common_factor
from tests.simulated.histories import boots, machine_history


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
