"""What a round needs for itself, and how what is read beside it gets into its row."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.telemetry import Reading
from app.columns.environment import gpu_columns
from app.machine.environment import describe_host
from app.machine.telemetry import Nvml, Rapl, Telemetry, Watch
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.sweep.local_executor import ThisMachine
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.scheduling import round_jobs
from app.sweep.scheduling.round_jobs import Schedule, round_work
from app.sweep.work.base import ProcessMonitor
from app.sweep.work.round import RoundWork, gpus_of
from exporters.codec import to_json
from exporters.types import ExportedModel
from runtimes.fake.runtime import Fake
from tests.app.machine.counters import FakeNvml, package
from tests.app.sweep.sweeps import SHORT, ok_reply, write_add_graph


def read_at_once(eye: ProcessMonitor) -> tuple[Reading, ...]:
    assert isinstance(eye, Watch)
    eye._due["devices"] = 0.0
    return eye.look()


class OnGpu(Fake):
    accelerator = "gpu"

    def refuse(self, *_: object) -> None:
        """Any device will do."""


@pytest.mark.parametrize(("spec", "gpu"), [("fake", 0), ("fake:1", 1)])
def test_a_round_on_a_gpu_has_it_alone_and_it_is_the_one_that_is_read(
    model: ExportedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, gpu: int
) -> None:
    monkeypatch.setattr(round_jobs, "runtime_of", lambda *_: OnGpu())
    case = Case(model="add.onnx", runtime=spec)
    work = round_work(Schedule([case], 1, SHORT, 60.0, 0, tmp_path), case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    assert work.needs.exclusive == {"cpu", f"gpu:{gpu}"}
    telemetry = Telemetry(nvml=Nvml(FakeNvml()))
    watch = Watch(7, 0, gpus_of(work.needs), telemetry)
    assert watch.look() == (), "which it is, the process has not said yet"
    state = watch.computes_on("b")
    assert state is not None
    assert state.uuid == "GPU-b"
    (reading,) = read_at_once(watch)
    assert (reading.device, reading.clock_mhz) == (f"gpu:{gpu}", 1501)


def test_a_round_on_two_gpus_has_both_alone_and_both_are_read(
    model: ExportedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_jobs, "runtime_of", lambda *_: OnGpu())
    case, worker = Case("add.onnx", "fake:1+0"), Told()
    work = round_work(Schedule([case], 1, SHORT, 60.0, 0, tmp_path), case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    assert work.needs.exclusive == {"cpu", "gpu:0", "gpu:1"}
    with Hears(worker, Telemetry(nvml=Nvml(FakeNvml()))) as place:
        work.start(place)
        work.advance()
        worker.said = [
            {"event": "device", "device": "1", "uuid": "b"},
            {"event": "device", "device": "0", "uuid": "a"},
        ]
        work.advance()
        read = {reading.device: reading.clock_mhz for reading in read_at_once(work._eye)}
        assert read == {"gpu:0": 1500, "gpu:1": 1501}
        result = RoundResult(case.case_id, 0, "ok")
        worker.said, worker.over = [{"event": "result", **to_json(result)}], True
        work.advance()
    assert work.result is not None
    assert gpu_columns([work.result])["gpu_uuid"] == "GPU-b; GPU-a"


def test_a_round_on_the_host_reads_no_gpu(model: ExportedModel, tmp_path: Path) -> None:
    case = Case(model="add.onnx", runtime="fake")
    work = round_work(Schedule([case], 1, SHORT, 60.0, 0, tmp_path), case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    assert work.needs.exclusive == {"cpu"}
    telemetry = Telemetry(nvml=Nvml(FakeNvml()))
    assert Watch(7, 0, gpus_of(work.needs), telemetry).look() == ()


@pytest.mark.parametrize(
    ("threads", "sessions", "cores"),
    [(1, 1, (7,)), (1, 3, (5, 6, 7)), (2, 3, (2, 3, 4, 5, 6, 7)), (4, 2, ()), (0, 2, ())],
)
def test_sessions_at_once_have_cores_for_the_threads_of_all_of_them(
    model: ExportedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    sessions: int,
    cores: tuple[int, ...],
) -> None:
    monkeypatch.setattr(round_jobs, "usable_cores", lambda: set(range(8)))
    case = Case("add.onnx", "ort-cpu", threads=threads, options={"sessions": sessions})
    work = round_work(Schedule([case], 1, SHORT, 60.0, 0, tmp_path), case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    assert work.job.affinity == cores


@pytest.mark.parametrize(
    ("near", "threads", "cores"),
    [("", 1, (5, 6, 7)), ("0-4", 2, (1, 2, 3, 4)), ("0-2", 1, ()), ("90-99", 1, (5, 6, 7))],
)
def test_a_driver_has_cores_of_its_own_beside_the_threads_near_its_device(
    model: ExportedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    near: str,
    threads: int,
    cores: tuple[int, ...],
) -> None:
    """A host that waits by asking would keep the driver's threads from the only core."""
    monkeypatch.setattr(round_jobs, "usable_cores", lambda: set(range(8)))
    monkeypatch.setattr(round_jobs, "runtime_of", lambda *_: OnGpu())
    monkeypatch.setattr(OnGpu, "cores_near", lambda self, device: near)
    case = Case("add.onnx", "fake:1", threads=threads)
    work = round_work(Schedule([case], 1, SHORT, 60.0, 0, tmp_path), case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    assert work.job.affinity == cores


class Told:
    """A worker that says what it is given, and how long it is left alone."""

    pid: int | None = 7

    def __init__(self) -> None:
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

    def exit_code(self) -> int:
        return 0

    def how_it_ended(self) -> str:
        return "exit code 0"

    def ran_out_of_memory(self) -> bool:
        return False

    def was_killed(self) -> bool:
        return False

    def terminate(self) -> None:
        self.asked_to_end = True

    def kill(self) -> None: ...

    def close(self) -> None: ...


class Hears(ThisMachine):
    """A place with that worker alone."""

    def __init__(self, worker: Told, telemetry: Telemetry) -> None:
        super().__init__(telemetry)
        self._worker = worker

    def start(self, kind: str, environment: str = "") -> Told:
        return self._worker


def test_compiling_has_a_limit_of_its_own_and_is_no_part_of_the_rounds(
    model: ExportedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    case, worker = Case("add.onnx", "fake"), Told()
    schedule = Schedule([case], 1, SHORT, 60.0, 0, tmp_path, compile_limit_s=300.0)
    work = round_work(schedule, case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    with Hears(worker, Telemetry()) as place:
        work.start(place)

        def advance_to(seconds: float, phase: str = "") -> bool:
            now[0] = seconds
            worker.said += [{"event": "phase", "phase": phase}] if phase else []
            work.advance()
            return worker.asked_to_end

        assert not advance_to(10, "compile"), "ten seconds of its sixty are gone"
        assert not advance_to(309)
        assert not advance_to(309, "first_inference")
        assert not advance_to(358, "measure"), "fifty were left when it began to compile"
        assert advance_to(360)
        worker.over = True
        work.advance()
    assert work.result is not None
    assert work.result.reason.startswith("the round was still in measure after 60 s")


def test_compiling_that_never_ends_is_ended_by_its_own_limit(
    model: ExportedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    case, worker = Case("add.onnx", "fake"), Told()
    schedule = Schedule([case], 1, SHORT, 60.0, 0, tmp_path, compile_limit_s=300.0)
    work = round_work(schedule, case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    with Hears(worker, Telemetry()) as place:
        work.start(place)
        worker.said = [{"event": "phase", "phase": "compile"}]
        work.advance()
        now[0] = 301.0
        work.advance()
        worker.over = worker.asked_to_end
        work.advance()
    assert work.result is not None
    assert work.result.reason.startswith("the round was still in compile after 300 s")


def test_the_gpu_that_a_process_says_it_computes_on_is_the_one_of_its_row(
    model: ExportedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA's first may be another's second: the process alone can tell."""
    monkeypatch.setattr(round_jobs, "runtime_of", lambda *_: OnGpu())
    case, worker = Case("add.onnx", "fake"), Told()
    work = round_work(Schedule([case], 1, SHORT, 60.0, 0, tmp_path), case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    with Hears(worker, Telemetry(nvml=Nvml(FakeNvml()))) as place:
        work.start(place)
        work.advance()
        worker.said = [{"event": "device", "uuid": "b"}]
        work.advance()
        (reading,) = read_at_once(work._eye)
        assert reading.clock_mhz == 1501
        result = RoundResult(case.case_id, 0, "ok", environment={"load_1min": 0.1})
        worker.said, worker.over = [{"event": "result", **to_json(result)}], True
        work.advance()
    assert work.result is not None
    assert work.result.environment["load_1min"] == 0.1
    assert work.result.environment["gpu"].uuid == "GPU-b"


@contextmanager
def moving(counter: Path) -> Iterator[None]:
    """A counter that goes up by 1 mJ every 5 ms, as the system's own would by itself."""
    stop_event = threading.Event()

    def climb() -> None:
        value = 0
        while not stop_event.wait(0.005):
            value += 1000
            draft = counter.with_suffix(".new")
            draft.write_text(str(value))
            draft.replace(counter)

    thread = threading.Thread(target=climb)
    thread.start()
    try:
        yield
    finally:
        stop_event.set()
        thread.join()


@pytest.mark.alone
def test_the_energy_of_a_round_is_in_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    graph = write_add_graph(tmp_path / "add.onnx")
    folder = package(tmp_path / "powercap", 0, 0, span_uj=10**12)
    grid = Sweep(models=(str(graph),), runtimes=("fake",), options={"fake.latency_us": (1000.0,)})
    plan = Plan(rounds=1, profile="standard", sweeps=(grid,))
    telemetry = Telemetry(rapl=Rapl(tmp_path / "powercap"))
    with (
        moving(folder / "energy_uj"),
        create_run(plan, tmp_path / "run") as run_folder,
        SweepRun(run_folder, describe_host(), place=ThisMachine(telemetry)) as run,
    ):
        while not run.finished:
            run.step(0.2)
        run.close(0)
        (row,) = run.rows()
    (file,) = (tmp_path / "run" / "telemetry").iterdir()
    assert file.name == f"{row['case_id']}.0.jsonl"
    power_w, energy_mj = row["power_w"], row["energy_mj_per_inference"]
    assert isinstance(power_w, float)
    assert isinstance(energy_mj, float)
    # At most 1 mJ in 5 ms is 0.2 W; how much less, the machine's load decides.
    assert 0.01 < power_w <= 0.21
    duration_s, iterations = row["duration_s"], row["iterations"]
    assert isinstance(duration_s, float)
    assert isinstance(iterations, int)
    # Energy a run = power x time a run, and W x ms are mJ.
    assert energy_mj / power_w == pytest.approx(duration_s * 1e3 / iterations, rel=0.25)
    assert row["gpu_clock_mhz"] is None
    assert row["throttle_reasons"] is None
