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
    found = estimate(plan_of())
    assert found.exports_s == MODULE_EXPORT_S + FILE_EXPORT_S
    per_round = found.shortest_s / (found.cases * found.rounds)
    assert found.longest_s > found.shortest_s + found.exports_s
    assert per_round > 1.0


def test_a_budget_bounds_the_whole() -> None:
    found = estimate(plan_of(budget_s=3.0))
    assert (found.shortest_s, found.longest_s) == (3.0, 3.0)


def test_the_operator_times_of_each_case_are_counted() -> None:
    without, found = estimate(plan_of()), estimate(plan_of(profile_ops=True))
    starts_s = 2 * PROCESS_START_S * found.cases
    assert found.shortest_s == without.shortest_s + starts_s
    assert found.longest_s == without.longest_s + starts_s + OPERATOR_RUNS_S * found.cases


def test_an_accuracy_is_counted_once_for_all_batches_and_threads() -> None:
    grid = {"models": ["mlp", "digits_mlp_8"], "runtimes": ["fake"], "threads": [1, 2]}
    sweeps = [{**grid, "batch_size": [1, 8, 64]}]
    own, given = estimate(plan_of(sweeps=sweeps)), estimate(plan_of(sweeps=sweeps, accuracy="x"))
    assert given.shortest_s - own.shortest_s == pytest.approx(PROCESS_START_S)
    labelled = [{**sweeps[0], "models": ["digits_mlp_8"]}]
    unlabelled = [{**sweeps[0], "models": ["mlp"]}]
    with_data, without = (estimate(plan_of(sweeps=s)) for s in (labelled, unlabelled))
    assert with_data.shortest_s - without.shortest_s == pytest.approx(PROCESS_START_S)


@pytest.mark.parametrize(("rounds", "bound"), [(5, "shortest_s"), (MINIMUM_ROUNDS, "longest_s")])
def test_the_starter_suite_fits_its_budget_by_the_estimate(rounds: int, bound: str) -> None:
    """Five rounds as a rule, though a start counts a second and a half, and where each round takes
    the longest as many as a verdict takes. On the three runtimes for processors and the card."""
    suite = load_suite("starter")
    assert suite.budget_s is not None
    assert suite.budget_s < 300
    assert suite.lengths.rounds == 8
    here = ("ort-cpu", "openvino-cpu", "torch-cpu")
    named = {"available": here}
    sweeps = [
        sweep.model_copy(
            update={"runtimes": tuple(n for t in sweep.runtimes for n in named.get(t, (t,)))}
        )
        for sweep in suite.sweeps
    ]
    unbounded = {"budget_s": None, "rounds": rounds, "sweeps": tuple(sweeps)}
    found = estimate(suite.model_copy(update=unbounded))
    assert found.cases == 22
    assert getattr(found, bound) <= suite.budget_s
