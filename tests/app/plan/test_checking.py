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
from runtimes import registry
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


def plan_of(**values: object) -> Plan:
    grid = {"models": ["mlp", "nets/a.onnx"], "runtimes": ["fake"], "threads": [1, 2]}
    return parse_plan({"sweeps": [grid, grid], **values}, "the plan")


def test_each_model_is_exported_once_for_all_of_its_cases() -> None:
    total = estimate(plan_of())
    assert total.exports_s == MODULE_EXPORT_S + FILE_EXPORT_S
    per_round = total.shortest_s / (total.cases * total.rounds)
    assert total.longest_s > total.shortest_s + total.exports_s
    assert per_round > 1.0


def test_a_budget_bounds_the_whole() -> None:
    result = estimate(plan_of(budget_s=3.0))
    assert (result.shortest_s, result.longest_s) == (3.0, 3.0)


def test_the_operator_times_of_each_case_are_counted() -> None:
    plain, profile_estimate = estimate(plan_of()), estimate(plan_of(profile_ops=True))
    starts_s = 2 * PROCESS_START_S * profile_estimate.cases
    assert profile_estimate.shortest_s == plain.shortest_s + starts_s
    assert (
        profile_estimate.longest_s
        == plain.longest_s + starts_s + OPERATOR_RUNS_S * profile_estimate.cases
    )


def test_an_accuracy_is_counted_once_for_all_batches_and_threads() -> None:
    grid = {"models": ["mlp", "digits_mlp_8"], "runtimes": ["fake"], "threads": [1, 2]}
    sweeps = [{**grid, "batch_size": [1, 8, 64]}]
    plain, with_accuracy = (
        estimate(plan_of(sweeps=sweeps)),
        estimate(plan_of(sweeps=sweeps, accuracy="x")),
    )
    assert with_accuracy.shortest_s - plain.shortest_s == pytest.approx(PROCESS_START_S)
    labelled_sweeps = [{**sweeps[0], "models": ["digits_mlp_8"]}]
    unlabelled_sweeps = [{**sweeps[0], "models": ["mlp"]}]
    with_data, without_data = (
        estimate(plan_of(sweeps=s)) for s in (labelled_sweeps, unlabelled_sweeps)
    )
    assert with_data.shortest_s - without_data.shortest_s == pytest.approx(PROCESS_START_S)


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
