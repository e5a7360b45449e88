"""Whose name of an environment counts, and what is wrong with one, before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.plan.command_line import parse
from app.plan.configuration import VARIABLE, user_file
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.runtime_selection import environments_of
from tests.environments import make_environment


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_environment(tmp_path_factory.mktemp("environment"), "numpy"))


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's own file that holds nothing yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    user_file().parent.mkdir()
    return user_file()


def plan(runtimes: str, *environments: str) -> Plan:
    words = [word for name in environments for word in ("--python", name)]
    return plan_from_options(parse(["--models", "mlp", "--runtimes", runtimes, *words]))


def refusal(candidate: Plan) -> str:
    with pytest.raises(PlanError) as caught:
        expand(candidate)
    return str(caught.value)


def test_a_plans_own_name_wins_over_the_users(config: Path, python: str) -> None:
    config.write_text('[environments]\nold = "/nowhere/python"\nmine = "' + python + '"\n')
    assert environments_of(plan("fake@old,fake@mine", f"old={python}")) == {
        "old": python,
        "mine": python,
    }
    assert environments_of(plan("fake")) == {}, "what no runtime names is not asked"


def test_a_name_that_is_not_known_is_told_with_those_that_are(config: Path, python: str) -> None:
    message = refusal(plan("fake@older"))
    assert "there is no environment called 'older' (none is known)" in message
    config.write_text(f'[environments]\nold = "{python}"\n')
    message = refusal(plan("fake@older,fake@new", f"new={python}"))
    assert "'older' (known are old, new): add --python older=PATH" in message


def test_an_environment_that_no_runtime_names_is_refused(python: str) -> None:
    assert "no runtime is of the environment 'new': name one" in refusal(
        plan("fake", f"new={python}")
    )


def test_the_at_of_a_card_is_still_its_release() -> None:
    assert [case.runtime for case in expand(plan("fpga:v80@sdk26"))] == ["fpga:v80@sdk26"]
    assert "sdk99" in refusal(plan("fpga:v80@sdk99"))
