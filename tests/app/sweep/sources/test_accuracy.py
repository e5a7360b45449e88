"""When accuracy is measured: after the rounds, once for each subject that gave outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.accuracy import AccuracyResult, subject_of
from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import Status
from app.sweep.jobs import (
    Assessed,
    AssessJob,
    Exported,
    ExportJob,
    Job,
    Measured,
    Outcome,
    RoundJob,
    SettledJob,
)
from app.sweep.rounds import Schedule
from app.sweep.sources.accuracy import WithAccuracy, data_for
from app.sweep.sources.fixed import FixedSweep
from exporters.request import ExportReply
from exporters.types import ExportedModel
from tests.app.sweep.sweeps import SHORT, exported_add, fake_case

FAST, SLOW = fake_case(latency_us=1.0), fake_case(latency_us=2.0)


@pytest.fixture
def model(tmp_path: Path) -> ExportedModel:
    return exported_add(tmp_path)


def source_of(
    cases: Sequence[Case],
    given: str = "data.npz",
    recorded: Mapping[str, Mapping[int, Status]] | None = None,
    done: Sequence[str] = (),
) -> WithAccuracy:
    recorded = recorded or {}
    fixed = FixedSweep(Schedule(cases, 2, SHORT, 60.0, 5, Path("samples")), recorded)
    return WithAccuracy(fixed, cases, given, list(recorded), done, 60.0)


def run_through(
    source: WithAccuracy, model: ExportedModel | None, statuses: Mapping[str, Status] | None = None
) -> list[Job]:
    """Play the engine, which asks for the next job while one is still in flight."""
    jobs: list[Job] = []
    finished: list[Outcome] = []
    while (job := source.next(finished)) is not None:
        jobs.append(job)
        early = source.next([])
        assert early is None or not isinstance(early, AssessJob)
        finished = [outcome_of(one, model, statuses or {}) for one in (job, early) if one]
        jobs += [early] if early else []
    return jobs


def outcome_of(job: Job, model: ExportedModel | None, statuses: Mapping[str, Status]) -> Outcome:
    match job:
        case ExportJob():
            return Exported(job, ExportReply("ok" if model else "export_failed", model))
        case SettledJob():
            return Measured(job, job.result)
        case RoundJob(measure):
            status = statuses.get(measure.case_id, "ok")
            return Measured(job, RoundResult(measure.case_id, measure.round, status))
        case AssessJob():
            return Assessed(job, AccuracyResult(job.accuracy.subject.case_id, "data.npz", 0.5))


def assessed(jobs: Sequence[Job]) -> list[str]:
    return [job.case_id for job in jobs if isinstance(job, AssessJob)]


def test_accuracy_comes_after_the_last_round_has_ended(model: ExportedModel) -> None:
    jobs = run_through(source_of((FAST, SLOW)), model)
    kinds = [type(job) for job in jobs]
    assert kinds == [ExportJob] + [RoundJob] * 4 + [AssessJob] * 2


def test_cases_that_differ_only_in_timing_share_one(model: ExportedModel) -> None:
    cases = (FAST, replace(FAST, threads=2), SLOW)
    assert assessed(run_through(source_of(cases), model)) == [FAST.case_id, SLOW.case_id]


@pytest.mark.parametrize("status", ["crashed", "timeout", "unsupported", "out_of_memory"])
def test_a_case_that_gave_no_output_is_not_tried_again(
    model: ExportedModel, status: Status
) -> None:
    jobs = run_through(source_of((FAST, SLOW)), model, {FAST.case_id: status})
    assert assessed(jobs) == [SLOW.case_id]


@pytest.mark.parametrize("status", ["partial", "wrong_output"])
def test_outputs_that_are_wrong_are_counted_all_the_same(
    model: ExportedModel, status: Status
) -> None:
    jobs = run_through(source_of((FAST,)), model, {FAST.case_id: status})
    assert assessed(jobs) == [FAST.case_id]


def test_a_model_that_was_not_exported_has_no_accuracy() -> None:
    assert assessed(run_through(source_of((FAST,)), None)) == []


def test_a_resumed_run_measures_what_is_missing_only(model: ExportedModel) -> None:
    recorded: dict[str, dict[int, Status]] = {
        case.case_id: {0: "ok", 1: "ok"} for case in (FAST, SLOW)
    }
    done = [subject_of(FAST, model).case_id]
    jobs = run_through(source_of((FAST, SLOW), recorded=recorded, done=done), model)
    assert [type(job) for job in jobs] == [ExportJob, AssessJob]
    assert assessed(jobs) == [SLOW.case_id]


def test_without_labelled_data_nothing_is_added(model: ExportedModel) -> None:
    assert assessed(run_through(source_of((FAST,), given=""), model)) == []


def test_a_definition_with_data_of_its_own_needs_none_given() -> None:
    digits = Case("digits_mlp_8", "ort-cpu")
    assert data_for(digits, "") == "exporters.models.digits.data:test_set"
    assert data_for(digits, "mine.npz") == "mine.npz"
    assert data_for(Case("cnn_tiny", "ort-cpu"), "") == ""
    assert data_for(Case("some/file.onnx", "ort-cpu"), "") == ""
