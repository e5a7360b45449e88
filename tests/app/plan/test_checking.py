"""What a check takes of a plan that was made to measure, and cores that can't be had."""

from __future__ import annotations

from typing import Any

import pytest

from app.cases.errors import PlanError
from app.machine import installed_runtimes
from app.machine.placement import as_list, cores_online, on_cores, usable_cores
from app.plan.command_line import parse
from app.plan.estimate import (
    FILE_EXPORT_S,
    MODULE_EXPORT_S,
    OPERATOR_RUNS_S,
    PROCESS_START_S,
    estimate,
)
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_suite
from app.plan.validation import reject_misplaced
from app.stats.intervals import MINIMUM_ROUNDS
from runtimes.tensorrt.build import TENSORRT_RTX
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


def plan_of(**values: object) -> Plan:
    grid = {"models": ["mlp", "nets/a.onnx"], "runtimes": ["fake"], "threads": [1, 2]}
    return parse_plan({"sweeps": [grid, grid], **values}, "the plan")


def test_each_model_is_exported_once_and_a_budget_bounds_the_whole() -> None:
    """Operator times are counted for each case, an accuracy once for all batches and threads."""
    plain, profiled = estimate(plan_of()), estimate(plan_of(profile_ops=True))
    assert plain.exports_s == MODULE_EXPORT_S + FILE_EXPORT_S
    assert plain.longest_s > plain.shortest_s + plain.exports_s
    starts_s, runs_s = (s * plain.cases for s in (2 * PROCESS_START_S, OPERATOR_RUNS_S))
    assert profiled.shortest_s == plain.shortest_s + starts_s
    assert profiled.longest_s == plain.longest_s + starts_s + runs_s
    bounded = estimate(plan_of(budget_s=3.0))
    assert (bounded.shortest_s, bounded.longest_s) == (3.0, 3.0)
    grid = {"models": ["mlp", "digits_mlp_8"], "runtimes": ["fake"], "batch_size": [1, 8]}
    without, with_data = (
        estimate(plan_of(sweeps=[{**grid, "threads": [1, 2]}], accuracy=data)) for data in ("", "x")
    )
    assert with_data.shortest_s - without.shortest_s == pytest.approx(PROCESS_START_S)


@pytest.mark.parametrize(("rounds", "bound"), [(5, "shortest_s"), (MINIMUM_ROUNDS, "longest_s")])
def test_the_starter_suite_fits_its_budget_by_the_estimate(rounds: int, bound: str) -> None:
    """Five rounds as a rule, though a start counts a second and a half, and where each round takes
    the longest as many as a verdict takes. On the three runtimes for processors and the card."""
    suite = load_suite("starter")
    assert suite.budget_s is not None
    assert suite.budget_s < 300
    assert suite.lengths.rounds == 8
    runtimes = ("ort-cpu", "openvino-cpu", "torch-cpu")
    aliases = {"available": runtimes}
    sweeps = [
        sweep.model_copy(
            update={"runtimes": tuple(n for t in sweep.runtimes for n in aliases.get(t, (t,)))}
        )
        for sweep in suite.sweeps
    ]
    changes = {"budget_s": None, "rounds": rounds, "sweeps": tuple(sweeps)}
    result = estimate(suite.model_copy(update=changes))
    assert result.cases == 22
    assert getattr(result, bound) <= suite.budget_s
