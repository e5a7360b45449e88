"""What a round needs for itself, and how what is read beside it gets into its row."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.analysis.columns.environment import GpuSettings
from app.capabilities.slo_search.rounds import HighestRate
from app.capabilities.slo_search.search import rate_searches
from app.cases.case import Case
from app.cases.round import Limits, RoundResult
from app.cases.scenario import Batcher, Condition, Shapes
from app.cases.status import Status
from app.cases.telemetry import CPU_DEVICE, Reading
from app.machine.child import Unstarted
from app.machine.telemetry import Nvml, Rapl, Telemetry
from app.plan.plan import EMPTY, Plan
from app.runs.reader import read_run
from app.sweep.run_creation import create_run
from app.sweep.scheduling import round_jobs
from app.sweep.scheduling.round_jobs import Schedule, batches, round_work, shapes_of
from app.sweep.work.export import ExportWork
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.round import RoundWork, SettledRound
from exporters.codec import to_json
from exporters.messages import ExportReply
from exporters.types import FixedGraph, StatePair
from runtimes.errors import Unsupported
from runtimes.fake import Fake
from runtimes.options import SESSIONS, sessions_of
from tests.app.analysis.columns.filled import MODEL, of_rounds
from tests.app.capabilities.slo_search.searched import Script, new_search, record_round
from tests.app.machine.counters import FakeNvml, package
from tests.app.run_folder.runs import ENVIRONMENT
from tests.app.sweep.sweeps import (
    SHORT,
    Clock,
    exported_add,
    fake_case,
    ok_reply,
    run_to_end,
    small_plan,
)
from tests.app.workers.conftest import AXES


class OnGpu(Fake):
    accelerator = "gpu"

    def refuse(self, *_: object) -> None:
        """Any device will do."""


def work_of(tmp_path: Path, case: Case, plan: Plan = EMPTY) -> RoundWork:
    schedule = Schedule([case], 1, SHORT, 60.0, 0, tmp_path, plan)
    work = round_work(schedule, case, 0, ok_reply(exported_add(tmp_path)))
    assert isinstance(work, RoundWork)
    return work


@pytest.mark.parametrize(("spec", "gpus"), [("fake", "0"), ("fake:1", "1"), ("fake:1+0", "10")])
def test_a_round_on_gpus_has_them_alone_and_they_are_the_ones_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, gpus: str
) -> None:
    monkeypatch.setattr(round_jobs, "runtime_of", lambda *_: OnGpu())
    case, worker = Case("add.onnx", spec), Told()
    work = work_of(tmp_path, case)
    assert work.needs.exclusive == {"cpu", *(f"gpu:{gpu}" for gpu in gpus)}
    with Hears(worker, Telemetry(nvml=Nvml(FakeNvml()))) as place:
        work.start(place)
        work.advance()
        assert work._eye.look() == (), "which it is, the process has not said yet"
        uuids = ["ab"[int(gpu)] for gpu in gpus]
        worker.said = [
            {"event": "device", "device": gpu, "uuid": uuid}
            for gpu, uuid in zip(gpus, uuids, strict=True)
        ]
        work.advance()
        work._eye._due["devices"] = 0.0
        read = {reading.device: reading.clock_mhz for reading in work._eye.look()}
        assert read == {f"gpu:{gpu}": 1500 + int(gpu) for gpu in gpus}
        result = RoundResult(case.case_id, 0, "ok")
        worker.said, worker.over = [{"event": "result", **to_json(result)}], True
        work.advance()
    assert work.result is not None
    names = "; ".join(f"GPU-{uuid}" for uuid in uuids)
    assert GpuSettings.fill(of_rounds([work.result]), {})["gpu_uuid"] == names


@pytest.mark.parametrize(
    ("near", "threads", "sessions", "cores"),
    [
        (None, 1, 1, (7,)),
        (None, 1, 3, (5, 6, 7)),
        (None, 2, 3, (2, 3, 4, 5, 6, 7)),
        (None, 4, 2, ()),
        (None, 0, 2, ()),
        ("", 1, 1, (5, 6, 7)),
        ("0-4", 2, 1, (1, 2, 3, 4)),
        ("0-2", 1, 1, ()),
        ("90-99", 1, 1, (5, 6, 7)),
    ],
)
def test_sessions_have_cores_for_the_threads_of_all_and_a_driver_near_its_device_more(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    near: str | None,
    threads: int,
    sessions: int,
    cores: tuple[int, ...],
) -> None:
    """A host that waits by asking would keep the driver's threads from the only core."""
    monkeypatch.setattr(round_jobs, "usable_cores", lambda: set(range(8)))
    case = Case("add.onnx", "ort-cpu", threads=threads, options={"sessions": sessions})
    if near is not None:
        monkeypatch.setattr(round_jobs, "runtime_of", lambda *_: OnGpu())
        monkeypatch.setattr(OnGpu, "cores_near", lambda self, device: near)
        case = Case("add.onnx", "fake:1", threads=threads)
    assert work_of(tmp_path, case).job.affinity == cores


