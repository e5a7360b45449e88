"""What a condition changes of a round before its process starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.condition import Condition
from app.sweep.sources.rounds import Schedule, round_work
from app.sweep.work.round import RoundWork, SettledRound
from exporters.request import ExportReply
from runtimes.options import SESSIONS
from tests.app.sweep.sweeps import SHORT, exported_add, fake_case, ok_reply


def work_of(
    tmp_path: Path, condition: str, beside: ExportReply | None = None
) -> RoundWork | SettledRound:
    case = replace(fake_case(sessions=2), condition=Condition.parse(condition))
    schedule = Schedule((case,), 1, SHORT, 60.0, 0, tmp_path)
    return round_work(schedule, case, 0, ok_reply(exported_add(tmp_path)), beside=beside)


def test_a_sustained_round_has_its_time_on_top_of_the_limit(tmp_path: Path) -> None:
    work = work_of(tmp_path, "sustained:30min")
    assert isinstance(work, RoundWork)
    assert (work.job.limits.min_s, work.job.limits.max_s) == (1800.0, 1800.0)
    assert work.time_limit_s == 60.0 + 1800.0


def test_a_neighbour_is_one_session_however_many_are_measured(tmp_path: Path) -> None:
    work = work_of(tmp_path, "with:add.onnx", beside=ok_reply(exported_add(tmp_path)))
    assert isinstance(work, RoundWork)
    assert work.job.neighbour is not None
    assert SESSIONS.name not in work.job.neighbour.settings.options
    assert work.job.settings.options[SESSIONS.name] == 2


@pytest.mark.parametrize("status", ["export_failed", "out_of_memory"])
def test_a_neighbour_that_is_not_exported_ends_the_case_with_its_reason(
    tmp_path: Path, status: str
) -> None:
    work = work_of(tmp_path, "with:other", beside=ExportReply(status, reason="it is torn"))
    assert isinstance(work, SettledRound)
    assert (work.result.status, work.result.reason) == (status, "the neighbour other: it is torn")
