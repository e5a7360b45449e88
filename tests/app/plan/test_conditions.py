"""What a condition can't hold beside is refused before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cases.case import Case
from app.cases.errors import PlanError
from app.plan.command_line import parse
from app.plan.estimate import estimate
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import parse_plan
from tests.app.sweep.sweeps import write_add_graph


def cases(grid: dict[str, Any], **plan: Any) -> tuple[Case, ...]:
    grid = {"models": ["mlp"], "runtimes": ["fake"], **grid}
    return expand(parse_plan({**plan, "sweeps": [grid]}, "the plan"))


def test_conditions_are_an_axis_of_the_grid() -> None:
    flags = ["--models", "mlp", "--runtimes", "fake", "--condition", "none,cold:64MB,cold:1MB"]
    expanded_cases = expand(plan_from_options(parse(flags)))
    assert [str(case.condition) for case in expanded_cases] == ["none", "cold:64MB", "cold:1MB"]
    assert len({case.case_id for case in expanded_cases}) == 3


def test_without_a_condition_nothing_changes() -> None:
    (case,) = cases({})
    assert cases({"conditions": ["none"]}) == (case,)
    assert "condition" not in case.identity


@pytest.mark.parametrize(
    ("grid", "plan", "told"),
    [
        ({"conditions": ["cold:1KB"]}, {}, "'cold:1KB' is less than a page: use at least 4KiB"),
        ({"conditions": []}, {}, "conditions is empty"),
        (
            {"conditions": ["cold:1MB"], "scenarios": ["rate:200/s"]},
            {},
            "rate has no pauses: use --scenario closed_loop or paced",
        ),
        ({"conditions": ["cold:900TB"]}, {}, "more than a quarter of this machine's memory: use"),
        ({"conditions": ["with:mlpp"]}, {}, "did you mean"),
        ({"conditions": ["with:nothing.onnx"]}, {}, "no file matches 'nothing.onnx'"),
        (
            {"conditions": ["with:mlp"]},
            {"input_range": {"x": (0, 1)}},
            "as it is, and the files or nodes apply to all models: remove your files",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    grid: dict[str, Any], plan: dict[str, Any], told: str
) -> None:
    with pytest.raises(PlanError, match=told):
        cases(grid, **plan)


def test_a_bad_word_of_the_flag_is_told_with_it() -> None:
    with pytest.raises(PlanError, match="--condition 'warm' is not known: use none, cold:64MB"):
        plan_from_options(parse(["--models", "mlp", "--condition", "warm"]))


def test_the_estimate_counts_what_a_long_round_takes() -> None:
    flags = ["--models", "mlp", "--runtimes", "fake", "--rounds", "2", "--condition"]
    plain = estimate(plan_from_options(parse([*flags, "none"])))
    both = estimate(plan_from_options(parse([*flags, "none,sustained:30min"])))
    assert both.shortest_s == pytest.approx(2 * plain.shortest_s + 2 * 1800)


def test_a_neighbour_of_unknown_sizes_is_refused(tmp_path: Path) -> None:
    open_sizes = write_add_graph(tmp_path / "open.onnx", ("n", 3))
    path = write_add_graph(tmp_path / "fixed.onnx")
    (case,) = cases({"conditions": [f"with:{path}"]})
    assert case.condition.model == str(path)
    with pytest.raises(PlanError, match="no single model whose sizes are all known: name one of"):
        cases({"conditions": [f"with:{open_sizes}"]})
