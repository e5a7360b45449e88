"""When accuracy is measured: after the rounds, once for each subject that gave outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from app.capabilities.accuracy.follow_up import AccuracyFollowUp, AccuracyWork
from app.cases.case import Case
from app.cases.jobs import AccuracyResult, subject_of
from app.cases.round import RoundResult
from app.cases.status import Status
from app.plan.models import data_for
from app.run_folder.run import Run
from app.sweep.scheduling.follow_up import RunState
from app.sweep.scheduling.grid import FixedSweep
from app.sweep.scheduling.round_budget import FixedRounds
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.scheduling.run_scheduler import RunScheduler
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork
from exporters.messages import ExportReply
from exporters.types import ExportedModel
from tests.app.run_folder.runs import PLAN, manifest_of
from tests.app.sweep.sweeps import IN_ROUNDS, SHORT, fake_case
from tests.app.workers.labelled_files import write_arrays

FAST, SLOW = fake_case(latency_us=1.0), fake_case(latency_us=2.0)


def source_of(
    cases: Sequence[Case],
    statuses: Mapping[str, Mapping[int, Status]] = MappingProxyType({}),
    assessed_ids: Sequence[str] = (),
    images: str = "data.npz",
    sweep: type[FixedSweep] = FixedSweep,
) -> RunScheduler:
    """Of a run of these cases; others with a status are known to its folder."""
    rounds = {
        case_id: {n: RoundResult(case_id, n, status) for n, status in entries.items()}
        for case_id, entries in statuses.items()
    }
    accuracies = {s: {0: AccuracyResult(s, images, 0.5)} for s in assessed_ids}
    manifest = manifest_of(cases, plan=PLAN.model_copy(update={"accuracy": images}))
    run = Run(Path("run"), manifest, rounds, {}, {}, {AccuracyResult: accuracies})
    schedule = Schedule(cases, 2, SHORT, 60.0, 5, Path("samples"), IN_ROUNDS)
    state = RunState(sweep(schedule, statuses, FixedRounds(2)), run)
    return RunScheduler(state, [AccuracyFollowUp(state)])


def run_through(
    source: RunScheduler, model: ExportedModel | None, statuses: Mapping[str, Status] | None = None
) -> list[Work]:
    """Play the engine, which asks for the next work while some is still in flight."""
    works: list[Work] = []
    ended_work: list[Work] = []
    while (work := source.next(ended_work)) is not None:
        early = source.next([])
        assert early is None or not isinstance(early, AccuracyWork)
        ended_work = [each for each in (work, early) if each]
        works += ended_work
        for each in ended_work:
            if isinstance(each, ExportWork):
                each.reply = ExportReply("ok" if model else "export_failed", model)
            elif isinstance(each, RoundWork):
                case_id = each.job.case.case_id
                status = (statuses or {}).get(case_id, "ok")
                each.result = RoundResult(case_id, each.job.round, status)
            elif isinstance(each, AccuracyWork):
                each.result = AccuracyResult(each.job.subject.case_id, "data.npz", 0.5)
    return works


def assessed(works: Sequence[Work]) -> list[str]:
    return [work.case_id for work in works if isinstance(work, AccuracyWork)]


def test_cases_that_differ_only_in_timing_share_one(model: ExportedModel) -> None:
    cases: tuple[Case, ...] = (FAST, replace(FAST, threads=2), SLOW)
    assert assessed(run_through(source_of(cases), model)) == [FAST.case_id, SLOW.case_id]
    cases = tuple(replace(FAST, threads=threads, axes={"batch": 1}) for threads in (1, 2))
    source = source_of((*cases, replace(FAST, axes={"batch": 8}), SLOW))
    assert source.follow_ups[0].remaining == 2
    run_through(source, model)
    assert source.follow_ups[0].remaining == 0


@pytest.mark.parametrize(
    ("status", "is_counted"),
    [
        ("crashed", False),
        ("timeout", False),
        ("unsupported", False),
        ("out_of_memory", False),
        ("partial", True),
        ("wrong_output", True),
    ],
)
def test_outputs_are_counted_though_wrong_and_none_are_not_tried_again(
    model: ExportedModel, status: Status, is_counted: bool
) -> None:
    work = run_through(source_of((FAST, SLOW)), model, {FAST.case_id: status})
    assert assessed(work) == [FAST.case_id] * is_counted + [SLOW.case_id]
    assert assessed(run_through(source_of((FAST,)), None)) == [], "it was not exported"


def test_a_resumed_run_measures_what_is_missing_only(model: ExportedModel) -> None:
    statuses: dict[str, dict[int, Status]] = {
        case.case_id: {0: "ok", 1: "ok"} for case in (FAST, SLOW)
    }
    several = replace(FAST, options={**FAST.options, "sessions": 2}, threads=2)
    assert subject_of(several, model) == subject_of(FAST, model)
    assert subject_of(FAST, model).options == FAST.options
    assessed_ids = [subject_of(FAST, model).case_id]
    work = run_through(source_of((FAST, SLOW), statuses=statuses, assessed_ids=assessed_ids), model)
    assert [item.kind for item in work] == ["export", "accuracy"]
    assert assessed(work) == [SLOW.case_id]


def test_a_definition_with_data_of_its_own_needs_none_given() -> None:
    assert data_for("digits_mlp_8", "") == "exporters.models.digits:test_set"
    assert data_for("digits_mlp_8", "mine.npz") == "mine.npz"
    assert data_for("cnn_tiny", "") == ""
    assert data_for("some/file.onnx", "") == ""


WINNER = Case("echo.onnx", "ort-cpu", threads=2, axes={"batch": 4})


class Late(FixedSweep):
    """Its rounds are over, and it knows a case more afterwards; `calls` counts who asked."""

    calls = 0

    def late_cases(self) -> list[Case]:
        Late.calls += 1
        return [WINNER]


def test_cases_that_are_known_afterwards_are_asked_for_once(tmp_path: Path) -> None:
    data = str(write_arrays(tmp_path / "data.npz", 4, wrong=1))
    source = source_of([], {WINNER.case_id: {0: "ok"}}, images=data, sweep=Late)
    Late.calls = 0
    work = source.next([])
    assert isinstance(work, ExportWork), "a resumed run has exported nothing yet"
    assert work.request.model == "echo.onnx"
    assert work.request.points == ({"batch": 4},)
    source.next([])
    assert Late.calls == 1
