"""The TensorRT adapter keeps the contract over a stand-in engine, and keeps its engines well."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from exporters.types import TensorSpec
from runtimes.base import (
    CompileFault,
    NotAvailable,
    OutOfMemory,
    RunFault,
    Session,
    Settings,
    Unsupported,
)
from runtimes.trt_native import TensorRt
from tests.runtimes.contract import ENGINES, ONE_THREAD, RuntimeContract, agrees, reference_of
from tests.runtimes.graphs import STEPS, Graphs, node, streamed
from tests.runtimes.stand_ins.fixtures import Driver
from tests.runtimes.torch_factories import CHANNELS

DEVICE = {"boundary": "device"}


@pytest.mark.usefixtures("tensorrt")
class TestTensorRt(RuntimeContract):
    name = "tensorrt"

    def test_availability_and_devices_are_told_without_the_engine(self) -> None:
        script = (
            "import sys; from runtimes import registry; "
            "runtime = registry.load('tensorrt'); runtime.availability(); runtime.devices(); "
            f"print(*[name for name in {ENGINES!r} if name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == ""


def compiled(graphs: Graphs, cache: Path | str = "", **options: object) -> Session:
    settings = Settings(options=options, cache_dir=str(cache))  # type: ignore[arg-type]
    return TensorRt().compile(graphs.dense, {"batch": 1}, settings)


@pytest.mark.parametrize("boundary", ["host", "device"])
@pytest.mark.parametrize("cuda_graph", [False, True])
def test_state_streams_on_the_device(
    graphs: Graphs, tensorrt: ModuleType, boundary: str, cuda_graph: bool
) -> None:
    zero = np.zeros((1, CHANNELS), np.float32)
    x = np.ones((1, CHANNELS), np.float32)
    settings = Settings(options={"boundary": boundary, "cuda_graph": cuda_graph})
    with TensorRt().compile(graphs.step, {"batch": 1}, settings) as session:
        session.bind({"x": x, "h": zero, "older": zero})
        results = []
        for _ in range(STEPS):
            session.run()
            results.append(session.outputs()["y"])
            session.advance_state()
    assert np.allclose(results, streamed(np.stack([x] * STEPS)), atol=1e-5)


def test_streams_run_in_threads_of_their_own_and_keep_apart(
    graphs: Graphs, tensorrt: ModuleType
) -> None:
    inputs = [np.full((1, CHANNELS), value, np.float32) for value in (1.0, 2.0, 3.0)]
    with compiled(graphs, streams=3) as session:
        assert session.slots == 3
        for slot, x in enumerate(inputs):
            session.bind({"x": x}, slot)

        def drive(slot: int) -> None:
            session.enter()
            for _ in range(20):
                session.run_of(slot)()

        with ThreadPoolExecutor(3) as threads:
            list(threads.map(drive, range(3)))
        outputs = [session.outputs(slot)["y"] for slot in range(3)]
    assert np.allclose(outputs[1], 2 * outputs[0])
    assert np.allclose(outputs[2], 3 * outputs[0])


def test_spans_have_the_parts_that_the_boundary_has(graphs: Graphs, tensorrt: ModuleType) -> None:
    for cuda_graph in (False, True):
        with compiled(graphs, cuda_graph=cuda_graph) as session:
            spans = session.spans(7)
            assert spans is not None
            for part in (spans.h2d_ns, spans.device_ns, spans.d2h_ns):
                assert part is not None
                assert part.shape == (7,)
                assert part.min() >= 0
            assert spans.device_ns.min() > 0
        with compiled(graphs, boundary="device", cuda_graph=cuda_graph) as session:
            spans = session.spans(7)
            assert spans is not None
            assert (spans.h2d_ns, spans.d2h_ns) == (None, None)


def test_the_builder_gets_the_settings_of_the_case(graphs: Graphs, tensorrt: ModuleType) -> None:
    compiled(graphs).close()
    compiled(graphs, tf32=True, builder_level=5).close()
    half = Settings(precision="fp16", options={"typing": "flags"})
    TensorRt().compile(graphs.dense, {"batch": 3}, half).close()
    first, second, third = tensorrt.built
    assert (first["strong"], first["flags"], first["level"]) == (True, frozenset(), 3)
    assert (second["flags"], second["level"]) == ({"tf32"}, 5)
    assert (third["strong"], third["flags"]) == (False, {"fp16"})
    assert first["shapes"] == [{"x": (1, CHANNELS)}]
    assert third["shapes"] == [{"x": (3, CHANNELS)}]


def test_tf32_is_not_called_fp32(graphs: Graphs, tensorrt: ModuleType) -> None:
    with compiled(graphs, tf32=True) as session:
        assert session.execution.precision == "tf32"


def test_an_engine_is_kept_and_used_again(
    graphs: Graphs, tensorrt: ModuleType, tmp_path: Path
) -> None:
    for state in ("miss", "hit"):
        with compiled(graphs, tmp_path) as session:
            assert session.execution.facts["engine_cache"] == state
            assert session.execution.warnings == ()
            reference = reference_of(graphs.dense, 1)
            session.bind(reference.inputs)
            session.run()
            assert agrees(session.outputs(), reference)
    assert len(tensorrt.built) == 1
    with compiled(graphs, tmp_path, builder_level=0) as session:
        assert session.execution.facts["engine_cache"] == "miss"
    assert tensorrt.built[1]["timing"] == b"t"


@pytest.mark.parametrize("harm", ["truncated", "garbage", "other release", "refused"])
def test_a_damaged_or_stale_engine_is_built_again_and_said_so(
    graphs: Graphs,
    tensorrt: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    harm: str,
) -> None:
    compiled(graphs, tmp_path).close()
    (engine,) = (tmp_path / "tensorrt").glob("*.engine")
    if harm == "truncated":
        engine.write_bytes(engine.read_bytes()[:-1])
    elif harm == "garbage":
        engine.write_bytes(b"\x00\xff\n")
    elif harm == "other release":
        monkeypatch.setattr("runtimes.trt_native.installed_release", lambda: ("11.4.0.106", 13))
    else:
        monkeypatch.setattr(tensorrt, "RELEASE", b"10.17.0 ")
    with compiled(graphs, tmp_path) as session:
        assert session.execution.facts["engine_cache"] == "rebuilt"
        (warning,) = session.execution.warnings
    assert "built again" in warning
    with compiled(graphs, tmp_path) as session:
        assert session.execution.facts["engine_cache"] == "hit"


def test_a_cache_that_cannot_be_written_is_said_and_the_engine_runs(
    graphs: Graphs, tensorrt: ModuleType, tmp_path: Path
) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("in the way")
    with compiled(graphs, blocked) as session:
        (warning,) = session.execution.warnings
        assert str(blocked) in warning
        assert "folder that can be written" in warning
        session.run()


def test_what_the_parser_refuses_is_named(graphs: Graphs, tensorrt: ModuleType) -> None:
    spec = [TensorSpec(name, "float32", (4,)) for name in ("x", "y")]
    model = graphs.save("refused", [node("Teleport", ["x"], ["y"])], spec[:1], spec[1:])
    with pytest.raises(Unsupported, match="Teleport") as raised:
        TensorRt().compile(model, {}, ONE_THREAD)
    assert raised.value.node == "y_node"


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("[cudaDriverHelpers.cpp::alloc::15] Error Code 2: OutOfMemory (no 9 GB)", OutOfMemory),
        ("IBuilder::buildSerializedNetwork: Error Code 10: no implementation for it", CompileFault),
    ],
)
def test_a_build_that_fails_is_told_in_one_sentence(
    graphs: Graphs,
    tensorrt: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    driver: Driver,
    said: str,
    kind: type[Exception],
) -> None:
    monkeypatch.setattr(tensorrt.Builder, "failure", said)
    with pytest.raises(kind) as raised:
        compiled(graphs)
    assert "Error Code" not in str(raised.value)
    assert driver.live == 0


def test_a_run_that_does_not_start_is_a_fault(
    graphs: Graphs, tensorrt: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    with compiled(graphs) as session:
        monkeypatch.setattr(tensorrt.IExecutionContext, "failing", True)
        with pytest.raises(RunFault, match="TensorRT"):
            session.run()


def test_a_full_gpu_is_out_of_memory_and_leaves_nothing(
    graphs: Graphs, tensorrt: ModuleType, driver: Driver
) -> None:
    driver.set(alloc=2)
    with pytest.raises(OutOfMemory):
        compiled(graphs)
    assert driver.live == 0


def test_closing_gives_everything_back(
    graphs: Graphs, tensorrt: ModuleType, driver: Driver
) -> None:
    session = compiled(graphs, streams=2, cuda_graph=True)
    session.run()
    assert session.memory().device_peak_bytes == 200 + 2 * (1000 + 4 * CHANNELS + 4 * 3)
    assert driver.live > 0
    session.close()
    session.close()
    assert driver.live == 0


def test_release_11_refuses_flags_for_precision(
    graphs: Graphs, tensorrt: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtimes.trt_native.installed_release", lambda: ("11.4.0.106", 13))
    with pytest.raises(Unsupported, match="typing=strong"):
        TensorRt().refuse(graphs.dense, {"batch": 1}, Settings(options={"typing": "flags"}))


def test_the_second_gpu_can_be_named_and_a_third_is_not_there(
    graphs: Graphs, tensorrt: ModuleType
) -> None:
    with TensorRt().compile(graphs.dense, {"batch": 1}, Settings(device="1")) as session:
        assert session.execution.device_name == "Other GPU"
    with pytest.raises(NotAvailable, match=r"tensorrt:1 \(Other GPU\)"):
        TensorRt().refuse(graphs.dense, {"batch": 1}, Settings(device="2"))
