"""Stopping once an interval is narrow must not make it wrong: counted over simulated runs.

Reduced: 120 tries a stream; `python -m tests.benchmarks stopping` has more streams and tries.
"""

from __future__ import annotations

import pytest

from app.stats.estimates import Estimate
from app.stats.quantiles import Interval
from app.stats.required_rounds import FIRST_LOOK, StoppingRule, reach
from tests.simulated.stopping import DISTURBED, STREAMS, Asked, stopped, wrongly_called

TRIES = 120


def test_looks_are_few_and_the_last_is_the_bound() -> None:
    assert StoppingRule({}, 40).looks == (5, 7, 10, 14, 20, 28, 40)
    assert StoppingRule({}, 12).looks == (5, 7, 10, 12)
    assert StoppingRule({}, FIRST_LOOK).looks == (5,)


def test_all_looks_together_miss_no_oftener_than_one() -> None:
    assert StoppingRule({}, FIRST_LOOK).confidence == 0.95
    for most in (7, 10, 40, 1000):
        rule = StoppingRule({}, most)
        assert len(rule.looks) * (1.0 - rule.confidence) == pytest.approx(0.05)


def test_an_interval_reaches_as_far_as_its_farther_side() -> None:
    assert reach(Estimate(100.0, Interval(99.0, 103.0))) == pytest.approx(0.03)
    assert reach(Estimate(100.0, Interval(95.0, 103.0))) == pytest.approx(0.05)
    assert reach(Estimate(100.0, None)) is None


def test_the_extremes_of_too_few_runs_are_no_narrow_interval() -> None:
    few = Estimate(100.0, Interval(99.9, 100.1), "5 of 6 runs, the interval is all of them")
    assert reach(few) is None
    assert not StoppingRule({"p50": 0.01}).settles({"p50": few})


def test_every_percentile_that_is_asked_for_must_be_narrow() -> None:
    rule = StoppingRule({"p50": 0.01, "p99": 0.1})
    narrow, wide = Estimate(100.0, Interval(99.5, 100.5)), Estimate(100.0, Interval(95.0, 105.0))
    assert rule.settles({"p50": narrow, "p99": wide})
    assert not rule.settles({"p50": wide, "p99": narrow})
    assert not rule.settles({"p50": narrow, "p99": Estimate(100.0, None, "3 rounds")})
    short = Estimate(100.0, None, "3 of 20 runs beyond it", too_short=True)
    assert rule.settles({"p50": wide, "p99": short}), "more rounds would be measured for nothing"


@pytest.mark.parametrize("asked", STREAMS, ids=lambda asked: f"{asked.stream.name} {asked.share}")
def test_the_interval_at_stopping_holds_the_truth(asked: Asked) -> None:
    result = stopped(asked, TRIES)
    assert result.claimed >= 0.9 * TRIES
    assert result.held / result.claimed >= 0.93
    assert result.ends[0] < result.ends[-1], "where it ends is left to the rounds"


def test_processes_that_agree_by_chance_at_the_first_look_end_no_case_wrongly() -> None:
    """One process in twenty is three times slower: most first looks see none of them."""
    result = stopped(DISTURBED[0], 60)
    assert result.ends[0] == FIRST_LOOK and result.ends[-1] > FIRST_LOOK
    assert result.held >= 0.93 * result.claimed - 3 * (0.93 * 0.07 * result.claimed) ** 0.5


@pytest.mark.parametrize("asked", STREAMS[:2], ids=lambda asked: asked.stream.name)
def test_rounds_that_end_when_narrow_call_no_case_slower_than_itself(asked: Asked) -> None:
    tries = 200
    assert wrongly_called(asked, tries) / tries <= 0.05
