"""What a plan asks of a search for the highest rate: understood, given back, or refused."""

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
