"""Intervals hold what they say, on machines of which some played no part in choosing them.

Reduced: 100 tries a machine with steal, slow modes, heavy tails or a coarse clock; `python -m
tests.benchmarks intervals` has the whole tables. Eight rounds of recorded runs, chosen as a sweep
schedules them, contain the run's own figures (`python -m tests.benchmarks.stretches`).
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from app.plan.plan import named_lengths
from app.stats.intervals import typical
from tests.benchmarks import stretches
from tests.benchmarks.stretches import RECORDINGS, read_recording
from tests.seldom import seldom_but
from tests.simulated import machine_coverage
from tests.simulated.held_out import HELD_OUT
from tests.simulated.machines import MACHINES, Machine

TRIES = 100
QUICK_MACHINES = ("Pareto 1.5", "1 process in 20 is 3x", "steal", "clock of 100 ns")
WANDERING = "long memory over rounds"
HOLD = [machine for machine in (*MACHINES, *HELD_OUT) if machine.name != WANDERING]


@pytest.mark.parametrize("machine", seldom_but(QUICK_MACHINES, HOLD, lambda machine: machine.name))
def test_eight_rounds_contain_the_truth(machine: Machine) -> None:
    counts = machine_coverage.covered(machine, 8, TRIES)
    for name in machine_coverage.FIGURES:
        count = counts[name]
        if count.unmarked < TRIES / 10:
            continue
        least = 0.93 - 3.0 * math.sqrt(0.93 * 0.07 / count.unmarked)
        assert count.share >= least, (name, count.share)
    assert counts["p50"].withheld <= 0.12, "hardly any independent rounds are marked"


def test_rounds_that_see_a_rare_mode_and_rounds_that_do_not_quote_the_same_figure() -> None:
    """One process in twenty is three times slower; eight rounds see it in one run of three."""
    (machine,) = (medians for medians in MACHINES if medians.name == "1 process in 20 is 3x")
    rng = np.random.default_rng(6)
    levels = [machine.levels(rng, 8) for _ in range(400)]
    with_mode = [typical(medians) for medians in levels if medians.max() > 2.0]
    without_mode = [typical(medians) for medians in levels if medians.max() < 2.0]
    assert 0.25 <= len(with_mode) / 400 <= 0.42
    assert np.median(with_mode) / np.median(without_mode) == pytest.approx(1.0, abs=0.01)


ROUNDS = 8


@pytest.mark.parametrize("path", RECORDINGS, ids=["first", "second", "third"])
def test_rounds_as_standard_spreads_them_contain_the_figures_of_half_an_hour(path: Path) -> None:
    recording, lengths = read_recording(path), named_lengths()["standard"]
    assert recording.begun_s[-1] >= 20 * 60
    samples = list(
        stretches.schedule_choices(recording, ROUNDS, lengths.spread_s, lengths.contended_spread_s)
    )
    assert stretches.marked_share(recording, samples) == 0.0
    for name in stretches.FIGURES[:3]:  # the throughput is the inverse of the mean
        assert min(stretches.shares_held(recording, name, samples).values()) >= 0.85, name
