"""What a plan will take, told while somebody types it."""

from __future__ import annotations

import pytest

from app.plan.estimate import (
    FILE_EXPORT_S,
    MODULE_EXPORT_S,
    OPERATOR_RUNS_S,
    PROCESS_START_S,
    estimate,
)
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_suite
from app.stats.intervals import MINIMUM_ROUNDS


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
