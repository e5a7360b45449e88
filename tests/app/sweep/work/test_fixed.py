"""The order in which a plan's grid is measured, and what it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import Status
from app.sweep.scheduling import round_jobs
from app.sweep.scheduling.grid import FixedSweep
from app.sweep.scheduling.round_budget import FixedRounds
from app.sweep.scheduling.round_jobs import Schedule, cores_for
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork, SettledRound
from exporters.messages import ExportReply
from exporters.types import ExportedModel
from runtimes.base import Unavailable
from tests.app.sweep.sweeps import SHORT, fake_case

CASES = tuple(fake_case(latency_us=float(n)) for n in range(1, 9))


def sweep_of(
    cases: tuple[Case, ...] = CASES,
    *,
    rounds: int = 3,
    seed: int = 5,
    results: Mapping[str, Mapping[int, Status]] | None = None,
) -> FixedSweep:
    schedule = Schedule(cases, rounds, SHORT, 60.0, seed, Path("samples"))
    return FixedSweep(schedule, results or {}, FixedRounds(rounds))


def run_through(
    sweep: FixedSweep,
    model: ExportedModel | None,
    statuses: Mapping[tuple[str, int], Status] | None = None,
) -> list[Work]:
    """Play the engine: every export gives `model`, every round ends as `statuses` says."""
    works: list[Work] = []
    ended_work: list[Work] = []
    while (work := sweep.next(ended_work)) is not None:
        works.append(work)
        ended_work = [work]
        if isinstance(work, ExportWork):
            ok = model is not None
            work.reply = ExportReply("ok" if ok else "export_failed", model, "" if ok else "no")
        elif isinstance(work, RoundWork):
            key = work.job.case_id, work.job.round
            work.result = RoundResult(*key, status=(statuses or {}).get(key, "ok"))
    return works


def rounds_in(works: list[Work]) -> list[tuple[str, int]]:
    return [(work.job.case_id, work.job.round) for work in works if isinstance(work, RoundWork)]


def test_exports_come_first_and_each_model_once(model: ExportedModel) -> None:
    other = replace(CASES[0], model="other.onnx")
    jobs = run_through(sweep_of((*CASES, other)), model)
    assert [type(job) for job in jobs[:2]] == [ExportWork, ExportWork]
    assert all(isinstance(job, RoundWork) for job in jobs[2:])


def test_an_export_asks_for_every_point_of_the_axes_once(model: ExportedModel) -> None:
    points = [{"n": 1}, {"n": 2}, {"n": 1}]
    cases = [
        replace(CASES[0], axes=axes, threads=threads) for threads, axes in enumerate(points, 1)
    ]
    job = sweep_of(tuple(cases)).next([])
    assert isinstance(job, ExportWork)
    assert job.request.points == ({"n": 1}, {"n": 2})


def test_every_round_of_every_case_is_measured_once(model: ExportedModel) -> None:
    rounds = rounds_in(run_through(sweep_of(), model))
    assert sorted(rounds) == sorted((case.case_id, n) for case in CASES for n in range(3))


def test_rounds_interleave_so_that_drift_hits_all_cases_alike(model: ExportedModel) -> None:
    order = rounds_in(run_through(sweep_of(), model))
    size = len(CASES)
    blocks = [order[i : i + size] for i in range(0, len(order), size)]
    assert [{n for _, n in block} for block in blocks] == [{0}, {1}, {2}]
    assert [c for c, _ in blocks[0]] != [c for c, _ in blocks[1]], "each block is shuffled anew"


def test_the_order_follows_the_seed(model: ExportedModel) -> None:
    first = rounds_in(run_through(sweep_of(seed=5), model))
    assert rounds_in(run_through(sweep_of(seed=5), model)) == first
    assert rounds_in(run_through(sweep_of(seed=6), model)) != first


@pytest.mark.parametrize("status", ["crashed", "timeout", "wrong_output", "unavailable"])
def test_a_case_that_failed_gets_no_further_rounds_and_the_others_keep_their_order(
    model: ExportedModel, status: Status
) -> None:
    failing = CASES[3].case_id
    left = rounds_in(run_through(sweep_of(), model, {(failing, 0): status}))
    whole = rounds_in(run_through(sweep_of(), model))
    assert left == [(case_id, n) for case_id, n in whole if case_id != failing or n == 0]


def test_partial_rounds_are_all_measured(model: ExportedModel) -> None:
    case_id = CASES[0].case_id
    jobs = run_through(sweep_of(CASES[:1]), model, {(case_id, 0): "partial"})
    assert len(rounds_in(jobs)) == 3


def test_a_resumed_sweep_measures_what_is_missing_and_nothing_else(model: ExportedModel) -> None:
    statuses: dict[str, dict[int, Status]] = {c.case_id: {0: "ok", 2: "ok"} for c in CASES}
    statuses[CASES[0].case_id] = {0: "crashed"}
    left = rounds_in(run_through(sweep_of(results=statuses), model))
    assert sorted(left) == sorted((case.case_id, 1) for case in CASES[1:])


def test_a_finished_sweep_exports_nothing() -> None:
    statuses: dict[str, dict[int, Status]] = {
        c.case_id: dict.fromkeys(range(3), "ok") for c in CASES
    }
    assert sweep_of(results=statuses).next([]) is None


def test_a_failed_export_ends_each_of_its_cases_with_a_reason() -> None:
    jobs = run_through(sweep_of(), None)
    results = [job.result for job in jobs if isinstance(job, SettledRound)]
    assert {result.case_id for result in results} == {case.case_id for case in CASES}
    assert all(r.status == "export_failed" and r.reason == "no" for r in results)
    assert not rounds_in(jobs)


def test_a_precision_the_runtime_lacks_is_refused_before_any_export() -> None:
    jobs = run_through(sweep_of((Case(model="mlp", runtime="ort-cpu", precision="fp16"),)), None)
    (job,) = jobs
    assert isinstance(job, SettledRound)
    assert job.result.status == "unsupported"
    assert "fp16" in job.result.reason


def test_a_missing_runtime_is_a_row_without_an_export(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Unavailable("no libfoo", "install foo")
    monkeypatch.setattr(round_jobs, "availability_of", lambda *_: absent)
    (job,) = run_through(sweep_of(CASES[:1]), None)
    assert isinstance(job, SettledRound)
    assert (job.result.status, job.result.reason) == ("unavailable", "no libfoo: install foo")


def test_what_a_runtime_refuses_ends_without_a_process(model: ExportedModel) -> None:
    jobs = run_through(sweep_of((fake_case(fail="unsupported"),)), model)
    assert [type(job) for job in jobs] == [ExportWork, SettledRound]


def test_no_job_starts_while_an_export_is_in_flight() -> None:
    sweep = sweep_of()
    assert isinstance(sweep.next([]), ExportWork)
    assert sweep.next([]) is None


def test_measurements_leave_a_core_to_the_parent_where_there_is_one() -> None:
    assert cores_for(1, {0, 1, 2, 3}) == (3,)
    assert cores_for(3, {0, 1, 2, 3}) == (1, 2, 3)
    assert cores_for(4, {0, 1, 2, 3}) == ()
    assert cores_for(0, {0, 1, 2, 3}) == ()


@pytest.mark.parametrize("checked", [True, False])
def test_what_is_compared_and_how_closely_reaches_exports_and_rounds(
    model: ExportedModel, checked: bool
) -> None:
    schedule = Schedule(
        CASES[:1], 1, SHORT, 60.0, 5, Path("samples"), checked=checked, tolerance=0.5
    )
    works = run_through(FixedSweep(schedule, {}, FixedRounds(1)), model)
    assert [w.request.checked for w in works if isinstance(w, ExportWork)] == [checked]
    assert [w.job.tolerance for w in works if isinstance(w, RoundWork)] == [0.5]
