"""Quantile-by-quantile ratios: what they are of, when they have an interval, and that it holds."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.quantiles import order_statistic
from app.stats.verdict import QUANTILES, round_quantiles, shifts


def _rounds(
    scale: float, *, rounds: int = 6, seed: int = 0, drift: float = 0.0
) -> dict[int, np.ndarray]:
    """Quantiles by round of so many rounds, each of a level of its own."""
    rng = np.random.default_rng(seed)
    return {
        number: round_quantiles(scale * np.exp(drift * number) * rng.lognormal(9.0, 0.2, 2000))
        for number in range(rounds)
    }


def test_the_quantiles_of_a_round_are_those_that_its_samples_bound() -> None:
    samples = np.random.default_rng(1).integers(1000, 9000, 500)
    quantiles = dict(zip(QUANTILES, round_quantiles(samples), strict=True))
    for quantile in (0.05, 0.5, 0.9, 0.99):
        assert quantiles[quantile] == order_statistic(np.sort(samples), quantile)
    assert np.isnan(quantiles[0.999]), "500 samples say nothing of p99.9"
    assert np.isnan(round_quantiles(samples[:0])).all()


def test_a_case_that_is_slower_throughout_is_so_at_every_quantile() -> None:
    shifts_by_quantile = shifts(_rounds(1.0), _rounds(1.3, seed=1), in_turn=True)
    assert [shift.quantile for shift in shifts_by_quantile] == [q for q in QUANTILES if q < 0.999]
    for shift in shifts_by_quantile:
        assert shift.ratio == pytest.approx(1.3, rel=0.05)
        assert (
            shift.interval is not None and shift.interval.low <= shift.ratio <= shift.interval.high
        )


def test_a_tail_that_alone_has_grown_shows_at_its_quantiles_alone() -> None:
    first, second = _rounds(1.0), _rounds(1.0)
    for quantiles in second.values():
        quantiles[[q >= 0.95 for q in QUANTILES]] *= 2.0
    by_quantile = {shift.quantile: shift.ratio for shift in shifts(first, second, in_turn=True)}
    assert by_quantile[0.5] == 1.0 and by_quantile[0.99] == pytest.approx(2.0)


def test_pairs_of_rounds_take_out_what_both_sides_went_through() -> None:
    first, second = _rounds(1.0, drift=0.1), _rounds(1.1, seed=1, drift=0.1)

    def width(in_turn: bool) -> float:
        median = next(shift for shift in shifts(first, second, in_turn) if shift.quantile == 0.5)
        assert median.interval is not None
        return median.interval.width

    assert width(True) < 0.2 * width(False)


def test_too_few_rounds_have_a_ratio_and_no_interval() -> None:
    results = shifts(_rounds(1.0, rounds=2), _rounds(1.5, rounds=2, seed=1), in_turn=False)
    assert all(shift.interval is None for shift in results)
    assert results[0].ratio == pytest.approx(1.5, rel=0.05)
    assert shifts({}, _rounds(1.0), in_turn=True) == []
    assert shifts({0: _rounds(1.0)[0]}, {1: _rounds(1.0)[0]}, in_turn=True) == [], "no pair"


@pytest.mark.parametrize("in_turn", [True, False])
def test_intervals_hold_the_truth_as_often_as_they_say(in_turn: bool) -> None:
    rng = np.random.default_rng(7)
    hits, tries, ratio = 0, 600, 1.2
    for _ in range(tries):
        levels = 100.0 * rng.lognormal(0.0, 0.05, (2, 5))
        first, second = (
            {number: np.array([level]) for number, level in enumerate(side)} for side in levels
        )
        second = {number: ratio * level for number, level in second.items()}
        (shift,) = shifts(first, second, in_turn, quantiles=(0.5,))
        assert shift.interval is not None
        hits += shift.interval.low <= ratio <= shift.interval.high
    # Of 95 %, 600 tries give 94 to 96 % or so: four standard errors are 3.6 %.
    assert hits / tries == pytest.approx(0.95, abs=0.036)
