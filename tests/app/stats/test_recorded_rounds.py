"""Eight rounds of recorded runs, chosen as a sweep schedules them, contain the run's own figures.

`python -m tests.benchmarks.stretches` has the whole table.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from app.plan.plan import named_lengths
from tests.benchmarks.stretches import (
    FIGURES,
    FIRST,
    RECORDINGS,
    SECOND,
    THIRD,
    marked_share,
    read_recording,
    schedule_choices,
    shares_held,
)
from tests.simulated.loads import LOADS, loaded_run

ROUNDS = 8


@pytest.mark.parametrize("path", RECORDINGS, ids=["first", "second", "third"])
def test_rounds_as_standard_spreads_them_contain_the_figures_of_half_an_hour(path: Path) -> None:
    recording, lengths = read_recording(path), named_lengths()["standard"]
    assert recording.begun_s[-1] >= 20 * 60
    samples = list(
        schedule_choices(recording, ROUNDS, lengths.spread_s, lengths.contended_spread_s)
    )
    assert marked_share(recording, samples) == 0.0
    for name in FIGURES[:3]:  # the throughput is the inverse of the mean
        assert min(shares_held(recording, name, samples).values()) >= 0.85, name


@pytest.mark.parametrize(
    ("path", "least"),
    [(FIRST, 0.85), (SECOND, 0.85), (THIRD, 0.75)],
    ids=["first", "second", "third"],
)
def test_rounds_of_two_minutes_are_marked_and_mostly_contain_the_median(
    path: Path, least: float
) -> None:
    recording, spread_s = read_recording(path), named_lengths()["standard"].spread_s
    samples = list(schedule_choices(recording, ROUNDS, spread_s))
    assert min(shares_held(recording, "p50", samples).values()) >= least
    assert marked_share(recording, samples) >= 0.95


@pytest.mark.parametrize(("name", "minutes"), [("quiet", 2.0), ("load wanders", 10.0)])
def test_only_rounds_beside_other_work_are_spread_over_ten_minutes(
    name: str, minutes: float
) -> None:
    lengths = named_lengths()["standard"]
    run = loaded_run(np.random.default_rng(3), LOADS[name])
    choices = schedule_choices(run, ROUNDS, lengths.spread_s, lengths.contended_spread_s)
    for choice in islice(choices, 5):
        span_s = run.begun_s[choice[-1]] - run.begun_s[choice[0]]
        assert minutes - 0.1 <= span_s / 60.0 <= minutes + 0.5


def test_rounds_are_scheduled_when_they_are_due() -> None:
    recording = read_recording(FIRST)
    for choice in list(schedule_choices(recording, ROUNDS, 600.0))[::10]:
        begun_s = recording.begun_s[choice] - recording.begun_s[choice[0]]
        for number, begin_s in enumerate(begun_s):
            due_s = 600.0 * number / (ROUNDS - 1)
            previous_s = recording.begun_s[choice[number] - 1] - recording.begun_s[choice[0]]
            assert begin_s >= due_s - 1e-9 and (number == 0 or previous_s < due_s)
