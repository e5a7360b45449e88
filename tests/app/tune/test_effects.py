"""The effects of choices, estimated from the costs of configurations."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from app.tune.search import Effects, Observation, effects_of
from app.tune.space import Choice

LEVELS = {"threads": (0, 1, 2), "batch": (1, 8), "spin": (True, False)}
TRUE = {("threads", 1): 0.1, ("threads", 2): -0.05, ("batch", 8): -0.2, ("spin", False): 0.02}


def observed(
    rounds: int, noise: float, seed: int = 1, interaction: float = 0.0
) -> tuple[Observation, ...]:
    """Blocks of all configurations, each with a level of its own; threads 2 and batch 8 together
    cost as much more."""
    rng = np.random.default_rng(seed)
    observations = []
    for block in range(rounds):
        level = rng.normal(0.0, 0.3)
        for values in product(*LEVELS.values()):
            choices = tuple(zip(LEVELS, values, strict=True))
            log = sum(TRUE.get(choice, 0.0) for choice in choices) + level
            log += interaction * ({("threads", 2), ("batch", 8)} <= set(choices))
            cost = math.exp(log + rng.normal(0.0, noise))
            observations.append((str(values), choices, block, cost))
    return tuple(observations)


def test_effects_far_below_the_noise_of_a_round_are_found() -> None:
    effects = effects_of(observed(20, 0.05))
    for (name, value), true in TRUE.items():
        (first, *_) = LEVELS[name]
        effect = effects.expected((name, value)) - effects.expected((name, first))
        assert effect == pytest.approx(true, abs=0.015)


def test_what_two_choices_do_together_belongs_to_the_configuration() -> None:
    effects = effects_of(observed(6, 0.01, interaction=0.3))
    values = [(2, 8, True), (2, 1, True), (0, 8, True), (0, 1, True)]
    both, left_only, other, none = (
        effects.predicted(str(choice), tuple(zip(LEVELS, choice, strict=True))) for choice in values
    )
    assert both - left_only - other + none == pytest.approx(0.3, abs=0.03)


def test_one_slow_process_in_twenty_hardly_moves_an_effect() -> None:
    observations = observed(20, 0.03)
    slow = np.random.default_rng(2).random(len(observations)) < 0.05
    unlucky = tuple(
        (*observation[:3], observation[3] * (3.0 if late else 1.0))
        for observation, late in zip(observations, slow, strict=True)
    )
    effects = effects_of(unlucky)
    effect = effects.expected(("batch", 8)) - effects.expected(("batch", 1))
    assert effect == pytest.approx(-0.2, abs=0.03)


def test_more_rounds_make_a_difference_surer_and_what_was_never_measured_is_unsure() -> None:
    first, second = (
        (str(choice), tuple(zip(LEVELS, choice, strict=True)))
        for choice in ((0, 1, True), (1, 1, True))
    )
    few, many = (effects_of(observed(rounds, 0.05)).deviation(first, second) for rounds in (2, 20))
    assert many < 0.6 * few
    unmeasured_case = "(4, 1, True)", (("threads", 4), ("batch", 1), ("spin", True))
    assert effects_of(observed(20, 0.05)).deviation(first, unmeasured_case) > 2.0 * many


def test_nothing_measured_is_nothing_known() -> None:
    effects = effects_of(())
    assert effects.predicted("a", (("threads", 1),)) == 0.0
    assert effects.deviation(("a", (("threads", 1),)), ("a", (("threads", 1),))) == 0.0


def test_sampled_effects_have_the_mean_and_the_covariance_of_the_posterior() -> None:
    choices: list[Choice] = [("threads", 1), ("threads", 2), ("precision", "fp16")]
    covariance = np.array([[0.04, 0.018, 0.0], [0.018, 0.01, -0.002], [0.0, -0.002, 0.09]])
    mean = np.array([0.5, -0.2, 0.1])
    effects = Effects({choice: k for k, choice in enumerate(choices)}, mean, covariance, {})
    rng = np.random.default_rng(1)
    draws = np.array([[*map(effects.sample(rng), choices)] for _ in range(10_000)])
    deviations = np.sqrt(np.diag(covariance))
    assert np.abs((draws.mean(0) - mean) / deviations).max() < 0.05
    scale = np.outer(deviations, deviations)
    assert np.abs((np.cov(draws.T) - covariance) / scale).max() < 0.05
