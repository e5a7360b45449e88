"""Sweeps through real child processes: what ends well, badly, late, early or never."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.cases.case import Case, Scenario
from app.cases.round import MeasureJob, RoundResult
from app.sweep.engine import Engine
from app.sweep.events import (
    Event,
    ExportFinished,
    ExportStarted,
    Finished,
    Paused,
    RoundDropped,
    RoundFinished,
    RoundPhase,
    RoundProgress,
    RoundStarted,
)
from app.sweep.jobs import ExportJob, Job, Outcome, RoundJob
from app.sweep.rounds import Schedule
from app.sweep.sources.fixed import FixedSweep
from exporters.request import ExportRequest
from exporters.types import ExportedModel
from runtimes.options import OptionValue, Settings
from tests.app.sweep.sweeps import SHORT, Heard, drive, exported_add, fake_case, ok_reply


@pytest.fixture
def model(tmp_path: Path) -> ExportedModel:
    return exported_add(tmp_path)


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    folder = tmp_path / "samples"
    folder.mkdir()
    return folder


class Rounds:
    """A job source of given jobs, one after another."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.left = list(jobs)
        self.finished: list[Outcome] = []

    def next(self, finished: Sequence[Outcome]) -> Job | None:
        self.finished += finished
        return self.left.pop(0) if self.left else None


def round_job(
    model: ExportedModel,
    samples: Path,
    number: int = 0,
    *,
    time_limit_s: float = 30.0,
    min_s: float = SHORT.min_s,
    **options: OptionValue,
) -> RoundJob:
    case = fake_case(**options)
    measure = MeasureJob(
        case_id=case.case_id,
        round=number,
        model=model,
        axes={},
        runtime="fake",
        settings=Settings(options=options),
        scenario=Scenario(),
        wait_policy="spin",
        limits=replace(SHORT, min_s=min_s, max_s=min_s + 1.0),
        seed=1,
        samples_path=str(samples / f"{case.case_id}.{number}.bin"),
    )
    return RoundJob(measure, time_limit_s)


def results(heard: Heard) -> list[RoundResult]:
    return [event.result for event in heard.events if isinstance(event, RoundFinished)]


def script(path: Path, body: str) -> tuple[str, ...]:
    path.write_text("import json, os, signal, subprocess, sys, time\n" + body)
    return sys.executable, str(path)


def test_a_round_is_told_from_its_start_to_its_result(model: ExportedModel, samples: Path) -> None:
    job = round_job(model, samples, latency_us=50.0)
    with Engine(Rounds([job])) as engine:
        heard = drive(engine)
    kinds = [type(event) for event in heard.events]
    assert kinds[0] is RoundStarted
    assert kinds[-2:] == [RoundFinished, Finished]
    phases = [event.phase for event in heard.of(RoundPhase) if isinstance(event, RoundPhase)]
    assert phases[:2] == ["import", "compile"]
    assert "measure" in phases
    progress = [event for event in heard.events if isinstance(event, RoundProgress)]
    assert progress[-1].p50_ns == pytest.approx(50e3, rel=0.5)
    (result,) = results(heard)
    assert result.status == "ok"
    assert (samples / result.samples).stat().st_size >= 32 * result.iterations


def test_a_crash_is_one_result_that_names_the_signal(model: ExportedModel, samples: Path) -> None:
    jobs = [round_job(model, samples, fail="crash"), round_job(model, samples, latency_us=5.0)]
    with Engine(Rounds(jobs)) as engine:
        crashed, after = results(drive(engine))
    assert crashed.status == "crashed"
    assert "SIGSEGV" in crashed.reason
    assert after.status == "ok", "the sweep goes on"


def test_the_last_word_of_a_dead_child_is_in_the_reason(
    model: ExportedModel, samples: Path, tmp_path: Path
) -> None:
    command = script(tmp_path / "dies.py", "sys.stderr.write('out of paper\\n\\n'); sys.exit(7)")
    with Engine(Rounds([round_job(model, samples)]), measure_command=command) as engine:
        (result,) = results(drive(engine))
    assert result.status == "crashed"
    assert "exit code 7: out of paper" in result.reason


def test_a_hang_ends_at_the_time_limit(model: ExportedModel, samples: Path) -> None:
    job = round_job(model, samples, fail="hang", time_limit_s=2.0)
    with Engine(Rounds([job])) as engine:
        (result,) = results(drive(engine))
    assert result.status == "timeout"
    assert "2 s" in result.reason


def test_a_child_that_ignores_the_polite_signal_is_killed_with_its_descendants(
    model: ExportedModel, samples: Path, tmp_path: Path
) -> None:
    body = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    command = script(tmp_path / "stubborn.py", body)
    job = round_job(model, samples, time_limit_s=1.0)
    with Engine(Rounds([job]), measure_command=command) as engine:
        (result,) = results(drive(engine))
    assert result.status == "timeout"
    assert_gone(int((tmp_path / "pid").read_text()))


def test_a_descendant_that_holds_the_pipes_does_not_hold_up_the_sweep(
    model: ExportedModel, samples: Path, tmp_path: Path
) -> None:
    command = script(tmp_path / "forks.py", "subprocess.Popen(['sleep', '600']); sys.exit(3)")
    with Engine(Rounds([round_job(model, samples)]), measure_command=command) as engine:
        (result,) = results(drive(engine))
    assert "exit code 3" in result.reason


