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
