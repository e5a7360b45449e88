"""Errors of values carry cause, action and option apart, whatever the value holds."""

from __future__ import annotations

import pytest

from app.cases.errors import PlanError
from app.cases.scenario import Scenario
from app.plan.plan import parse_plan
from app.plan.runtime_options import option_sets, reject_unknown_options
from app.plan.settings.setting import integer_from, parsed, size_in_bytes
from app.plan.settings.sweep import Sweep

TORN = "a; b: c"
"""A value with the marks at which causes were once cut."""


def test_a_flag_names_itself_as_the_option() -> None:
    with pytest.raises(PlanError) as exc_info:
        parsed(size_in_bytes, TORN, "--memory-limit")
    error = exc_info.value
    assert error.option == "--memory-limit"
    assert TORN in error.cause and TORN not in error.remedy
    assert error.remedy


@pytest.mark.parametrize("flag", ["--rounds", "--threads"])
def test_a_cause_with_a_semicolon_is_whole(flag: str) -> None:
    with pytest.raises(PlanError) as exc_info:
        parsed(integer_from(1), TORN, flag)
    assert (exc_info.value.option, TORN in exc_info.value.cause) == (flag, True)
    with pytest.raises(PlanError) as exc_info:
        parsed(Scenario.parse, TORN, "--scenario")
    assert TORN in exc_info.value.cause and exc_info.value.remedy


def test_an_option_of_a_runtime_is_named() -> None:
    sweep = Sweep(models=("mlp",), options={"fake.latency_us": (TORN,)})
    with pytest.raises(PlanError) as exc_info:
        reject_unknown_options(sweep, ["fake"])
    assert exc_info.value.option == "fake.latency_us"
    assert TORN in exc_info.value.cause and exc_info.value.remedy


def test_a_plan_names_the_key_once() -> None:
    plan = {"sweeps": [{"models": ["mlp"], "scenarios": [TORN]}]}
    with pytest.raises(PlanError) as exc_info:
        parse_plan(plan, "the plan p.toml")
    assert exc_info.value.cause.count("scenario") == 1
    assert TORN in exc_info.value.cause and exc_info.value.remedy


def test_a_session_entry_is_an_option_like_others_unless_graphlap_sets_it() -> None:
    key = "ort-cpu.session.x64quantprecision"
    sweep = Sweep(models=("mlp",), options={key: ("0", "1")})
    reject_unknown_options(sweep, ["ort-cpu"])
    values = [options["session.x64quantprecision"] for options in option_sets(sweep, "ort-cpu")]
    assert values == ["0", "1"]
    sweep = Sweep(models=("mlp",), options={"ort-cpu.session.intra_op.allow_spinning": ("0",)})
    with pytest.raises(PlanError) as exc_info:
        reject_unknown_options(sweep, ["ort-cpu"])
    assert "ort-cpu.intra_op_spinning" in exc_info.value.remedy
