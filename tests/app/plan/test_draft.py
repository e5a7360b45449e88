from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.plan.plan import EMPTY, checked, parse_plan
from app.plan.plan_files import load_suite, suite_names


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_goes_through_the_editor_unchanged(name: str) -> None:
    plan = load_suite(name)
    assert checked(plan) == plan


def test_what_no_form_shows_is_kept(tmp_path: Path) -> None:
    data = {"accuracy": str(tmp_path), "time_limit_s": 7.5, "sweeps": [{"models": ["mlp"]}]}
    plan = parse_plan(data, "test")
    assert checked(plan) == plan


def test_an_empty_draft_is_no_plan_and_says_what_is_missing() -> None:
    with pytest.raises(PlanError, match="models"):
        checked(EMPTY)