class Told(Unstarted):
    """A worker that says what it is given, and how long it is left alone."""

    pid: int | None = 7

    def __init__(self) -> None:
        super().__init__(OSError())
        self.said: list[dict[str, Any]] = []
        self.over, self.asked_to_end = False, False

    def send(self, line: str) -> None: ...

    def lines(self) -> list[str]:
        events, self.said = self.said, []
        return [json.dumps(event) for event in events]

    def begun(self) -> bool:
        return True

    def ended(self) -> bool:
        return self.over

    def how_it_ended(self) -> str:
        return "exit code 0"

    def terminate(self) -> None:
        self.asked_to_end = True


class Hears(ThisMachine):
    """A place with that worker alone."""

    def __init__(self, worker: Told, telemetry: Telemetry) -> None:
        super().__init__(telemetry)
        self._worker = worker

    def start(self, kind: str, *where: Any) -> Told:
        return self._worker


@pytest.mark.parametrize(
    ("steps", "ended_s", "reason"),
    [
        # Ten of its sixty seconds are gone when it begins to compile, and fifty are left then.
        (
            [(10, "compile"), (309, ""), (309, "first_inference"), (358, "measure")],
            360,
            "the round was still in measure after 60 s",
        ),
        ([(0, "compile"), (299, "")], 301, "the round was still in compile after 300 s"),
    ],
    ids=["measuring", "compiling"],
)
def test_compiling_that_never_ends_is_ended_by_its_own_limit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[tuple[float, str]],
    ended_s: float,
    reason: str,
) -> None:
    """It is no part of the round's limit of 60 s, and has one of 300 s."""
    clock, worker = Clock(), Told()
    monkeypatch.setattr(time, "monotonic", clock.monotonic)
    plan, begun_s = EMPTY.model_copy(update={"time_limit_s": 300.0}), clock.now_s
    work = work_of(tmp_path, Case("add.onnx", "fake"), plan)
    with Hears(worker, Telemetry()) as place:
        work.start(place)
        for seconds, phase in [*steps, (ended_s, ""), (ended_s, "")]:
            clock.now_s = begun_s + seconds
            worker.said += [{"event": "phase", "phase": phase}] if phase else []
            work.advance()
            worker.over = worker.asked_to_end
            assert worker.asked_to_end == (seconds == ended_s)
    assert work.result is not None
    assert work.result.reason.startswith(reason)


class Steady(Rapl):
    """Counters that go up by 0.2 W."""

    def read(self) -> Reading:
        now_ns = time.perf_counter_ns()
        return Reading(now_ns, CPU_DEVICE, energy_mj=0.2 * now_ns / 1e6)


