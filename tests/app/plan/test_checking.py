"""What a check takes of a plan that was made to measure, and of a word for all runtimes."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.machine import installed_runtimes
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import parse_plan
from app.plan.plan_files import load_suite
from runtimes import registry
from runtimes.tensorrt.package import TENSORRT_RTX
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
