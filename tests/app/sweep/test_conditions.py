"""What a condition changes of a round before its process starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.cases.scenario import Condition, Shapes
from app.sweep.scheduling.round_jobs import Schedule, round_work, shapes_of
from app.sweep.work.round import RoundWork, SettledRound
from exporters.messages import ExportReply
from exporters.types import FixedGraph, StatePair
from runtimes.errors import Unsupported
from runtimes.fake.runtime import Fake
from runtimes.options import SESSIONS, sessions_of
from tests.app.sweep.sweeps import SHORT, exported_add, fake_case, ok_reply


def work_of(
    tmp_path: Path, condition: str, neighbour_reply: ExportReply | None = None
) -> RoundWork | SettledRound:
    case = replace(fake_case(sessions=2), condition=Condition.parse(condition))
    schedule = Schedule((case,), 1, SHORT, 60.0, 0, tmp_path)
    return round_work(
        schedule, case, 0, ok_reply(exported_add(tmp_path)), neighbour_reply=neighbour_reply
    )


def test_a_sustained_round_has_its_time_on_top_of_the_limit(tmp_path: Path) -> None:
    work = work_of(tmp_path, "sustained:30min")
    assert isinstance(work, RoundWork)
    assert (work.job.limits.min_s, work.job.limits.max_s) == (1800.0, 1800.0)
    assert work.time_limit_s == 60.0 + 1800.0


def test_a_neighbour_is_one_session_however_many_are_measured(tmp_path: Path) -> None:
    work = work_of(tmp_path, "with:add.onnx", neighbour_reply=ok_reply(exported_add(tmp_path)))
    assert isinstance(work, RoundWork)
    assert work.job.neighbour is not None
    assert SESSIONS.name not in work.job.neighbour.settings.options
    assert work.job.settings.options[SESSIONS.name] == 2


def test_a_neighbour_beside_a_case_on_several_devices_is_unsupported(tmp_path: Path) -> None:
    neighbour = ok_reply(exported_add(tmp_path))
    case = replace(fake_case(), runtime="fake:0+1", condition=Condition.parse("with:add.onnx"))
    schedule = Schedule((case,), 1, SHORT, 60.0, 0, tmp_path)
    work = round_work(schedule, case, 0, neighbour, neighbour_reply=neighbour)
    assert isinstance(work, SettledRound)
    assert work.result.status == "unsupported"
    assert "a neighbour is one session on one device, and fake:0+1 is several" in work.result.reason


@pytest.mark.parametrize("status", ["export_failed", "out_of_memory"])
def test_a_neighbour_that_is_not_exported_ends_the_case_with_its_reason(
    tmp_path: Path, status: str
) -> None:
    work = work_of(tmp_path, "with:other", neighbour_reply=ExportReply(status, reason="it is torn"))
    assert isinstance(work, SettledRound)
    assert (work.result.status, work.result.reason) == (status, "the neighbour other: it is torn")


SHAPES = Condition("shapes", file="mix.csv", shapes=Shapes(("n",), ((1,), (8,)), (1.0, 1.0)))


@pytest.mark.parametrize(
    ("options", "changes", "told"),
    [
        ({SESSIONS.name: 2}, {}, "one session, one run at a time: use one session and one stream"),
        ({"streams": 2}, {}, "one session, one run at a time"),
        ({}, {"states": (StatePair("x", "y"),)}, "hands its state from run to run"),
        ({}, {"fixed": {"n=1": FixedGraph("a.onnx", ())}}, "exported for each size by itself"),
    ],
)
def test_what_one_session_can_not_serve_in_turn_is_unsupported(
    tmp_path: Path, options: dict[str, Any], changes: dict[str, Any], told: str
) -> None:
    model = replace(exported_add(tmp_path), **changes)
    case = replace(fake_case(), options=options, condition=SHAPES)
    with pytest.raises(Unsupported, match=told):
        shapes_of(case, model, sessions_of(Fake().options, options))


def test_a_session_of_shapes_knows_all_their_axes(tmp_path: Path) -> None:
    model = replace(exported_add(tmp_path), axes={"n": 2, "steps": 16})
    case = replace(fake_case(), axes={"steps": 32}, condition=SHAPES)
    assert shapes_of(case, model, 1) == ({"n": 1, "steps": 32}, {"n": 8, "steps": 32})
