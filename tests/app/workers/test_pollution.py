"""Caches are polluted by as much as was asked for, between two runs and never inside one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from app.workers.loop import WAIT, Block
from app.workers.timing import CHUNK_BYTES, CacheEviction, timing
from exporters import install_layout
from exporters.diagnostics.catalogue import codes
from exporters.types import ExportedModel
from runtimes.base import Lane
from runtimes.calls import timed
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings
from tests.app.workers.conftest import Measure

SIZE = 10 * CHUNK_BYTES + 200
RUNS = 5
LOOPS = pytest.mark.parametrize("call", ["c", "python"])

pytestmark = pytest.mark.skipif(
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


def test_states_go_on_whatever_is_polluted(counter: ExportedModel) -> None:
    def observe(lane: Lane, pollution: CacheEviction) -> None:
        block_of(lane, pollution, RUNS)
        assert lane.outputs()["total_out"][0, 0] == RUNS

    for call in ("c", "python"):
        in_a_session(counter, call, observe)


@pytest.mark.parametrize("runtime", ["ort-cpu", "fake"])
def test_a_round_tells_how_much_and_how_long(measure: Measure, runtime: str) -> None:
    result, records, _ = measure(runtime, condition="cold:2MB")
    assert (result.status, result.reason) == ("ok", "")
    assert result.facts["evicted_mb"] == 2.0
    assert float(result.facts["eviction_ms"]) > 0.0
    assert result.check is not None
    assert result.check.output_ok
    assert len(records) > 0


def test_caches_that_stay_warm_are_told(measure: Measure) -> None:
    result, _, _ = measure(condition="cold:2MB", threads=2)
    assert "private_caches_warm" in codes(result.warnings)


def test_several_runs_at_once_have_no_between(measure: Measure) -> None:
    result, _, _ = measure(condition="cold:2MB", options={"sessions": 2})
    assert result.status == "unsupported"
    assert "2 runs at once have no between: use one session" in result.reason
