"""Accuracies, cold starts and operator times whose process ends without a result."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.capabilities.accuracy.follow_up import AccuracyWork
from app.capabilities.cold_start.follow_up import ColdStartFollowUp, ColdStartWork
from app.capabilities.operators.follow_up import OperatorWork
from app.cases.jobs import (
    SCOUT,
    AccuracyJob,
    AccuracyResult,
    ColdStart,
    ColdStartJob,
    OperatorJob,
    OperatorTimes,
    PageCache,
    cold_start_subject_of,
)
from app.cases.round import RoundResult
from app.cases.status import Status
from app.machine.telemetry import Telemetry
from app.run_folder.run import Run
from app.sweep.engine import Engine
from app.sweep.scheduling.follow_up import RunState
from app.sweep.scheduling.grid import FixedSweep
from app.sweep.scheduling.round_budget import FixedRounds
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.scheduling.run_scheduler import RunScheduler
from app.sweep.work.base import EXCLUSIVE_CPU, Work
from app.sweep.work.export import ExportWork
from app.sweep.work.local_executor import ThisMachine
from exporters.types import ExportedModel
from tests.app.run_folder.runs import PLAN, manifest_of
from tests.app.sweep.sweeps import IN_ROUNDS, SHORT, Given, drive, fake_case, ok_reply, script

FollowUp = AccuracyWork | ColdStartWork | OperatorWork
CASE = fake_case()


def follow_up(
    kind: str, model: ExportedModel, time_limit_s: float, memory_limit_bytes: int = 0
) -> FollowUp:
    limits = time_limit_s, memory_limit_bytes
    match kind:
        case "accuracy":
            return AccuracyWork(AccuracyJob(CASE, model, "data.npz"), CASE.case_id, *limits)
        case "operators":
            return OperatorWork(OperatorJob(CASE, model), CASE, *limits)
    job = ColdStartJob(cold_start_subject_of(CASE), 0, model, begun_ns=0)
    return ColdStartWork(job, time_limit_s, EXCLUSIVE_CPU, memory_limit_bytes)


def result_of(
    work: FollowUp, command: tuple[str, ...]
) -> AccuracyResult | ColdStart | OperatorTimes:
    place = ThisMachine(Telemetry(), {work.kind: command})
    with Engine(Given([work]), place) as engine:
        drive(engine)
    assert work.result is not None
    return work.result


@pytest.mark.parametrize("kind", ["accuracy", "cold_start", "operators"])
@pytest.mark.parametrize(
    ("body", "transient"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", True),
        ("os.kill(os.getpid(), signal.SIGTERM)", True),
        ("os.kill(os.getpid(), signal.SIGSEGV)", False),
        ("sys.exit(3)", False),
        ("time.sleep(600)", True),
    ],
)
def test_a_process_that_was_ended_from_outside_is_tried_again(
    kind: str, body: str, transient: bool, tmp_path: Path, model: ExportedModel
) -> None:
    limit_s = 0.3 if "sleep" in body else 60.0
    result = result_of(follow_up(kind, model, limit_s), script(tmp_path / "end.py", body))
    assert result.reason
    assert result.transient is transient


HOG = """
sys.stdin.readline()
held = bytearray(400 << 20)
held[::4096] = b"x" * len(held[::4096])
time.sleep(600)
"""
BURST = """
sys.stdin.readline()
result = {"event": "result", "rss_peak_mb": 300.0, "subject": "s", "process": 0}
print(json.dumps(result), flush=True)
"""


@pytest.mark.parametrize(
    ("kind", "body", "limit_mib", "is_ended"),
    [
        ("accuracy", HOG, 200, True),
        ("cold_start", BURST, 299, True),
        ("cold_start", BURST, 301, False),
    ],
    ids=["held", "a peak between two looks", "less"],
)
def test_one_that_holds_too_much_memory_is_ended_for_good(
    kind: str, body: str, limit_mib: int, is_ended: bool, tmp_path: Path, model: ExportedModel
) -> None:
    work = follow_up(kind, model, 60.0, limit_mib << 20)
    result = result_of(work, script(tmp_path / "worker.py", body))
    assert ("--memory-limit" in result.reason) == bool(result.reason) == is_ended
    assert not result.transient


ONE, TWO = fake_case(latency_us=1.0), fake_case(latency_us=2.0)


FILES = ("/lib/engine.so",)


def source_of(
    results: dict[str, dict[int, ColdStart]] | None = None, page_cache: PageCache = "warm"
) -> RunScheduler:
    cases = (ONE, TWO)
    rounds = {case.case_id: {0: RoundResult(case.case_id, 0, "ok")} for case in cases}
    plan = PLAN.model_copy(update={"cold_start": 3, "page_cache": page_cache})
    manifest = manifest_of(cases, plan=plan)
    run = Run(Path("run"), manifest, rounds, {}, {}, {ColdStart: results or {}})
    schedule = Schedule(cases, 1, SHORT, 60.0, 5, Path("samples"), IN_ROUNDS)
    statuses: dict[str, dict[int, Status]] = {case.case_id: {0: "ok"} for case in cases}
    state = RunState(FixedSweep(schedule, statuses, FixedRounds(1)), run)
    return RunScheduler(state, [ColdStartFollowUp(state)])


def run_through(
    source: RunScheduler, model: ExportedModel, failing: str = ""
) -> list[ColdStartWork]:
    """Play the engine; processes of the subject `failing` give no answer."""
    works: list[ColdStartWork] = []
    ended_work: list[Work] = []
    while (work := source.next(ended_work)) is not None:
        if isinstance(work, ExportWork):
            work.reply = ok_reply(model)
        else:
            assert isinstance(work, ColdStartWork)
            subject, number = work.job.subject.case_id, work.job.process
            reason = "it crashed" if subject == failing else ""
            files = FILES if number == SCOUT else ()
            work.result = ColdStart(subject, number, files=files, reason=reason)
            works.append(work)
        ended_work = [work]
    return works


def test_subjects_take_turns_and_a_scout_of_each_comes_first(model: ExportedModel) -> None:
    works = run_through(source_of(), model)
    numbers = [work.job.process for work in works]
    assert numbers == [SCOUT, SCOUT, 0, 0, 1, 1, 2, 2]
    for turn in range(0, len(works), 2):
        assert len({work.job.subject.case_id for work in works[turn : turn + 2]}) == 2
    assert all(not work.job.dropped for work in works)
    works = run_through(source_of(page_cache="dropped"), model)
    dropped = [work.job.dropped for work in works]
    assert dropped == [(), (), *[FILES] * 6], "what the scout has used"
    failing = cold_start_subject_of(ONE).case_id
    works = run_through(source_of(), model, failing)
    assert [w.job.subject.case_id for w in works].count(failing) == 1, "it gave no answer"
    assert len(works) == 5


def test_a_resumed_source_gives_what_is_missing(model: ExportedModel) -> None:
    first_id, two = (cold_start_subject_of(case).case_id for case in (ONE, TWO))
    results = {first_id: {n: ColdStart(first_id, n) for n in range(3)}, two: {0: ColdStart(two, 0)}}
    works = run_through(source_of(results), model)
    missing = [(work.job.subject.case_id, work.job.process) for work in works]
    assert missing == [(two, SCOUT), (two, 1), (two, 2)]
    failures = {first_id: {0: ColdStart(first_id, 0, reason="it crashed")}, two: results[first_id]}
    assert run_through(source_of(failures), model) == []


def test_the_clock_starts_with_the_process(model: ExportedModel) -> None:
    work = follow_up("cold_start", model, 60.0)
    with Engine(Given([work]), ThisMachine(Telemetry())) as engine:
        drive(engine)
    assert isinstance(work, ColdStartWork)
    assert work.job.begun_ns > 0
    assert work.result is not None and not work.result.reason
    assert 1.0 < work.result.phases_ms["process"] < 60e3
