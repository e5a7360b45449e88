"""Cold starts come after the rounds, number by number, and one without an answer is the last."""

from __future__ import annotations

from pathlib import Path

from app.cases.jobs import SCOUT, ColdStart, ColdStartJob, PageCache, cold_start_subject_of
from app.machine.telemetry import Telemetry
from app.sweep.engine import Engine
from app.sweep.local_executor import ThisMachine
from app.sweep.scheduling.cold_start import ColdStartFollowUp
from app.sweep.work.base import EXCLUSIVE_CPU, Work
from app.sweep.work.export import ExportWork
from app.sweep.work.follow_ups import ColdStartWork
from exporters.types import ExportedModel
from tests.app.sweep.sweeps import Given, drive, fake_case, ok_reply, script

ONE, TWO = fake_case(latency_us=1.0), fake_case(latency_us=2.0)
FILES = ("/lib/engine.so",)


def source_of(
    results: dict[str, dict[int, ColdStart]] | None = None, page_cache: PageCache = "warm"
) -> ColdStartFollowUp:
    cases = (ONE, TWO)
    ran = [case.case_id for case in cases]
    return ColdStartFollowUp(Given([]), cases, ran, results or {}, 30.0, 3, page_cache, seed=1)


def run_through(
    source: ColdStartFollowUp, model: ExportedModel, failing: str = ""
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


def test_what_the_scout_has_used_is_dropped_before_all_others(model: ExportedModel) -> None:
    works = run_through(source_of(page_cache="dropped"), model)
    assert [work.job.dropped for work in works] == [(), (), *[FILES] * 6]
    assert all(not work.job.dropped for work in run_through(source_of(), model))


def test_a_subject_without_an_answer_gets_no_more(model: ExportedModel) -> None:
    failing = cold_start_subject_of(ONE).case_id
    works = run_through(source_of(), model, failing)
    assert [w.job.subject.case_id for w in works].count(failing) == 1
    assert len(works) == 5


def test_a_resumed_source_gives_what_is_missing(model: ExportedModel) -> None:
    first_id, two = (cold_start_subject_of(case).case_id for case in (ONE, TWO))
    results = {first_id: {n: ColdStart(first_id, n) for n in range(3)}, two: {0: ColdStart(two, 0)}}
    works = run_through(source_of(results), model)
    assert [(w.job.subject.case_id, w.job.process) for w in works] == [
        (two, SCOUT),
        (two, 1),
        (two, 2),
    ]
    failures = {first_id: {0: ColdStart(first_id, 0, reason="it crashed")}, two: results[first_id]}
    assert run_through(source_of(failures), model) == []


def test_a_process_that_crashes_or_hangs_is_told_as_that(
    tmp_path: Path, model: ExportedModel
) -> None:
    job = ColdStartJob(cold_start_subject_of(ONE), 0, model, begun_ns=0)
    crashing = script(tmp_path / "crash.py", "os.kill(os.getpid(), signal.SIGSEGV)")
    hanging = script(tmp_path / "hang.py", "time.sleep(600)")
    for command, expected in ((crashing, "SIGSEGV"), (hanging, "took longer than 0.5 s")):
        work = ColdStartWork(job, 0.5 if command is hanging else 30.0, EXCLUSIVE_CPU)
        place = ThisMachine(Telemetry(), {"cold_start": command})
        with Engine(Given([work]), place) as engine:
            drive(engine)
        assert work.result is not None
        assert expected in work.result.reason
        assert work.failed and "gave no answer" in work.text()


def test_the_clock_starts_with_the_process(tmp_path: Path, model: ExportedModel) -> None:
    job = ColdStartJob(cold_start_subject_of(ONE), 0, model, begun_ns=0)
    work = ColdStartWork(job, 60.0, EXCLUSIVE_CPU)
    with Engine(Given([work]), ThisMachine(Telemetry())) as engine:
        drive(engine)
    assert work.job.begun_ns > 0
    assert work.result is not None and not work.result.reason
    assert 1.0 < work.result.phases_ms["process"] < 60e3
