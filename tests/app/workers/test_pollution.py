"""Caches are polluted by as much as was asked for, between two runs and never inside one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from app.workers.execution_facts import state_diagnostics
from app.workers.loop import WAIT, Block
from app.workers.timing import CHUNK_BYTES, CacheEviction, timing
from exporters.diagnostics import codes, diagnostic
from exporters.types import ExportedModel, Reference, StatePair, axes_key, save_reference
from runtimes.base import Lane
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings
from runtimes.session.host import HostLane
from tests.app.workers.conftest import AXES, Measure
from tests.exporters.support import model_of
from tests.runtimes.loop_in_c import NEEDS_C

SIZE = 10 * CHUNK_BYTES + 200


RUNS = 5


LOOPS = pytest.mark.parametrize("call", ["c", "python"])


def block_of(lane: Lane, pollution: CacheEviction, runs: int) -> Block:
    block = Block(runs)
    timing(lane, 0, "spin", WAIT, True, (), pollution)(block, runs)
    return block


@NEEDS_C
@LOOPS
def test_every_byte_is_read_or_written_once_while_the_clock_stands(
    counter: ExportedModel, call: str
) -> None:
    """A run that was timed with the pollution in it would take as long as a pass over 64 MB."""
    pollution, large = CacheEviction.of_size(SIZE), CacheEviction.of_size(64_000_000)
    sizes = [copy.target.nbytes + copy.source.nbytes for copy in pollution.copies]
    assert (sum(sizes), max(sizes)) == (SIZE, 2 * CHUNK_BYTES)
    for number, copy in enumerate(pollution.copies):
        copy.source.fill(number + 2)
    with OrtCpu().compile(counter, {"batch": 1}, Settings(options={"call": call})) as session:
        (lane,) = session.lanes
        lane.bind({"x": np.ones((1, 4), np.float32), "total": np.zeros((1, 4), np.float32)})
        block_of(lane, pollution, 1)
        block = block_of(lane, large, RUNS)
    for number, copy in enumerate(pollution.copies):
        assert (copy.target == number + 2).all()
    ran_ns = np.subtract(block.finished, block.started)
    between_ns = np.subtract(block.started[1:], block.finished[:-1])
    assert np.median(between_ns) > 2 * np.median(ran_ns)
    assert np.median(between_ns) > 500_000  # 64 GB/s would be faster than any core copies


@NEEDS_C
def test_a_round_tells_how_much_and_how_long(measure: Measure) -> None:
    result, records, _ = measure(condition="cold:2MB", threads=2)
    assert (result.status, result.reason) == ("ok", "")
    assert result.facts["evicted_mb"] == 2.0
    assert float(result.facts["eviction_ms"]) > 0.0
    assert result.check is not None
    assert result.check.output_ok
    assert len(records) > 0
    assert "private_caches_warm" in codes(result.warnings), "of the other thread's core"


@NEEDS_C
def test_several_runs_at_once_have_no_between(measure: Measure) -> None:
    result, _, _ = measure(condition="cold:2MB", options={"sessions": 2})
    assert result.status == "unsupported"
    assert "2 runs at once have no between: use one session" in result.reason


def growing(counter: ExportedModel, folder: Path, factor: float, first: float) -> ExportedModel:
    """`total` becomes `factor` times as much with each run."""
    path, reference = folder / "growing.onnx", folder / "growing.npz"
    text = """(float[batch,4] x, float[batch,4] total) =>
    (float[batch,4] y, float[batch,4] total_out)
    { total_out = Mul(total, factor) y = Identity(total_out) unused = Relu(x) }"""
    onnx.save(model_of(text, {"factor": np.array(factor, np.float32)}), path)
    x, total = np.ones((1, 4), np.float32), np.full((1, 4), first, np.float32)
    following = total * np.float32(factor)
    outputs = {"y": following, "total_out": following}
    save_reference(str(reference), Reference({"x": x, "total": total}, outputs))
    return replace(counter, path=str(path), references={axes_key(AXES): str(reference)})


@pytest.mark.parametrize(
    ("options", "factor", "first", "code"),
    [
        ({}, 1e9, 1.0, "state_not_finite"),
        ({"sessions": 2}, 1e9, 1.0, "state_not_finite"),
        ({}, 1.0, 1e-40, "state_subnormal"),
        ({}, 1.0, 2.0, ""),
    ],
)
def test_a_state_that_runs_or_dies_away_is_a_warning_and_an_ordinary_one_none(
    options: dict[str, object],
    factor: float,
    first: float,
    code: str,
    counter: ExportedModel,
    measure: Measure,
    tmp_path: Path,
) -> None:
    model = growing(counter, tmp_path, factor, first)
    result, _, _ = measure(model=model, options=options)
    assert result.status == "ok"
    found = [each for each in result.warnings if each.code.startswith("state_")]
    assert found == ([diagnostic(code, "total")] if code else [])


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
