"""What a plan asks of a search for the highest rate, and of intervals and percentiles."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from app.cases.errors import PlanError
from app.cases.objectives import MAXIMUM_ROUNDS, Target
from app.plan.command import command_line
from app.plan.command_line import parse
from app.plan.estimate import estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, plan_toml

GRID = {"models": ["mlp"], "runtimes": ["fake"]}


def plan_of(**values: Any) -> Plan:
    return parse_plan({"sweeps": [GRID], **values}, "the plan")


def test_the_flag_says_what_the_plan_says() -> None:
    words = ["--models", "mlp", "--runtimes", "fake", "--slo", "p99.9=0.5s"]
    flags = plan_from_options(parse(words))
    assert flags == plan_of(slo="p99.9=500ms")
    assert flags.target == Target(99.9, 500_000.0)
    assert plan_of().target is None


def test_it_survives_a_command_line_and_a_plan_file(tmp_path: Path) -> None:
    plan = plan_of(slo="mean=250us", rounds=12)
    line = command_line(plan, tmp_path)
    assert "--plan" not in line
    assert plan_from_options(parse(shlex.split(line.partition(" run ")[2]))).slo == plan.slo
    (tmp_path / "p.toml").write_text(plan_toml(plan), "utf-8")
    assert load_plan(tmp_path / "p.toml").slo == plan.slo


def test_rounds_are_the_most_at_a_rate_whatever_the_profile_has() -> None:
    assert plan_of(slo="p99=5ms", profile="glance").lengths.rounds == MAXIMUM_ROUNDS
    assert plan_of(slo="p99=5ms", rounds=5).lengths.rounds == 5
    assert plan_of(profile="glance").lengths.rounds == 2


def test_an_estimate_says_that_nobody_knows_how_long_a_search_is() -> None:
    assert estimate(plan_of(slo="p99=5ms")).search
    assert not estimate(plan_of()).search


def test_how_a_gap_is_waited_out_holds_for_the_rates_to_come() -> None:
    grid = {**GRID, "wait_policy": "sleep"}
    (search_case,) = expand(plan_of(slo="p99=5ms", sweeps=[grid]))
    (closed_case,) = expand(plan_of(sweeps=[grid]))
    assert (search_case.wait_policy, closed_case.wait_policy) == ("sleep", "spin")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"slo": "p99"}, "slo 'p99' is no target"),
        ({"slo": "p99=0ms"}, "leaves no time"),
        ({"slo": "p100=5ms"}, "between 0 and 100"),
    ],
)
def test_what_no_search_can_keep_is_refused_with_a_remedy(
    values: dict[str, Any], said: str
) -> None:
    with pytest.raises(PlanError, match=said) as refusal:
        expand(plan_of(**values))
    assert refusal.value.remedy


def test_the_flags_say_what_the_plan_says() -> None:
    words = "--models mlp --runtimes fake --percentiles p50,99.99 --ci-width p50=1%,99.99=0.2"
    flags = plan_from_options(parse(words.split()))
    assert flags == plan_of(percentiles=[50, 99.99], precise={"p50": 0.01, "p99.99": 0.2})


def test_both_survive_a_command_line_and_a_plan_file(tmp_path: Path) -> None:
    plan = plan_of(percentiles=[99.9, 10], precise={"p99.9": 0.125, "p10": 0.03}, rounds=20)
    line = command_line(plan, tmp_path)
    assert "--plan" not in line
    parsed_plan = plan_from_options(parse(shlex.split(line.partition(" run ")[2])))
    assert (parsed_plan.percentiles, parsed_plan.precise) == (plan.percentiles, plan.precise)
    (tmp_path / "p.toml").write_text(plan_toml(plan), "utf-8")
    assert load_plan(tmp_path / "p.toml").precise == plan.precise


def test_rounds_are_the_most_of_a_precise_plan() -> None:
    assert plan_of().stopping is None
    free, bound = plan_of(precise={"p99.9": 0.1}), plan_of(precise={"p99.9": 0.1}, rounds=12)
    assert free.stopping is not None and bound.stopping is not None
    assert (free.lengths.rounds, bound.lengths.rounds) == (40, 12)
    assert (bound.stopping.targets, bound.stopping.maximum) == ({"p999": 0.1}, 12)


def test_an_estimate_reaches_from_the_least_to_the_most_rounds() -> None:
    fixed_estimate, precise = estimate(plan_of(rounds=5)), estimate(plan_of(precise={"p50": 0.01}))
    assert (precise.rounds, precise.maximum_rounds) == (5, 40)
    assert precise.shortest_s == fixed_estimate.shortest_s
    assert precise.longest_s > 7 * fixed_estimate.longest_s


def test_chosen_percentiles_are_told_beside_the_default_ones() -> None:
    quantiles = plan_of(percentiles=[99.99, 50]).quantiles
    assert quantiles == {
        "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"precise": {"p97": 0.01}}, "precise p97 is no percentile of the rows"),
        ({"precise": {"median": 0.01}}, "precise median is no percentile of the rows"),
        ({"precise": {"p50": 0}}, "precise p50=0 is no share"),
        ({"precise": {"p50": 1.5}}, "precise p50=1.5 is no share"),
        ({"percentiles": [0]}, "percentile 0 is no percentile"),
        ({"percentiles": [100]}, "percentile 100 is no percentile"),
        ({"percentiles": [50, 99, 50]}, "percentile 50 is given twice"),
        ({"percentiles": [99.999999]}, "more than 100,000,000 independent runs"),
        ({"percentiles": []}, "percentiles is empty"),
    ],
)
def test_what_no_run_can_keep_is_refused_in_one_sentence(values: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_of(**values)
    assert said in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--ci-width p50", "write it as --ci-width p50=1%,p99=10%"),
        ("--ci-width p50=narrow", "'narrow' is no share"),
        ("--percentiles high", "--percentiles high is no percentile"),
    ],
)
def test_a_flag_that_says_nothing_is_answered_with_its_form(words: str, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_from_options(parse(["--models", "mlp", *words.split()]))
    assert said in str(caught.value)
