"""What a plan will take, told while somebody types it."""

from __future__ import annotations

from app.plan.estimate import FILE_EXPORT_S, MODULE_EXPORT_S, estimate
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
