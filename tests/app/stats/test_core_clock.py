"""The p50 at a core's full clock: it holds where rounds follow the clock, and only they have it."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from app.stats.core_clock import at_full_clock
from tests.simulated.clocks import CLOCKS, STEADY, WAITS, WORK, counted

TRIES = 100


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("clock", CLOCKS)
def test_the_interval_holds_the_p50_at_the_clock_that_it_is_of(clock: str, work: str) -> None:
    """In nine of ten tries at least that follow the clock; one of 100 is 3 % off by chance."""
    seed = zlib.crc32(f"{clock} {work}".encode())
    found = counted(CLOCKS[clock], WORK[work], TRIES, seed)
    assert found.held >= 0.9 * found.followed - 2


@pytest.mark.parametrize("clock", CLOCKS)
def test_what_waits_for_memory_hardly_ever_seems_to_follow_the_clock(clock: str) -> None:
    assert counted(CLOCKS[clock], WAITS, 2 * TRIES, 7).followed <= 0.05 * 2 * TRIES


@pytest.mark.parametrize("work", WORK)
def test_a_clock_that_stays_has_no_second_speed(work: str) -> None:
    assert not counted(STEADY, WORK[work], TRIES, 11).followed


def test_one_speed_is_told_by_its_cycles_its_share_and_its_factor() -> None:
    """Eight rounds of 100,000 cycles; a twentieth of the clock's readings is far too high."""
    levels_mhz = [4000.0, 4200.0, 4000.0, 4000.0, 4200.0, 4000.0, 4000.0, 4000.0]
    p50s_ns = [1e8 / (0.999 * mhz) for mhz in levels_mhz]
    found = at_full_clock(p50s_ns, [[*[0.999 * mhz] * 19, mhz, 9000.0] for mhz in levels_mhz])
    assert found is not None and found.interval is not None
    assert (found.clock_mhz, found.is_usual, found.share) == (4200.0, True, 48 / 168)
    assert (found.p50, found.factor) == pytest.approx((1e8 / 4200.0, 4200.0 / 3996.0))
    low, high = found.interval.low / found.p50, found.interval.high / found.p50
    assert 0.98 < low < 1.0 < high < 1.02


def test_without_a_clock_of_each_of_six_rounds_there_is_none() -> None:
    usual = 1e-4 * np.array([4000.0, 4200.0, 4000.0, 4200.0, 4000.0, 4000.0])  # of any unit
    p50s, clocks = (0.1 / usual).tolist(), [[clock] * 21 for clock in usual.tolist()]
    assert at_full_clock(p50s, clocks) is not None
    assert at_full_clock(p50s[1:], clocks[1:]) is None
    assert at_full_clock(p50s, [*clocks[1:], []]) is None
    assert at_full_clock(p50s, [*clocks[1:], [0.0] * 21]) is None
    assert at_full_clock([*p50s[1:], 0.0], clocks) is None
