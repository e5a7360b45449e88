"""Sweeps through real child processes: what ends well, badly, late, early or never."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path

import psutil
import pytest

from app.cases.round import RoundResult
from app.sweep.engine import (
    Completed,
    Dropped,
    Engine,
    Event,
    Finished,
    Paused,
    ProgressReported,
    Started,
)
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.round import RoundWork
from exporters.codec import to_json
from exporters.messages import ExportReply, ExportRequest
from exporters.types import ExportedModel
from tests.app.sweep.sweeps import Given, Heard, children, drive, ok_reply, round_work, script


def test_a_round_is_told_from_its_start_to_its_result(model: ExportedModel, samples: Path) -> None:
    work = round_work(model, samples, latency_us=50.0)
    phases: list[str] = []
    p50_ns: list[float | None] = []

    def note(event: Event) -> None:
        phases.append(work.phase)
        p50_ns.append(work.progress.p50_ns if work.progress else None)

    with Engine(Given([work])) as engine:
        record = drive(engine, note)
    kinds = [type(event) for event in record.events]
    assert kinds[0] is Started
    assert kinds[-2:] == [Completed, Finished]
    assert set(kinds[1:-2]) == {ProgressReported}
    assert "measure" in phases
    assert p50_ns[-1] == pytest.approx(50e3, rel=0.5)
    (result,) = record.results
    assert result.status == "ok"
    assert (samples / result.samples).stat().st_size >= 32 * result.iterations


def test_a_crash_is_one_result_that_names_the_signal_and_a_hang_ends_at_the_time_limit(
    model: ExportedModel, samples: Path
) -> None:
    hang = round_work(model, samples, fail="hang", time_limit_s=2.0)
    jobs = [round_work(model, samples, fail="crash"), hang, round_work(model, samples)]
    with Engine(Given(jobs)) as engine:
        crash, timeout, next_result = drive(engine).results
    ends = [result.status for result in (crash, timeout, next_result)]
    assert ends == ["crashed", "timeout", "ok"]
    assert "SIGSEGV" in crash.reason and "2 s" in timeout.reason


def test_a_child_that_ignores_the_polite_signal_is_killed_with_its_descendants(
    model: ExportedModel, tmp_path: Path
) -> None:
    body = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    assert told(tmp_path, model, body, limit_s=3.0).status == "timeout"
    assert_gone(int((tmp_path / "pid").read_text()))


def test_pausing_lets_the_round_end_and_starts_no_other(
    model: ExportedModel, samples: Path
) -> None:
    ended: list[int | None] = []

    def react(event: Event) -> None:
        if isinstance(event, Started) and round_of(event.work) == 0:
            engine.pause()
        elif isinstance(event, Completed):
            ended.append(round_of(event.work))
        elif isinstance(event, Paused):
            assert ended == [0]
            engine.resume()

    with Engine(Given([round_work(model, samples, number) for number in range(2)])) as engine:
        record = drive(engine, react)
    assert len(record.of(Paused)) == 1
    assert ended == [0, 1]


def test_a_stopped_round_does_not_count_and_nothing_follows(
    model: ExportedModel, samples: Path
) -> None:
    jobs = [round_work(model, samples, number, min_s=60.0) for number in range(2)]
    with Engine(Given(jobs)) as engine:
        record = drive(engine, lambda event: engine.stop() if is_measuring(event) else None)
    assert not record.results
    assert len(record.of(Started)) == 1
    assert len(record.of(Dropped)) == 1
    assert record.events[-1] == Finished(stopped=True)


def test_a_second_stop_does_not_wait_for_a_hung_block(model: ExportedModel, samples: Path) -> None:
    job = round_work(model, samples, fail="hang", time_limit_s=600.0)
    child_pids, pids = children(), list[int]()

    def react(event: Event) -> None:
        if phase_of(event) == "first_inference" and not pids:
            pids.extend(children() - child_pids)
            engine.stop()
            engine.stop(now=True)

    with Engine(Given([job])) as engine:
        record = drive(engine, react)
    assert record.events[-1] == Finished(stopped=True)
    assert pids
    for pid in pids:
        assert_gone(pid)


EXPORTER = """
print(os.getpid(), file=open({log!r}, 'a'))
for line in sys.stdin:
    model = json.loads(line)['model']
    if model in ('dies', 'killed'):
        os.kill(os.getpid(), signal.SIGABRT if model == 'dies' else signal.SIGKILL)
    time.sleep(0.3)
    sys.stdout.write({reply!r} + '\\n')
    sys.stdout.flush()
