"""TensorRT: kept engines, runs ahead, outputs that a run finds, and what its errors become."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from app.workers.lanes import queued_timing
from app.workers.loop import Block
from exporters.diagnostics import diagnostic
from runtimes.cuda.driver import CudaError, Gpu
from runtimes.errors import CompileFault, OutOfMemory, RuntimeFault, Unsupported
from runtimes.tensorrt.build import TENSORRT
from runtimes.tensorrt.errors import Log
from tests.runtimes.contract import agrees, computes, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.stand_ins.fixtures import Driver, compiled, installed

pytestmark = pytest.mark.usefixtures("tensorrt")


def test_an_engine_and_its_layers_are_written_for_other_tools(
    graphs: Graphs, tmp_path: Path
) -> None:
    folder = tmp_path / "engines"
    for _ in range(2):
        with compiled(graphs, engine_dir=str(folder)):
            pass
    engine, layers = sorted(folder.iterdir())
    assert (engine.suffixes[-1], layers.name) == (".engine", f"{engine.stem}.layers.json")
    assert engine.read_bytes() == Path(graphs.dense.path).read_bytes()
    assert "Layers" in json.loads(layers.read_text("utf-8"))
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(Unsupported, match="engine_dir"):
        compiled(graphs, engine_dir=str(file))


def test_an_engine_is_kept_and_used_again(
    graphs: Graphs, tensorrt: ModuleType, tmp_path: Path
) -> None:
    for state in ("miss", "hit"):
        with compiled(graphs, tmp_path) as session:
            lane = session.lanes[0]
            assert session.execution.facts["engine_cache"] == state
            assert session.execution.warnings == ()
            reference = reference_of(graphs.dense, 1)
            assert computes(lane, reference)
    assert len(tensorrt.built) == 1
    with compiled(graphs, tmp_path, builder_level=0) as session:
        assert session.execution.facts["engine_cache"] == "miss"
    assert tensorrt.built[1]["timing"] == b"t"


@pytest.mark.parametrize(
    ("harm", "cause"),
    [
        ("truncated", "damaged"),
        ("garbage", "damaged"),
        ("release", ""),
        ("refused", "refused"),
    ],
)
def test_a_damaged_or_stale_engine_is_built_again_and_said_so(
    graphs: Graphs,
    tensorrt: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    harm: str,
    cause: str,
) -> None:
    compiled(graphs, tmp_path).close()
    (engine,) = (tmp_path / "tensorrt").glob("*.engine")
    if harm == "truncated":
        engine.write_bytes(engine.read_bytes()[:-1])
    elif harm == "garbage":
        engine.write_bytes(b"\x00\xff\n")
    elif harm == "release":
        installed(TENSORRT, ("11.4.0.106", 13), monkeypatch)
    else:
        monkeypatch.setattr(tensorrt, "RELEASE", b"10.17.0 ")
    with compiled(graphs, tmp_path) as session:
        assert session.execution.facts["engine_cache"] == "rebuilt"
        (warning,) = session.execution.warnings
    assert warning.code == ("engine_rebuilt" if cause else "engine_of_other_release")
    assert not cause or warning.parameters == {"cause": cause}
    with compiled(graphs, tmp_path) as session:
        assert session.execution.facts["engine_cache"] == "hit"


def test_a_cache_that_cannot_be_written_is_said_and_the_engine_runs(
    graphs: Graphs, tmp_path: Path
) -> None:
    blocked_path = tmp_path / "a file"
    blocked_path.write_text("in the way")
    with compiled(graphs, blocked_path) as session:
        (warning,) = session.execution.warnings
        assert warning == diagnostic("engine_not_stored", folder=str(blocked_path))
        session.lanes[0].run()


RUNS, SAMPLES = 5, 3


@pytest.mark.parametrize(
    ("boundary", "cuda_graph", "run"),
    [("host", False, "ixo"), ("device", False, "x"), ("host", True, "g"), ("device", True, "g")],
)
@pytest.mark.parametrize("call", ["auto", "python"])
def test_each_sample_is_so_many_runs_and_one_wait(
    graphs: Graphs, driver: Driver, boundary: str, cuda_graph: bool, run: str, call: str
) -> None:
    reference = reference_of(graphs.dense, 1)
    with compiled(graphs, boundary=boundary, cuda_graph=cuda_graph, call=call) as session:
        (lane,) = session.lanes
        lane.bind(reference.inputs)
        lane.poison()
        time, block = queued_timing(lane, RUNS), Block(SAMPLES)
        driver.told()
        time(block, SAMPLES)
        assert driver.told() == (run * RUNS + "w") * SAMPLES
        assert agrees(lane.outputs(), reference)
    records = block.records(SAMPLES, 0)
    assert (records["finished_ns"] > records["started_ns"]).all()
    assert (records["started_ns"][1:] >= records["finished_ns"][:-1]).all()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("[cudaDriverHelpers.cpp::alloc::15] Error Code 2: OutOfMemory (no 9 GB)", OutOfMemory),
        ("IBuilder::buildSerializedNetwork: Error Code 10: no implementation for it", CompileFault),
        ("Error Code 1: Cannot compile operation 'mm': FP32 GEMM is not supported", Unsupported),
    ],
)
def test_a_build_that_fails_is_told_in_one_sentence(said: str, kind: type[RuntimeFault]) -> None:
    log = Log()
    log.keep(said)
    fault = log.fault(CompileFault, "TensorRT could not build an engine", "see its notes")
    assert type(fault) is kind
    assert "Error Code" not in str(fault)


@pytest.mark.parametrize(("code", "fault"), [(2, OutOfMemory), (900, Unsupported)])
def test_a_recording_that_fails_is_reported_by_its_cause(
    code: int, fault: type[Exception], graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise CudaError(code, "cuGraphInstantiateWithFlags", "failed")

    monkeypatch.setattr(Gpu, "graph", fail)
    with pytest.raises(fault):
        compiled(graphs, cuda_graph=True)
