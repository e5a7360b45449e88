"""Cores that can't be had, and a priority that could hang the machine, are refused beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from app.cases.errors import PlanError
from app.machine.placement import as_list, cores_online, on_cores, usable_cores
from app.plan.plan import Plan, parse_plan
from app.plan.validation import reject_misplaced
from tests.app.machine.unprivileged import needs_cores


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


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cores": "2-"}, "'2-' is no list of cores: write it as 2,3 or 2-5"),
        ({"cores": [2, 3]}, "cores = [2, 3] is not valid"),
        ({"realtime": 0}, "realtime = 0 is not valid"),
        ({"realtime": 100}, "realtime = 100 is not valid"),
        ({"lock_memory": "yes"}, "lock_memory = 'yes' is not valid"),
    ],
)
def test_what_can_not_be_meant_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError, match="the plan: ") as caught:
        plan(**given)
    assert sentence in str(caught.value)
