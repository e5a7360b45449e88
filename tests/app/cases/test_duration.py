"""Times as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.cases.units import parse_duration
from app.plan.command import command_line
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan


def plan_of(*flags: str) -> Plan:
    return plan_from_options(parse(["--models", "mlp", "--runtimes", "fake", *flags]))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("2m", 120.0),
        ("2 min", 120.0),
        ("1.5 h", 5400.0),
        ("500ms", 0.5),
    ],
)
def test_a_time_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds
    assert plan_of("--time-limit", text).time_limit_s == seconds
    assert plan_of("--budget", text).budget_s == seconds


@pytest.mark.parametrize(
    "text", ["0", "-5s", "two minutes", "2 mins", "9" * 400, "inf", "nan", "s"]
)
def test_what_is_no_time_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(PlanError, match=r"is no time: write it like 90s or 2m") as exc_info:
        plan_of(f"--budget={text}")
    assert "--budget" in str(exc_info.value)


@pytest.mark.parametrize("value", [0, -1, True, float("inf"), float("nan"), "2m"])
@pytest.mark.parametrize("key", ["time_limit_s", "budget_s"])
def test_a_plans_keys_are_numbers_of_seconds(key: str, value: object) -> None:
    with pytest.raises(PlanError, match=key):
        parse_plan({key: value, "sweeps": [{"models": ["mlp"]}]}, "the plan")


def test_the_command_that_is_copied_has_them(tmp_path: Path) -> None:
    plan = plan_of("--budget", "2m", "--time-limit", "90s")
    assert "--time-limit 90s --budget 120s" in command_line(plan, tmp_path)
