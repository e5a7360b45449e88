"""A deadline on the command line and in a plan: what is understood, and that it survives both."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.plan.command import command_line
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, plan_toml

GRID = {"sweeps": [{"models": ["mlp"], "runtimes": ["fake"]}]}


def asked(word: str) -> Plan:
    return plan_from_options(parse(["--headless", "--models", "mlp", f"--deadline={word}"]))


@pytest.mark.parametrize(
    ("word", "deadline_us"), [("100us", 100.0), ("2.5 ms", 2500.0), ("1s", 1e6), ("0.5us", 0.5)]
)
def test_a_deadline_is_a_time_with_its_unit(word: str, deadline_us: float) -> None:
    assert asked(word).deadline_us == deadline_us


@pytest.mark.parametrize("word", ["100", "0us", "-5us", "5min", "2d", "1e3us", "", "90000s"])
def test_what_is_no_deadline_is_refused_with_a_form_that_is(word: str) -> None:
    with pytest.raises(PlanError, match="write it like 100us or 2ms"):
        asked(word)


@pytest.mark.parametrize("value", [0, -1.0, "100us", float("inf")])
def test_a_plan_file_with_an_impossible_one_is_refused(value: object) -> None:
    with pytest.raises(PlanError, match="deadline_us"):
        parse_plan({**GRID, "deadline_us": value}, "the plan")


@pytest.mark.parametrize("word", ["100us", "0.1us", "12345.678us", "3s"])
def test_it_survives_a_command_line_and_a_plan_file(word: str, tmp_path: Path) -> None:
    plan = asked(word)
    assert f"--deadline {plan.deadline_us:.15g}us" in command_line(plan, tmp_path)
    file = tmp_path / "again.toml"
    file.write_text(plan_toml(plan), "utf-8")
    assert load_plan(file).deadline_us == plan.deadline_us