def test_pausing_lets_the_round_end_and_starts_no_other(
    model: ExportedModel, samples: Path
) -> None:
    jobs = [round_job(model, samples, number) for number in range(2)]
    engine = Engine(Rounds(jobs))

    def react(event: Event) -> None:
        if isinstance(event, RoundStarted) and event.job.measure.round == 0:
            engine.pause()
        elif isinstance(event, Paused):
            assert [result.round for result in results(heard)] == [0]
            engine.resume()

    heard = Heard()
    with engine:
        deadline = time.monotonic() + 60
        while not engine.finished and time.monotonic() < deadline:
            for event in engine.poll(0.05):
                heard.events.append(event)
                react(event)
    assert [type(e) for e in heard.events].count(Paused) == 1
    assert [result.round for result in results(heard)] == [0, 1]


def test_a_stopped_round_does_not_count_and_nothing_follows(
    model: ExportedModel, samples: Path
) -> None:
    jobs = [round_job(model, samples, number, min_s=60.0) for number in range(2)]
    with Engine(Rounds(jobs)) as engine:
        heard = drive(
            engine,
            lambda e: engine.stop() if isinstance(e, RoundProgress) else None,
        )
    assert not results(heard)
    assert len(heard.of(RoundStarted)) == 1
    assert len(heard.of(RoundDropped)) == 1
    assert heard.events[-1] == Finished(stopped=True)


def test_a_second_stop_does_not_wait_for_a_hung_block(model: ExportedModel, samples: Path) -> None:
    job = round_job(model, samples, fail="hang", time_limit_s=600.0)
    pids: list[int] = []

    def react(event: Event) -> None:
        if isinstance(event, RoundPhase) and event.phase == "first_inference":
            pids.extend(child.pid for child in psutil.Process().children(recursive=True))
            engine.stop()
            engine.stop(now=True)

    with Engine(Rounds([job])) as engine:
        heard = drive(engine, react)
    assert heard.events[-1] == Finished(stopped=True)
    assert pids
    for pid in pids:
        assert_gone(pid)


def test_leaving_the_engine_leaves_no_child(model: ExportedModel, samples: Path) -> None:
    with Engine(Rounds([round_job(model, samples, min_s=60.0)])) as engine:
        while not any(isinstance(event, RoundPhase) for event in engine.poll(1.0)):
            pass
        (child,) = psutil.Process().children()
    assert_gone(child.pid)


def test_a_whole_sweep_exports_and_then_measures(
    tmp_path: Path, samples: Path, model: ExportedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    cases = (Case(model=model.path, runtime="fake"), Case(model=model.path, runtime="ort-cpu"))
    source = FixedSweep(Schedule(cases, 1, SHORT, 60.0, 0, samples), {})
    with Engine(source) as engine:
        heard = drive(engine)
    assert [result.status for result in results(heard)] == ["ok", "ok"]
    (exported,) = [event for event in heard.events if isinstance(event, ExportFinished)]
    assert exported.reply.model is not None
    assert exported.reply.model.opset == 20


EXPORTER = """
print(os.getpid(), file=open({log!r}, 'a'))
for line in sys.stdin:
    model = json.loads(line)['model']
    if model == 'dies':
        os.kill(os.getpid(), signal.SIGABRT)
    time.sleep(0.3)
    sys.stdout.write({reply!r} + '\\n')
    sys.stdout.flush()
"""


def export_jobs(*names: str, time_limit_s: float = 30.0) -> list[ExportJob]:
    return [ExportJob(ExportRequest(name), time_limit_s) for name in names]


def exporter(tmp_path: Path, model: ExportedModel) -> tuple[str, ...]:
    import json

    reply = json.dumps(ok_reply(model).to_json())
    log = str(tmp_path / "exporters")
    return script(tmp_path / "exporter.py", EXPORTER.format(log=log, reply=reply))


def test_exporters_are_few_serve_many_and_are_gone_before_a_measurement(
    model: ExportedModel, samples: Path, tmp_path: Path
) -> None:
    jobs: list[Job] = [*export_jobs(*"abcdef"), round_job(model, samples)]
    command = exporter(tmp_path, model)
    in_flight = most = 0

    def react(event: Event) -> None:
        nonlocal in_flight, most
        if isinstance(event, ExportStarted):
            in_flight += 1
            most = max(most, in_flight)
        elif isinstance(event, ExportFinished):
            in_flight -= 1
        elif isinstance(event, RoundStarted):
            assert in_flight == 0
            for pid in pids():
                assert_gone(pid)

    def pids() -> list[int]:
        return [int(line) for line in (tmp_path / "exporters").read_text().split()]

    with Engine(Rounds(jobs), export_command=command) as engine:
        heard = drive(engine, react)
    assert len(heard.of(ExportFinished)) == 6
    assert most == min(2, os.cpu_count() or 1)
    assert len(pids()) == most
    assert results(heard)[0].status == "ok"


def test_an_exporter_that_dies_costs_one_export(model: ExportedModel, tmp_path: Path) -> None:
    command = exporter(tmp_path, model)
    with Engine(Rounds(export_jobs("a", "dies", "b")), export_command=command) as engine:
        heard = drive(engine)
    replies = {e.job.request.model: e.reply for e in heard.events if isinstance(e, ExportFinished)}
    assert {name: reply.status for name, reply in replies.items()} == {
        "a": "ok",
        "b": "ok",
        "dies": "export_failed",
    }
    assert "SIGABRT" in replies["dies"].reason


def test_an_export_that_hangs_ends_at_its_limit(tmp_path: Path) -> None:
    command = script(tmp_path / "hangs.py", "time.sleep(600)")
    source = Rounds(export_jobs("slow", time_limit_s=0.5))
    with Engine(source, export_command=command) as engine:
        heard = drive(engine)
    (event,) = heard.of(ExportFinished)
    assert isinstance(event, ExportFinished)
    assert event.reply.status == "export_failed"
    assert "0.5 s" in event.reply.reason


def assert_gone(pid: int) -> None:
    """The process ends; a child's child is reaped by the system a moment later."""
    try:
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            process.wait(10)
    except psutil.NoSuchProcess:
        pass
