"""A row says where its rounds ran, by what each of them read back."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from app.cases.round import RoundResult
from app.cases.telemetry import Surroundings
from app.columns.environment import placement_columns

HERE: Surroundings = {
    "affinity": [2, 3],
    "numa_nodes": [0],
    "scheduler": "fifo 10",
    "memory_locked": True,
}


def measured(**environment: Unpack[Surroundings]) -> RoundResult:
    return RoundResult("case", 0, "ok", samples="one.bin", environment={**HERE, **environment})


def test_rounds_alike_are_told_once() -> None:
    assert placement_columns([measured(), measured()]) == {
        "cores": "2-3",
        "numa_node": "0",
        "memory_locked": True,
        "scheduler": "fifo 10",
        "attempts": 1,
    }


def test_a_round_that_had_less_shows() -> None:
    other = measured(affinity=[5], numa_nodes=[1], scheduler="other", memory_locked=False)
    assert placement_columns([measured(), other]) == {
        "cores": "2-3; 5",
        "numa_node": "0; 1",
        "memory_locked": False,
        "scheduler": "fifo 10; other",
        "attempts": 1,
    }


def test_what_older_rounds_did_not_tell_is_empty() -> None:
    old = RoundResult("case", 0, "ok", samples="one.bin", environment={"affinity": [1]})
    columns = placement_columns([old])
    assert columns.pop("attempts") == 1
    assert columns == {"cores": "1", "numa_node": None, "memory_locked": None, "scheduler": None}
    assert set(placement_columns([]).values()) == {None}


def test_a_case_whose_host_was_lost_tells_how_often_it_was_begun() -> None:
    assert placement_columns([measured(), replace(measured(), attempt=3)])["attempts"] == 3
