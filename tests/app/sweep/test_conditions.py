"""What a condition, a batcher or a search gives its rounds before their process starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.capabilities.slo_search.search import rate_searches
from app.cases.case import Case
from app.cases.round import Limits
from app.cases.scenario import Batcher, Condition, Shapes
from app.runs.reader import read_run
from app.sweep.scheduling.rate_search import HighestRate
from app.sweep.scheduling.round_jobs import Schedule, batches, round_work, shapes_of
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork, SettledRound
from exporters.messages import ExportReply
from exporters.types import FixedGraph, StatePair
from runtimes.errors import Unsupported
from runtimes.fake.runtime import Fake
from runtimes.options import SESSIONS, sessions_of
from tests.app.capabilities.slo_search.searched import Script, new_search, record_round
from tests.app.columns.filled import MODEL
from tests.app.run_folder.runs import ENVIRONMENT
from tests.app.sweep.sweeps import SHORT, exported_add, fake_case, ok_reply
from tests.app.workers.conftest import AXES


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


CASE = Case("add.onnx", "ort-cpu", axes={"batch": 1}, batcher=Batcher(6, 1000.0))


def test_the_model_is_given_at_each_batch_that_is_sent(tmp_path: Path) -> None:
    model = replace(exported_add(tmp_path), axes={"batch": 1}, batch="batch")
    assert [batch_case.axes for batch_case in batches(CASE, model)] == [
        {"batch": n} for n in (1, 2, 4, 6)
    ]
    assert batches(replace(CASE, batcher=None), model) == ()


def test_what_no_batcher_can_send_together_is_told(tmp_path: Path) -> None:
    fixed_export = exported_add(tmp_path)
    open_batch = replace(fixed_export, axes={"batch": 1}, batch="batch")
    with pytest.raises(Unsupported, match="no open batch axis"):
        batches(CASE, fixed_export)
    with pytest.raises(Unsupported, match="hands its state from run to run"):
        batches(CASE, replace(open_batch, states=(StatePair("x", "y"),)))
    with pytest.raises(Unsupported, match="no server to wait for"):
        batches(replace(CASE, runtime="fpga:v80"), open_batch)


def first_round(path: Path, rates: tuple[float, ...]) -> RoundWork:
    """What the search asks for after a closed loop and a round at each of these rates."""
    with new_search(path, "p99=5ms") as folder:
        folder.begin(ENVIRONMENT)
        (search,) = rate_searches(read_run(folder.path))
        for number in range(4):
            record_round(folder, search, None, number, Script())
        for rate_hz in rates:
            record_round(folder, search, rate_hz, 0, Script())
        stored_run = read_run(folder.path)
    schedule = Schedule(
        stored_run.manifest.cases, 8, Limits(), 60.0, 1, path / "samples", arrivals_seed=5
    )
    source = HighestRate(schedule, stored_run)
    export = source.next(())
    assert isinstance(export, ExportWork)
    export.reply = ExportReply("ok", replace(MODEL, axes=AXES))
    work = source.next((export,))
    assert isinstance(work, RoundWork)
    return work


def test_rounds_at_different_rates_meet_different_gaps(tmp_path: Path) -> None:
    first = first_round(tmp_path / "first", ())
    second = first_round(tmp_path / "second", (700.0,))
    again = first_round(tmp_path / "again", ())
    assert first.job.scenario.rate_hz == 700.0
    assert second.job.scenario.rate_hz != 700.0
    assert first.job.round == second.job.round == 0
    assert first.job.arrivals_seed != second.job.arrivals_seed
    assert first.job.arrivals_seed == again.job.arrivals_seed, "a resumed search asks for the same"
