"""What the rows of the GPU runtimes say on a machine that lacks what they need."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from app.cases.case import Case
from app.cases.process_settings import ProcessSettings
from app.cases.round import Limits, MeasureJob, RoundResult
from app.cases.scenario import Condition
from app.workers.measure import measure_round
from exporters.codec import to_json
from exporters.types import ExportedModel
from runtimes.base import Available
from runtimes.cuda import runtime as libraries
from runtimes.options import OptionValue, Settings
from runtimes.registry import parse_spec
from runtimes.tensorrt.runtime import TensorRt
from tests.app.cli.headless.batch import rows
from tests.checkout import ROOT
from tests.processes import python
from tests.runtimes.graphs import Graphs
from tests.runtimes.stand_ins.fixtures import Driver

GPU_RUNTIMES = ("ort-cuda", "ort-tensorrt", "tensorrt", "tensorrt-rtx", "torch-cuda")
pytestmark = pytest.mark.usefixtures("tensorrt_here")
SHORT = Limits(min_s=0.02, max_s=1.0, min_samples=10, warmup_min_s=0.01, warmup_max_s=0.2)

no_gpu_here = pytest.mark.skipif(
    libraries.devices() != (), reason="this machine has a GPU: see tests/gpu"
)


def measured(
    model: ExportedModel,
    runtime: str,
    folder: Path,
    tell: Callable[[dict[str, Any]], None] = lambda event: None,
    device_memory: str = "",
    condition: str = "none",
    **options: OptionValue,
) -> RoundResult:
    job = MeasureJob(
        case=Case(model.name, runtime, condition=Condition.parse(condition)),
        round=0,
        model=model,
        axes={"batch": 1},
        settings=Settings(device=parse_spec(runtime).device, options=options),
        limits=SHORT,
        seed=0,
        samples_path=str(folder / "samples.bin"),
        asked=ProcessSettings(device_memory_limit=device_memory),
    )
    return measure_round(job, tell, lambda: False)


@no_gpu_here
def test_a_sweep_names_the_missing_library_and_has_no_latency(
    graphs: Graphs, tmp_path: Path
) -> None:
    arguments = ["--headless", "--models", graphs.dense.path, "--out", str(tmp_path / "run")]
    runtimes = ["--batch", "1", "--runtimes", ",".join((*GPU_RUNTIMES, "ort-cuda:1"))]
    environment = os.environ | {"GRAPHLAP_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    process = python("-m", "app", *arguments, *runtimes, env=environment)
    assert process.returncode == 1, "a run in which nothing was measured"
    run_rows = rows(tmp_path / "run")
    assert [row["runtime"] for row in run_rows] == [*GPU_RUNTIMES, "ort-cuda:1"]
    for row in run_rows:
        assert row["status"] == "unavailable"
        assert "libcuda.so.1" in row["reason"]
        assert "install" in row["reason"]
        figures = ("latency_", "response_", "throughput", "device_p50", "iterations")
        assert not any(row[name] for name in row if name.startswith(figures))
    assert list((tmp_path / "run" / "samples").glob("*.bin")) == []


@pytest.fixture
def tensorrt_here(monkeypatch: pytest.MonkeyPatch, tensorrt: ModuleType) -> None:
    monkeypatch.setattr(TensorRt, "availability", lambda self: Available("10"))


def test_the_device_clock_stands_beside_the_host_clock(graphs: Graphs, tmp_path: Path) -> None:
    result = measured(graphs.dense, "tensorrt", tmp_path)
    assert (result.status, result.clock, result.boundary) == ("ok", "wall", "host"), result.reason
    assert result.check is not None and result.check.output_ok
    assert {"h2d_p50_us", "device_p50_us", "d2h_p50_us"} <= result.facts.keys()
    assert result.device_memory_peak_mb is not None
    expected_facts = ("sizes", "spin", "pinned")
    assert expected_facts == tuple(
        result.facts[n] for n in ("device_memory_source", "sync", "host_memory")
    )
    assert json.dumps(to_json(result))
    device_row = measured(graphs.dense, "tensorrt", tmp_path, boundary="device")
    assert device_row.boundary == "device"
    assert "device_p50_us" in device_row.facts
    assert "h2d_p50_us" not in device_row.facts


def test_a_process_says_which_gpu_it_computes_on_and_how_it_ended_before_it_closes(
    graphs: Graphs, tmp_path: Path, driver: Driver
) -> None:
    """After a fault of the device, giving its memory back may end the process."""
    events: list[dict[str, Any]] = []

    def tell(event: dict[str, Any]) -> None:
        events.append(event)
        if event.get("phase") == "first_inference":
            driver.fail(700)

    result = measured(graphs.dense, "tensorrt", tmp_path, tell)
    uuid = "10101010-1010-1010-1010-101010101010"
    assert {"event": "device", "device": "", "uuid": uuid} in events
    names = [event.get("phase", event["event"]) for event in events]
    assert names[-2:] == ["teardown", "outcome"]
    assert events[-1]["status"] == result.status == "run_failed"
    assert "error 700" in events[-1]["reason"]
    assert result.reason == events[-1]["reason"]


@pytest.mark.parametrize(("device", "sessions", "first"), [("1+0", 2, "11"), ("0+1", 4, "10")])
def test_devices_share_the_work_each_with_sessions_of_its_own(
    graphs: Graphs, tmp_path: Path, driver: Driver, device: str, sessions: int, first: str
) -> None:
    """Every buffer, stream and context is given back, whichever device it is on."""
    events: list[dict[str, Any]] = []
    more: dict[str, Any] = {"sessions": sessions} if sessions > 2 else {}
    result = measured(graphs.dense, f"tensorrt:{device}", tmp_path, events.append, **more)
    assert (result.status, result.concurrency) == ("ok", sessions), result.reason
    assert result.check is not None and result.check.output_ok
    assert result.options["sessions"] == sessions
    device_uuids = [(e["device"], e["uuid"][:2]) for e in events if e["event"] == "device"]
    assert [key for key, _ in device_uuids] == device.split("+")
    assert device_uuids[0][1] == first
    assert driver.live == 0


@pytest.mark.parametrize(
    ("limit", "status", "said"),
    [(2**20, "ok", ""), (20, "out_of_memory", "the GPU's memory"), (0, "ok", "")],
)
def test_a_device_is_as_small_as_a_round_is_told(
    graphs: Graphs, tmp_path: Path, driver: Driver, limit: int, status: str, said: str
) -> None:
    driver.memory(64 * 2**20)
    result = measured(
        graphs.dense, "tensorrt", tmp_path, device_memory=f"{limit}B" if limit else "", sync="block"
    )
    assert result.status == status, result.reason
    assert said in result.reason
    assert driver.live == 0
    if status == "ok":
        assert result.facts["sync"] == "block", "who makes it small has made the context too"


@pytest.mark.parametrize("cuda_graph", [False, True])
def test_the_cache_of_the_gpu_is_evicted_between_two_runs(
    graphs: Graphs, tmp_path: Path, driver: Driver, cuda_graph: bool
) -> None:
    driver.cache(1000)
    driver.told()
    options: dict[str, Any] = {"boundary": "device", "cuda_graph": cuda_graph}
    result = measured(graphs.dense, "tensorrt", tmp_path, condition="cold-l2", **options)
    assert result.status == "ok", result.reason
    assert result.facts["evicted_mb"] == 2000 / 1e6
    assert "device_p50_us" not in result.facts, "runs without an eviction between have warm caches"
    # Work or a graph, and the wait for it; then memory is filled, and that is waited for.
    requests, run = driver.told(), "gw" if cuda_graph else "xw"
    assert requests.count(f"cw{run}") >= 10
    assert run * 2 not in requests[requests.index(f"cw{run}") :]
    assert driver.live == 0


def test_a_device_without_such_a_cache_is_unsupported(
    graphs: Graphs, tmp_path: Path, driver: Driver
) -> None:
    assert measured(graphs.dense, "ort-cpu", tmp_path, condition="cold-l2").status == "unsupported"
    driver.cache(0)
    result = measured(graphs.dense, "tensorrt", tmp_path, condition="cold-l2")
    assert result.status == "unsupported"
    assert driver.live == 0