@pytest.mark.alone
def test_the_energy_of_a_round_is_in_its_row(tmp_path: Path) -> None:
    package(tmp_path / "powercap", 0, 0)
    plan = small_plan(tmp_path, {"options": {"fake.latency_us": [1000.0]}}, profile="standard")
    place = ThisMachine(Telemetry(rapl=Steady(tmp_path / "powercap")))
    (row,) = run_to_end(create_run(plan, tmp_path / "run"), place)
    (file,) = (tmp_path / "run" / "telemetry").iterdir()
    assert file.name == f"{row['case_id']}.0.jsonl"
    assert row["power_w"] == pytest.approx(0.2)
    # Energy a run = power x time a run, and W x ms are mJ.
    run_ms = float(str(row["duration_s"])) * 1e3 / int(str(row["iterations"]))
    assert row["energy_mj_per_inference"] == pytest.approx(0.2 * run_ms, rel=0.25)
    assert row["gpu_clock_mhz"] is None
    assert row["throttle_reasons"] is None


def conditioned(
    tmp_path: Path, condition: str, case: Case, neighbour: ExportReply | None = None
) -> RoundWork | SettledRound:
    case = replace(case, condition=Condition.parse(condition))
    schedule = Schedule((case,), 1, SHORT, 60.0, 0, tmp_path)
    reply = ok_reply(exported_add(tmp_path))
    return round_work(schedule, case, 0, reply, neighbour_reply=neighbour)


def test_a_neighbour_is_one_session_and_a_sustained_round_has_its_time_on_top_of_the_limit(
    tmp_path: Path,
) -> None:
    neighbour = ok_reply(exported_add(tmp_path))
    work = conditioned(tmp_path, "with:add.onnx", fake_case(sessions=2), neighbour)
    assert isinstance(work, RoundWork) and work.job.neighbour is not None
    assert SESSIONS.name not in work.job.neighbour.settings.options
    assert work.job.settings.options[SESSIONS.name] == 2
    work = conditioned(tmp_path, "sustained:30min", fake_case())
    assert isinstance(work, RoundWork)
    assert (work.job.limits.min_s, work.job.limits.max_s) == (1800.0, 1800.0)
    assert work.time_limit_s == 60.0 + 1800.0


def test_a_neighbour_that_there_cannot_be_ends_the_case_with_its_reason(tmp_path: Path) -> None:
    two_devices = replace(fake_case(), runtime="fake:0+1")
    fits = ok_reply(exported_add(tmp_path))
    told = "a neighbour is one session on one device, and fake:0+1 is"
    statuses: tuple[Status, ...] = ("export_failed", "out_of_memory")
    torn = [(fake_case(), ExportReply(status, reason="it is torn"), status) for status in statuses]
    for case, reply, status in (*torn, (two_devices, fits, "unsupported")):
        work = conditioned(tmp_path, "with:other", case, reply)
        assert isinstance(work, SettledRound)
        reason = told if status == "unsupported" else "the neighbour other: it is torn"
        assert work.result.status == status and reason in work.result.reason


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


CASE = Case("add.onnx", "ort-cpu", axes={"batch": 1}, batcher=Batcher(6, 1000.0))


def test_what_no_batcher_can_send_together_is_told(tmp_path: Path) -> None:
    fixed_export = exported_add(tmp_path)
    open_batch = replace(fixed_export, axes={"batch": 1}, batch="batch")
    sizes = [batch_case.axes["batch"] for batch_case in batches(CASE, open_batch)]
    assert sizes == [1, 2, 4, 6], "each batch that is sent"
    assert batches(replace(CASE, batcher=None), open_batch) == ()
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
    assert first.job.case.scenario.rate_hz == 700.0
    assert second.job.case.scenario.rate_hz != 700.0
    assert first.job.round == second.job.round == 0
    assert first.job.arrivals_seed != second.job.arrivals_seed
    assert first.job.arrivals_seed == again.job.arrivals_seed, "a resumed search asks for the same"
