"""Caches are polluted by as much as was asked for, between two runs and never inside one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from app.workers.execution_facts import state_diagnostics
from app.workers.loop import WAIT, Block
from app.workers.timing import CHUNK_BYTES, CacheEviction, timing
from exporters import install_layout
from exporters.diagnostics import codes, diagnostic
from exporters.types import ExportedModel, Reference, StatePair, axes_key, save_reference
from runtimes import calls as timed
from runtimes.base import Lane
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings
from runtimes.session.host import HostLane
from tests.app.workers.conftest import AXES, Measure

SIZE = 10 * CHUNK_BYTES + 200


RUNS = 5


LOOPS = pytest.mark.parametrize("call", ["c", "python"])


MARK_POLLUTION = pytest.mark.skipif(
    not timed.built(), reason=f"the loop in C was not built; {install_layout.COMPILER_REMEDY}"
)


def block_of(lane: Lane, pollution: CacheEviction, runs: int) -> Block:
    block = Block(runs)
    timing(lane, 0, "spin", WAIT, True, (), pollution)(block, runs)
    return block


def in_a_session(
    counter: ExportedModel, call: str, observe: Callable[[Lane, CacheEviction], None]
) -> None:
    with OrtCpu().compile(counter, {"batch": 1}, Settings(options={"call": call})) as session:
        (lane,) = session.lanes
        lane.bind({"x": np.ones((1, 4), np.float32), "total": np.zeros((1, 4), np.float32)})
        observe(lane, CacheEviction.of_size(SIZE))


@MARK_POLLUTION
@LOOPS
def test_every_byte_is_read_or_written_once(counter: ExportedModel, call: str) -> None:
    def observe(lane: Lane, pollution: CacheEviction) -> None:
        byte_count = sum(copy.target.nbytes + copy.source.nbytes for copy in pollution.copies)
        assert byte_count == SIZE
        assert max(copy.target.nbytes for copy in pollution.copies) == CHUNK_BYTES
        for number, copy in enumerate(pollution.copies):
            copy.source.fill(number + 2)
        block_of(lane, pollution, 1)
        for number, copy in enumerate(pollution.copies):
            assert (copy.target == number + 2).all()

    in_a_session(counter, call, observe)


@MARK_POLLUTION
@LOOPS
def test_the_clock_has_stopped_when_it_begins(counter: ExportedModel, call: str) -> None:
    """A run that was timed with the pollution in it would take as long as a pass over 64 MB."""

    def observe(lane: Lane, _: CacheEviction) -> None:
        large = CacheEviction.of_size(64_000_000)
        block = block_of(lane, large, RUNS)
        ran_ns = np.subtract(block.finished, block.started)
        between_ns = np.subtract(block.started[1:], block.finished[:-1])
        assert np.median(between_ns) > 2 * np.median(ran_ns)
        assert np.median(between_ns) > 500_000  # 64 GB/s would be faster than any core copies

    in_a_session(counter, call, observe)


@MARK_POLLUTION
@pytest.mark.parametrize("runtime", ["ort-cpu", "fake"])
def test_a_round_tells_how_much_and_how_long(measure: Measure, runtime: str) -> None:
    result, records, _ = measure(runtime, condition="cold:2MB")
    assert (result.status, result.reason) == ("ok", "")
    assert result.facts["evicted_mb"] == 2.0
    assert float(result.facts["eviction_ms"]) > 0.0
    assert result.check is not None
    assert result.check.output_ok
    assert len(records) > 0


@MARK_POLLUTION
def test_caches_that_stay_warm_are_told(measure: Measure) -> None:
    result, _, _ = measure(condition="cold:2MB", threads=2)
    assert "private_caches_warm" in codes(result.warnings)


@MARK_POLLUTION
def test_several_runs_at_once_have_no_between(measure: Measure) -> None:
    result, _, _ = measure(condition="cold:2MB", options={"sessions": 2})
    assert result.status == "unsupported"
    assert "2 runs at once have no between: use one session" in result.reason


def growing(counter: ExportedModel, folder: Path, factor: float, first: float) -> ExportedModel:
    """`total` becomes `factor` times as much with each run."""
    proto = onnx.load(counter.path)
    del proto.graph.node[0]
    proto.graph.node.insert(0, helper.make_node("Mul", ["total", "factor"], ["total_out"]))
    proto.graph.node.append(helper.make_node("Relu", ["x"], ["unused"]))
    array = np.array(factor, np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(array, "factor"))
    assert proto.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT
    path = folder / f"growing_{factor}.onnx"
    onnx.save(proto, path)
    x, total = np.ones((1, 4), np.float32), np.full((1, 4), first, np.float32)
    reference = folder / f"growing_{factor}.npz"
    following = total * array
    outputs = {"y": following, "total_out": following}
    save_reference(str(reference), Reference({"x": x, "total": total}, outputs))
    return replace(counter, path=str(path), references={axes_key(AXES): str(reference)})


@pytest.mark.parametrize(
    ("runtime", "options"),
    [
        ("ort-cpu", {}),
        ("ort-cpu", {"call": "python"}),
        ("ort-cpu", {"sessions": 2}),
        ("openvino-cpu", {}),
    ],
)
def test_a_state_that_runs_away_is_a_warning(
    runtime: str,
    options: dict[str, object],
    counter: ExportedModel,
    measure: Measure,
    tmp_path: Path,
) -> None:
    model = growing(counter, tmp_path, 1e9, 1.0)
    result, _, _ = measure(runtime, model=model, options=options)
    assert result.status == "ok"
    assert diagnostic("state_not_finite", "total") in result.warnings


def test_a_state_that_dies_away_is_a_warning(
    counter: ExportedModel, measure: Measure, tmp_path: Path
) -> None:
    result, _, _ = measure(model=growing(counter, tmp_path, 1.0, 1e-40))
    assert diagnostic("state_subnormal", "total") in result.warnings


@pytest.mark.parametrize("scenario", ["closed_loop", "rate:500/s"])
def test_an_ordinary_state_is_none(
    scenario: str, counter: ExportedModel, measure: Measure, tmp_path: Path
) -> None:
    result, _, _ = measure(model=growing(counter, tmp_path, 1.0, 2.0), scenario=scenario)
    assert result.status == "ok"
    assert not {"state_not_finite", "state_subnormal"} & {*codes(result.warnings)}


@pytest.mark.parametrize(
    ("values", "dtype", "strange"),
    [
        ([0, 1, -1], "float32", False),
        ([1, np.nan], "float16", True),
        ([1, -np.inf], "float64", True),
        ([1, 1e-7], "float16", True),
        ([1, 1e-7], "float32", False),
        ([1, 2], "int64", False),
        ([], "float32", False),
    ],
)
def test_any_lane_and_any_type(values: list[float], dtype: str, strange: bool) -> None:
    pair = StatePair("s", "t")
    lanes = [HostLane({}, {"t": np.zeros(3, dtype)}, (pair,)) for _ in range(2)]
    lanes[1].output_buffers["t"] = np.array(values, dtype)
    assert bool([*state_diagnostics(lanes, [pair])]) == strange