"""


def exports(*names: str, time_limit_s: float = 30.0) -> list[ExportWork]:
    return [ExportWork(ExportRequest(name), time_limit_s) for name in names]


def replies(record: Heard) -> dict[str, ExportReply]:
    """The replies by the model that was asked for."""
    ended_work = [event.work for event in record.events if isinstance(event, Completed)]
    works = [work for work in ended_work if isinstance(work, ExportWork)]
    return {work.request.model: work.reply for work in works if work.reply is not None}


def round_of(work: Work) -> int | None:
    return work.job.round if isinstance(work, RoundWork) else None


def phase_of(event: Event) -> str:
    if isinstance(event, ProgressReported) and isinstance(event.work, RoundWork):
        return event.work.phase
    return ""


def is_measuring(event: Event) -> bool:
    return phase_of(event) == "measure"


def exporter(tmp_path: Path, model: ExportedModel) -> tuple[str, ...]:
    reply = json.dumps(to_json(ok_reply(model)))
    log = str(tmp_path / "exporters")
    return script(tmp_path / "exporter.py", EXPORTER.format(log=log, reply=reply))


def test_exporters_are_few_serve_many_and_are_gone_before_a_measurement(
    model: ExportedModel, samples: Path, tmp_path: Path
) -> None:
    jobs: list[Work] = [*exports(*"abcdef"), round_work(model, samples)]
    command = exporter(tmp_path, model)
    in_flight = most = 0

    def react(event: Event) -> None:
        nonlocal in_flight, most
        if isinstance(event, Started) and event.work.kind == "export":
            in_flight += 1
            most = max(most, in_flight)
        elif isinstance(event, Completed) and event.work.kind == "export":
            in_flight -= 1
        elif isinstance(event, Started):
            assert in_flight == 0
            for pid in pids():
                assert_gone(pid)

    def pids() -> list[int]:
        return [int(line) for line in (tmp_path / "exporters").read_text().split()]

    with Engine(Given(jobs), ThisMachine(commands={"export": command})) as engine:
        record = drive(engine, react)
    assert len(replies(record)) == 6
    assert most == min(2, os.cpu_count() or 1)
    assert len(pids()) == most
    assert record.results[0].status == "ok"


def test_an_exporter_that_dies_costs_one_export(model: ExportedModel, tmp_path: Path) -> None:
    place = ThisMachine(commands={"export": exporter(tmp_path, model)})
    with Engine(Given(exports("a", "dies", "killed", "b")), place) as engine:
        reply_by_name = replies(drive(engine))
    statuses = {name: reply.status for name, reply in reply_by_name.items()}
    assert statuses == {"a": "ok", "b": "ok", "dies": "export_failed", "killed": "cancelled"}
    assert "SIGABRT" in reply_by_name["dies"].reason


def test_an_export_that_hangs_ends_at_its_limit(tmp_path: Path) -> None:
    place = ThisMachine(commands={"export": script(tmp_path / "hangs.py", "time.sleep(600)")})
    with Engine(Given(exports("slow", time_limit_s=0.5)), place) as engine:
        (reply,) = replies(drive(engine)).values()
    assert reply.status == "export_failed"
    assert "0.5 s" in reply.reason


def assert_gone(pid: int) -> None:
    """The process ends; a child's child is reaped by the system a moment later."""
    try:
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            process.wait(10)
    except psutil.NoSuchProcess:
        pass


MOST_MIB = 300


"""What the parent may come to hold of what a worker says without an end."""


def told(tmp_path: Path, model: ExportedModel, body: str, limit_s: float = 30.0) -> RoundResult:
    """How a round ends whose worker does what `body` says."""
    command = script(tmp_path / "worker.py", f"sys.stdin.readline()\n{body}")
    (tmp_path / "samples").mkdir()
    work = round_work(model, tmp_path / "samples", time_limit_s=limit_s)
    with Engine(Given([work]), ThisMachine(commands={"round": command})) as engine:
        (result,) = drive(engine).results
    return result


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("sys.exit(0)", "exit code 0"),
        ("""print('{"event": "result", "case_id": "c", "rou', end='', flush=True)""", "exit code"),
        ("""print('{"event": "result", "case_id": 5}', flush=True)""", "exit code 0"),
        ("""os.write(1, b'\\xff\\xfe{{{\\n' * 1000); sys.exit(3)""", "exit code 3"),
        ("os.write(2, b'?' * (1 << 24) + b'\\nout of paper\\n'); sys.exit(7)", "7: out of paper"),
        ("subprocess.Popen(['sleep', '60']); sys.exit(3)", "exit code 3"),
    ],
    ids=["no word", "cut in a message", "no message of ours", "no text", "megabytes", "held pipes"],
)
def test_a_worker_that_ends_without_its_result_is_told_as_crashed(
    tmp_path: Path, model: ExportedModel, body: str, reason: str
) -> None:
    result = told(tmp_path, model, body)
    assert result.status == "crashed"
    assert reason in result.reason


def test_a_worker_that_closes_its_pipes_and_lives_is_ended_at_the_limit(
    tmp_path: Path, model: ExportedModel
) -> None:
    result = told(tmp_path, model, "os.close(1); os.close(2); time.sleep(600)", limit_s=1.5)
    assert result.status == "timeout"


@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_worker_that_writes_without_an_end_neither_fills_nor_holds_up_the_parent(
    tmp_path: Path, model: ExportedModel, descriptor: int
) -> None:
    peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    body = f"while True: os.write({descriptor}, b'x' * (1 << 16))"
    start_s = time.monotonic()
    result = told(tmp_path, model, body, limit_s=2.0)
    assert result.status == "timeout", result.reason
    assert time.monotonic() - start_s < 60, "it was heard of its limit while it wrote"
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_before) / 1024
    assert grown_mib < MOST_MIB
