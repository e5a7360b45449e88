"""The search on written-down objectives with noise: how near it comes, and what it claims of none.

The seeds are others than those that its constants were chosen with (0 to 39).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from app.cases.case import Case
from app.stats.option_search.search import Effects, Observation, effects_of
from app.stats.option_search.space import Choice, candidate_values, threads_of
from runtimes.options import SESSIONS, Option, OptionValue
from runtimes.session.host import CALL
from tests.app.stats.option_search.objectives import (
    Simulated,
    entangled,
    flat,
    played,
    separable,
    small_effects,
    space_of,
)
from tests.app.stats.option_search.random_search import every_case

SEEDS = range(1000, 1020)


WITHIN = 1.05


@pytest.mark.parametrize("cost_of", [separable, pytest.param(entangled, marks=pytest.mark.rare)])
def test_it_comes_within_five_percent_of_the_best_there_is(
    cost_of: Callable[[Case], float],
) -> None:
    """Of thousands of configurations, with processes that differ by 3 %."""
    space = space_of()
    best = min(map(cost_of, every_case(space)))
    hits = rounds = 0
    for seed in SEEDS:
        search, ladder, took = played(space, Simulated(cost_of, seed))
        hits += cost_of(search.lead) <= WITHIN * best
        rounds += took
        total = ladder.winner.default
        assert total is not None
        assert total.word == "faster"
        assert total.interval is not None
        true = cost_of(search.lead) / cost_of(space.base)
        # Some of twenty 95 % intervals may miss; none misses by its own width.
        width = total.interval.high - total.interval.low
        assert total.interval.low - width < true < total.interval.high + width
    assert hits >= 18
    assert rounds / len(SEEDS) < 600


def test_effects_too_small_for_a_pair_of_rounds_add_up() -> None:
    """Each choice changes the cost by some 1.5 %, and rounds differ by 3 %."""
    space, cases = space_of(), every_case(space_of())
    ratios = []
    for seed in SEEDS[:10]:
        cost_of = small_effects(seed)
        search, _, _ = played(space, Simulated(cost_of, seed))
        assert cost_of(search.lead) < cost_of(space.base), "none is worse than the default"
        ratios.append(cost_of(search.lead) / min(map(cost_of, cases)))
    assert np.mean(ratios) < 1.02, max(ratios)


def test_unlucky_processes_do_not_mislead_it() -> None:
    """One in twenty takes three times as long."""
    space = space_of()
    best = min(map(separable, every_case(space)))
    ends = [
        separable(played(space, Simulated(separable, seed, unlucky=True))[0].lead)
        for seed in SEEDS[:10]
    ]
    assert sum(end <= WITHIN * best for end in ends) >= 9


@pytest.mark.rare
def test_where_no_option_does_anything_it_claims_no_gain() -> None:
    """At most 5 % of such searches may be wrong: three of twenty would be so in 8 % of tries."""
    wrong = 0
    for seed in SEEDS:
        _, ladder, _ = played(space_of(), Simulated(flat, seed, spread=0.1))
        verdicts = [step.default for step in ladder.steps if step.default is not None]
        wrong += any(verdict.word == "faster" for verdict in verdicts)
        assert ladder.again is not None
    assert wrong <= 2


def test_what_fails_never_leads_and_is_measured_once() -> None:
    """A default that fails is replaced by what runs."""
    simulation = Simulated(separable, 1000, broken=lambda case: case.runtime == "b")
    search, ladder, _ = played(space_of(), simulation)
    assert search.lead.runtime == "a"
    assert {step.case.runtime for step in ladder.steps} == {"a"}
    case_ids = [case_id for case_id, number in simulation.measured]
    failing = {case.case_id for case in every_case(space_of()) if case.runtime == "b"}
    assert max(case_ids.count(case_id) for case_id in failing if case_id in case_ids) == 1
    base = space_of().base.case_id
    simulation = Simulated(separable, 1001, broken=lambda case: case.case_id == base)
    search, ladder, _ = played(space_of(), simulation)
    assert search.lead.case_id != base
    assert ladder.steps[0].cost is None and ladder.winner.cost is not None


def test_the_same_rounds_ask_for_the_same_blocks() -> None:
    first, second = Simulated(entangled, 7), Simulated(entangled, 7)
    played(space_of(), first)
    played(space_of(), second)
    assert first.measured == second.measured


def test_a_step_is_one_change_and_the_last_is_the_winner() -> None:
    search, ladder, _ = played(space_of(), Simulated(separable, 1002))
    assert ladder.steps[0].case.case_id == space_of().base.case_id
    assert ladder.winner.case.case_id == search.lead.case_id
    names = [step.choice[0] for step in ladder.steps if step.choice]
    assert len(set(names)) == len(names)
    assert ladder.noise is not None and ladder.rival_verdict is not None
    assert ladder.rival_verdict.difference is not None


@pytest.mark.parametrize(
    ("option", "values"),
    [
        (Option("flag", True, ""), (True, False)),
        (Option("flag", False, ""), (False, True)),
        (Option("level", "b", "", ("a", "b", "c")), ("b", "a", "c")),
        (Option("builder", 3, "", (1, 3, 5)), (3, 1, 5)),
        (Option("lanes", 1, "", minimum=1, maximum=64), (1, 2, 4, 8)),
        (Option("lanes", 1, "", minimum=1, maximum=3), (1, 2, 3)),
        (Option("time", 100.0, "", minimum=0), (100.0, 25.0, 50.0, 200.0, 400.0)),
        (Option("name", "x", ""), ("x",)),
        (Option("unknown", 0, "", minimum=0), (0,)),
    ],
)
def test_values_come_from_the_table(option: Option, values: tuple[OptionValue, ...]) -> None:
    assert candidate_values(option, cores=4) == values
    assert all(type(value) is type(option.default) for value in candidate_values(option, cores=4))


def test_numbers_grow_with_the_cores_and_what_changes_the_task_is_not_tried() -> None:
    assert candidate_values(CALL, cores=4) == ("auto",)
    assert candidate_values(SESSIONS, cores=2) == (1, 2, 4)
    assert threads_of(1) == (0, 1)
    assert threads_of(6) == (0, 1, 2, 4, 6)


def test_the_cheapest_has_the_least_of_each_choice_and_cores_are_shared_out() -> None:
    space = space_of()
    least = {("threads", 2), ("batch", 8), ("b option pin", False)}
    found = space.cheapest("b", "int8", lambda choice: -1.0 if choice in least else 0.0)
    assert (found.threads, found.axes["batch"], found.options) == (2, 8, {"pin": False})
    shared = [
        (case.threads, case.options)
        for threads in (space.threads, (1,))
        for case in replace(space, threads=threads).share_cores(found)
    ]
    by_four = 1, {"streams": 4, "pin": False}
    assert shared == [(2, {"streams": 2, "pin": False}), by_four, by_four]


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
    unsure = effects_of(observed(20, 0.05))
    assert unsure.deviation(first, unmeasured_case) > max(2.0 * many, unsure.spreads["threads"])


def test_nothing_measured_is_nothing_known() -> None:
    effects = effects_of(())
    assert effects.predicted("a", (("threads", 1),)) == 0.0
    assert effects.deviation(("a", (("threads", 1),)), ("a", (("threads", 1),))) == 0.0


def test_sampled_effects_have_the_mean_and_the_covariance_of_the_posterior() -> None:
    choices: list[Choice] = [("threads", 1), ("threads", 2), ("precision", "fp16")]
    covariance = np.array([[0.04, 0.018, 0.0], [0.018, 0.01, -0.002], [0.0, -0.002, 0.09]])
    mean = np.array([0.5, -0.2, 0.1])
    places: dict[Choice | str, int] = {choice: k for k, choice in enumerate(choices)}
    effects = Effects(places, mean, covariance, {"threads": 0.2})
    rng = np.random.default_rng(1)
    draws = np.array([[*map(effects.sample(rng), choices)] for _ in range(10_000)])
    deviations = np.sqrt(np.diag(covariance))
    assert np.abs((draws.mean(0) - mean) / deviations).max() < 0.05
    scale = np.outer(deviations, deviations)
    assert np.abs((np.cov(draws.T) - covariance) / scale).max() < 0.05
    unseen = [effects.sample(rng)(("threads", 4)) for _ in range(2_000)]
    assert np.std(unseen) == pytest.approx(0.2, rel=0.1)
