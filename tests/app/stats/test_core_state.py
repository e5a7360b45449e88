"""The p50s of runs alone on their core and at its typical clock hold where there are such runs, and
only there they are told."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from app.stats.core_state import CoreRound, at_typical_clock, undisturbed
from tests.seldom import seldom_but
from tests.simulated.clocks import (
    ALWAYS,
    ANY_WORK,
    CLOCKS,
    NEVER,
    SHARED,
    STEADY,
    WAITS,
    WORK,
    apart,
    counted,
    shared,
)

TRIES = 100


PLACES = [(clock, work) for clock in CLOCKS for work in ANY_WORK]
USUAL = PLACES[:: len(CLOCKS) + 1] + PLACES[3 :: 2 * len(CLOCKS) - 1]
"""Each clock and each work once, and some of them again."""


@pytest.mark.parametrize("place", seldom_but([", ".join(p) for p in USUAL], PLACES, ", ".join))
def test_the_interval_holds_the_p50_at_the_clock_that_it_is_of(place: tuple[str, str]) -> None:
    """In nine of ten tries at least, whatever the work does with the clock; one of 100 is 3 % off
    by chance."""
    clock, work = place
    seed = zlib.crc32(f"{clock} {work}".encode())
    for rounds in (3, 5, 8):
        found = counted(CLOCKS[clock], ANY_WORK[work], TRIES, seed, rounds)
        assert found.held >= 0.9 * TRIES


@pytest.mark.parametrize("work", ANY_WORK)
def test_two_runs_at_other_clocks_differ_in_cycles_by_their_work_alone(work: str) -> None:
    clock, seed = CLOCKS["three levels"], zlib.crc32(work.encode())
    same = apart(clock, ANY_WORK[work], 0.0, TRIES, seed)
    assert same["slower"] + same["faster"] <= max(2.0, 0.05 * same.total())
    if work in WORK and not WORK[work].slow:
        more = apart(clock, WORK[work], 0.2, TRIES, seed)
        assert more["slower"] >= 0.9 * more.total() >= 0.5 * TRIES


@pytest.mark.parametrize("work", WORK)
def test_work_that_computes_follows_a_clock_that_moves(work: str) -> None:
    found = counted(CLOCKS["boost for 40 s of 100"], WORK[work], TRIES, 3)
    assert found.followed >= (0.2 if WORK[work].slow else 0.7) * TRIES


@pytest.mark.parametrize("clock", CLOCKS)
def test_what_waits_for_memory_seldom_seems_to_follow_the_clock(clock: str) -> None:
    assert counted(CLOCKS[clock], WAITS, 2 * TRIES, 7).followed <= 0.05 * 2 * TRIES


@pytest.mark.parametrize("work", WORK)
def test_a_clock_that_stays_is_not_followed(work: str) -> None:
    assert not counted(STEADY, WORK[work], TRIES, 11).followed


def core_round(
    times: list[float], clocks_mhz: list[float], widths: list[float] | None = None
) -> CoreRound:
    """Of blocks of one run each."""
    places = np.arange(len(times))
    return CoreRound(np.array(times), places, np.array(clocks_mhz), np.array(widths or []))


def test_the_p50_at_the_typical_clock_is_of_cycles_at_the_pseudo_median_of_the_rounds_own() -> None:
    """Rounds of 100,000 cycles, one of them with a reading that is far too high."""
    levels_mhz = [4000.0, 4200.0, 4000.0, 4000.0, 4100.0]
    rounds = [core_round([1e8 / mhz] * 40, [mhz] * 39 + [9000.0]) for mhz in levels_mhz]
    found = at_typical_clock(rounds)
    assert found is not None and found.interval is not None
    assert found.clock_mhz == pytest.approx(np.sqrt(4000.0 * 4100.0))
    assert found.p50 == pytest.approx(1e8 / found.clock_mhz)
    assert found.interval.low == pytest.approx(found.interval.high) == pytest.approx(found.p50)


def test_without_a_clock_of_each_of_three_rounds_there_is_none() -> None:
    rounds = [core_round([1e8 / mhz] * 20, [mhz] * 20) for mhz in (4000.0, 4200.0, 4100.0)]
    assert at_typical_clock(rounds) is not None
    for other in (core_round([], []), core_round([1.0] * 20, [0.0] * 20)):
        assert at_typical_clock([*rounds[1:], other]) is None
    assert at_typical_clock([*rounds[1:], core_round([0.0] * 20, [4000.0] * 20)]) is None
    assert at_typical_clock(rounds[1:]) is None


@pytest.mark.parametrize("spells", SHARED)
def test_of_a_shared_core_the_interval_holds_what_a_run_alone_takes(spells: str) -> None:
    found = shared(SHARED[spells], TRIES, zlib.crc32(spells.encode()))
    assert found.followed >= 0.5 * TRIES
    assert found.held >= 0.9 * found.followed - 2


@pytest.mark.parametrize("spells", [ALWAYS, NEVER])
def test_a_core_that_is_always_or_never_shared_has_no_second_speed(
    spells: tuple[float, float],
) -> None:
    assert not shared(spells, TRIES, 5).followed


def test_runs_alone_are_told_by_their_p50_its_share_and_what_the_others_take() -> None:
    """Of two rounds that share their core in a quarter of their blocks, and one that always does,
    at two thirds of the operations in a cycle."""
    some = core_round([10.0] * 30 + [14.0] * 10, [4000.0] * 40, [4.0] * 30 + [2.7] * 10)
    rounds = [some, some, core_round([14.0] * 40, [4000.0] * 40, [2.7] * 40)]
    found = undisturbed(rounds, [0.0, 1.0, 2.0])
    assert found is not None and found.is_usual and found.interval is None
    assert (found.p50, found.share, found.factor) == pytest.approx((10.0, 0.5, 1.4))
    usual = core_round([10.0] * 40, [4000.0] * 40, some.widths.tolist())
    assert undisturbed([usual, usual, usual]) is None, "it made no difference"
    rare = core_round([10.0] * 39 + [14.0], [4000.0] * 40, [4.0] * 39 + [2.7])
    assert undisturbed([rare, rare, rare]) is None, "2.5 % of the time"
    assert undisturbed([some, some]) is not None
    assert undisturbed([some]) is None, "a process alone may have another core"
    unknown = core_round([0.0] * 40, [4000.0] * 40, some.widths.tolist())
    assert undisturbed([unknown, unknown]) is None, "its clock is too coarse"
    for smeared, is_found in ((4, True), (6, False)):
        widths = [4.0] * 10 + [3.4] * smeared + [2.5] * 24
        times = [10.0] * 10 + [14.0] * (24 + smeared)
        one = core_round(times, [4000.0] * len(times), widths)
        assert (undisturbed([one, one]) is not None) == is_found
    assert undisturbed([some, core_round([10.0] * 40, [4000.0] * 40)]) is None, "nothing is known"


def test_the_p50_at_the_typical_clock_is_of_runs_that_had_their_core_for_themselves() -> None:
    levels = [4000.0, 4200.0, 4000.0, 4200.0, 4000.0, 4000.0]
    rounds = [
        core_round([1e8 / mhz] * 20 + [2e8 / mhz] * 30, [mhz] * 50, [4.0] * 20 + [2.0] * 30)
        for mhz in levels
    ]
    found = at_typical_clock(rounds)
    assert found is not None and found.p50 == pytest.approx(1e8 / found.clock_mhz)
