"""Intervals contain the truth on machines with steal, slow modes, heavy tails and coarse clocks.

Reduced: 100 tries a machine; `python -m tests.benchmarks intervals` has the whole table.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.stats.intervals import typical
from tests.seldom import seldom_but
from tests.simulated.held_out import HELD_OUT
from tests.simulated.machine_coverage import FIGURES, covered
from tests.simulated.machines import MACHINES, Machine, fractional_noise

TRIES = 100
QUICK = ("Pareto 1.5", "1 process in 20 is 3x", "steal", "clock of 100 ns")
WANDERING = "long memory over rounds"
HOLD = [machine for machine in (*MACHINES, *HELD_OUT) if machine.name != WANDERING]


@pytest.mark.parametrize("machine", seldom_but(QUICK, HOLD, lambda machine: machine.name))
def test_eight_rounds_contain_the_truth(machine: Machine) -> None:
    counts = covered(machine, 8, TRIES)
    for name in FIGURES:
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


def test_fractional_noise_has_the_correlation_of_its_exponent() -> None:
    rng = np.random.default_rng(2)
    many = np.array([fractional_noise(rng, 64, 0.9) for _ in range(4000)])
    assert many.var() == pytest.approx(1.0, rel=0.05)
    assert np.mean(many[:, 1:] * many[:, :-1]) == pytest.approx(2**0.8 - 1.0, abs=0.04)
