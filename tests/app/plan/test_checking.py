"""What a check takes of a plan that was made to measure, and cores that can't be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cases.errors import PlanError
from app.machine import installed_runtimes
from app.machine.placement import as_list, cores_online, on_cores, usable_cores
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_suite
from app.plan.validation import reject_misplaced
from runtimes import registry
from runtimes.tensorrt.package import TENSORRT_RTX
from tests.app.machine.unprivileged import needs_cores
from tests.runtimes.stand_ins.fixtures import TESTED_RTX_RELEASE, installed


def test_a_suite_is_checked_once_a_model_whatever_it_measures() -> None:
    """`starter` asks for gaps, rounds, a budget and a profile, which mean nothing to a check."""
    suite = load_suite("starter")
    assert suite.budget_s
    models = {model for sweep in suite.sweeps for model in sweep.models}
    plan = plan_from_options(parse(["--check", "--suite", "starter", "--runtimes", "fake"]))
    assert plan.budget_s is None
    cases = expand(plan)
    assert len(cases) == len(models)
    assert {case.model for case in cases} == models


def test_a_plan_that_says_both_is_refused(tmp_path: Path) -> None:
    grid = {"models": ["mlp"], "runtimes": ["fake"], "conditions": ["cold:64MB"]}
    with pytest.raises(PlanError, match="--condition cannot be used with --check"):
        expand(parse_plan({"check": True, "sweeps": [grid]}, "test"))


def test_all_runtimes_are_those_of_the_table_here_or_not() -> None:
    plan = plan_from_options(parse(["--models", "mlp", "--runtimes", "fpga:ia-840f,all"]))
    (sweep,) = plan.sweeps
    assert {"ort-cpu", "ort-cuda", "tensorrt", "torch-cuda", "fpga:ia-840f"} <= set(sweep.runtimes)
    assert set(sweep.runtimes) - {"fpga:ia-840f"} <= set(registry.names()) - {"fake"}
    assert len(sweep.runtimes) == len(set(sweep.runtimes))


def test_a_gpu_that_is_not_here_is_checked_for_and_one_that_does_not_exist_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(TENSORRT_RTX, TESTED_RTX_RELEASE, monkeypatch)
    asked_anew = installed_runtimes._check_availability.__wrapped__
    monkeypatch.setattr(installed_runtimes, "_check_availability", asked_anew)
    flags = ["--check", "--models", "mlp", "--runtimes"]
    (case,) = expand(plan_from_options(parse([*flags, "tensorrt-rtx:sm89"])))
    assert case.runtime == "tensorrt-rtx:sm89"
    with pytest.raises(PlanError, match=r"no device 'sm90': its devices are .*tensorrt-rtx:sm75 "):
        expand(plan_from_options(parse([*flags, "tensorrt-rtx:sm90"])))


def plan(**values: Any) -> Plan:
    return parse_plan({"sweeps": [{"models": ["mlp"]}], **values}, "the plan")


def refusal(**values: Any) -> str:
    with pytest.raises(PlanError) as caught:
        reject_misplaced(plan(**values))
    return str(caught.value)


def test_cores_that_are_here_are_taken() -> None:
    reject_misplaced(plan())
    reject_misplaced(plan(cores=as_list(usable_cores())))


def test_a_core_that_is_not_there_is_named_with_those_that_are() -> None:
    absent = max(cores_online()) + 1
    message = refusal(cores=f"0,{absent}")
    assert f"core {absent} is not there" in message
    assert f"choose among {as_list(usable_cores())}" in message


@needs_cores
def test_a_core_that_another_hand_has_taken_away_is_named() -> None:
    first, *_, last = sorted(usable_cores())
    with on_cores({first}):
        message = refusal(cores=f"{first},{last}")
    assert f"core {last} is not allowed to this process" in message
    assert f"choose among {first}" in message


def test_a_priority_that_would_take_every_core_is_refused() -> None:
    assert "leave at least one out of --cores" in refusal(cores=as_list(usable_cores()), realtime=1)
    assert "give --cores" in refusal(realtime=1)


@needs_cores
def test_a_priority_that_leaves_a_core_is_taken() -> None:
    reject_misplaced(plan(cores=str(max(usable_cores())), realtime=1))


def test_cores_are_kept_as_they_are_written_shortest() -> None:
    assert plan(cores="5, 2,3,4").cores == "2-5"
    assert plan(cores="2-5").chosen_cores == (2, 3, 4, 5)
    assert plan().chosen_cores == ()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cores": "2-"}, "'2-' is no list of cores: write it as 2,3 or 2-5"),
        ({"cores": [2, 3]}, "cores = [2, 3] is not valid"),
        ({"realtime": 0}, "realtime = 0 is not valid"),
        ({"realtime": 100}, "realtime = 100 is not valid"),
        ({"lock_memory": "yes"}, "lock_memory = 'yes' is not valid"),
    ],
)
def test_what_can_not_be_meant_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError, match="the plan: ") as caught:
        plan(**given)
    assert sentence in str(caught.value)
