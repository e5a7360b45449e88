"""Cases that are slow in the same passes are found, and independent cases rarely taken for such."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from app.stats.concordance import concordance
from tests.simulated.machines import fractional_noise

TRIES = 500


def test_the_coefficient_is_that_of_kendall() -> None:
    rising, falling = [1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0]
    concordant = concordance([rising, [10.0 * value for value in rising], rising])
    assert concordant is not None and concordant.coefficient == pytest.approx(1.0)
    assert concordant.is_significant
    discordant = concordance([rising, falling])
    assert discordant is not None and discordant.coefficient == pytest.approx(0.0)
    # Sums of ranks 3, 3, 7, 8, 9 about their mean of 6: 9 + 9 + 1 + 4 + 9 = 32 of at most 40.
    swapped_pairs = concordance([rising, [2.0, 1.0, 4.0, 3.0, 5.0]])
    assert swapped_pairs is not None and swapped_pairs.coefficient == pytest.approx(
        12 * 36 / (4 * 120)
    )


@pytest.mark.parametrize("figures", [[], [[1.0] * 8], [[1.0] * 4, [2.0] * 4]])
def test_one_case_or_few_passes_show_nothing(figures: list[list[float]]) -> None:
    assert concordance(figures) is None


@pytest.mark.parametrize(("cases", "passes"), [(2, 5), (2, 8), (4, 8), (20, 8), (4, 40)])
@pytest.mark.parametrize("kind", ["normal", "skewed", "heavy tails", "modes", "coarse clock"])
def test_independent_cases_are_rarely_concordant(kind: str, cases: int, passes: int) -> None:
    rng = np.random.default_rng(7)
    draw: Callable[[], np.ndarray] = {
        "normal": lambda: rng.standard_normal((cases, passes)),
        "skewed": lambda: rng.exponential(size=(cases, passes)),
        "heavy tails": lambda: rng.standard_t(2, (cases, passes)),
        "modes": lambda: rng.choice([1.0, 1.1, 1.2], (cases, passes)),
        "coarse clock": lambda: rng.choice([1.0, 1.0, 1.0, 1.1], (cases, passes)),
    }[kind]
    results = [concordance(draw().tolist()) for _ in range(TRIES)]
    wrong = sum(result is not None and result.is_significant for result in results)
    assert wrong / TRIES <= 0.01 + 3 * (0.01 * 0.99 / TRIES) ** 0.5
    equal = concordance(np.ones((cases, passes)).tolist())
    assert equal is not None and not equal.is_significant


def test_a_machine_that_wanders_is_found_by_several_cases() -> None:
    """Levels with long memory that all cases share, and as much noise of their own."""
    rng = np.random.default_rng(8)
    detections = 0
    for _ in range(TRIES):
        levels = fractional_noise(rng, 8, 0.9)
        levels /= levels.std()
        figures = np.exp(0.02 * (levels + rng.standard_normal((6, 8))))
        result = concordance(figures.tolist())
        detections += result is not None and result.is_significant
    assert detections / TRIES >= 0.9
