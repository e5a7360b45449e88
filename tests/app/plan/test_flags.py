"""What is said on the command line is what the plan holds, laid over a suite or a plan file."""

from __future__ import annotations

from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_suite


def told(*arguments: str) -> Plan:
    return plan_from_options(parse(arguments))


def test_what_is_not_said_is_left_to_the_plan() -> None:
    assert told("--models", "mlp") == parse_plan({"sweeps": [{"models": ["mlp"]}]}, "test")
    assert told("--suite", "starter") == load_suite("starter")


def test_a_flag_replaces_a_suites_list_in_each_of_its_grids_and_nothing_else() -> None:
    suite, plan = load_suite("starter"), told("--suite", "starter", "--batch", "4", "--seed", "9")
    assert len(suite.sweeps) > 1
    assert [sweep.batch_size for sweep in plan.sweeps] == [(4,)] * len(suite.sweeps)
    assert [sweep.scenarios for sweep in plan.sweeps] == [s.scenarios for s in suite.sweeps]
    assert [sweep.models for sweep in plan.sweeps] == [s.models for s in suite.sweeps]
    assert (plan.seed, plan.name) == (9, suite.name)


def test_models_named_beside_a_suite_are_kept_of_it_with_their_grids() -> None:
    plan = told("--suite", "starter", "--models", "mlp")
    assert {sweep.models for sweep in plan.sweeps} == {("mlp",)}
