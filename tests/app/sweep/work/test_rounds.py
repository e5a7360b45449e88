"""What a round needs for itself, and how what is read beside it gets into its row."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.reading import Reading
from app.machine.environment import describe_host
from app.machine.telemetry import Nvml, Rapl, Telemetry
from app.plan.plan import Plan, Sweep
from app.sweep.begin import begin
from app.sweep.place import ThisMachine
from app.sweep.run import SweepRun
from app.sweep.sources import rounds
from app.sweep.sources.rounds import Schedule, round_work
from app.sweep.work.round import RoundWork, gpus_of
from app.sweep.work.watch import Watch
from exporters.types import ExportedModel
from runtimes.fake.runtime import Fake
from tests.app.machine.counters import FakeNvml, package
from tests.app.sweep.sweeps import SHORT, exported_add, ok_reply, write_add_graph


def read_at_once(watch: Watch) -> tuple[Reading, ...]:
    watch._due["devices"] = 0.0
    return watch.look()


class OnGpu(Fake):
    accelerator = "gpu"

    def refuse(self, *_: object) -> None:
        """Any device will do."""


@pytest.fixture
def model(tmp_path: Path) -> ExportedModel:
    return exported_add(tmp_path)


@pytest.mark.parametrize(("spec", "gpu"), [("fake", 0), ("fake:1", 1)])
def test_a_round_on_a_gpu_has_it_alone_and_it_is_the_one_that_is_read(
    model: ExportedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, gpu: int
) -> None:
    monkeypatch.setattr(rounds, "runtime_of", lambda *_: OnGpu())
    case = Case(model="add.onnx", runtime=spec)
    work = round_work(Schedule([case], 1, SHORT, 60.0, 0, tmp_path), case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    assert work.needs.alone == {"cpu", f"gpu:{gpu}"}
    telemetry = Telemetry(nvml=Nvml(FakeNvml()))
    watch = Watch(7, 0, gpus_of(work.needs), telemetry)
    assert watch.look() == (), "which it is, the process has not said yet"
    state = watch.computes_on("b")
    assert state is not None
    assert state.uuid == "GPU-b"
    (reading,) = read_at_once(watch)
    assert (reading.device, reading.clock_mhz) == (f"gpu:{gpu}", 1501)


def test_a_round_on_the_host_reads_no_gpu(model: ExportedModel, tmp_path: Path) -> None:
    case = Case(model="add.onnx", runtime="fake")
    work = round_work(Schedule([case], 1, SHORT, 60.0, 0, tmp_path), case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    assert work.needs.alone == {"cpu"}
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
    monkeypatch.setattr(rounds, "usable_cores", lambda: set(range(8)))
    case = Case("add.onnx", "ort-cpu", threads=threads, options={"sessions": sessions})
    work = round_work(Schedule([case], 1, SHORT, 60.0, 0, tmp_path), case, 0, ok_reply(model))
    assert isinstance(work, RoundWork)
    assert work.job.affinity == cores


@contextmanager
def moving(counter: Path) -> Iterator[None]:
    """A counter that goes up by 1 mJ every 5 ms, as the system's own would by itself."""
    over = threading.Event()

    def climb() -> None:
        value = 0
        while not over.wait(0.005):
            value += 1000
            draft = counter.with_suffix(".new")
            draft.write_text(str(value))
            draft.replace(counter)

    thread = threading.Thread(target=climb)
    thread.start()
    try:
        yield
    finally:
        over.set()
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
        begin(plan, tmp_path / "run") as written,
        SweepRun(written, describe_host(), place=ThisMachine(telemetry)) as run,
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
    assert row["throttle"] is None
