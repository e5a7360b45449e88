"""A round with a batcher, in a real process: the formula's latencies, every batch checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import save

from app.cases.scenario import Batcher
from app.stats.open_loop import batches_of
from app.workers.batcher import dispatch
from app.workers.loop import Block
from exporters.types import PACKAGED, ExportedModel, Reference, axes_key, save_reference
from tests.app.workers.conftest import Measure, float_model
from tests.app.workers.virtual_server import FOREVER, VirtualServer, same_service, served
from tests.exporters.support import model_of

MS = 1_000_000


BATCHES = (1, 2, 3, 4)


@pytest.fixture
def doubling(tmp_path: Path) -> ExportedModel:
    """y = x + x, with a reference at each batch."""
    path, sizes = tmp_path / "doubling.onnx", ("batch", 4)
    save(model_of("(float[batch,4] x) => (float[batch,4] y) { y = Add(x, x) }"), path)
    references = {}
    for batch in BATCHES:
        x = np.arange(4 * batch, dtype=np.float32).reshape(batch, 4)
        file = tmp_path / f"doubling.{batch}.npz"
        save_reference(str(file), Reference({"x": x}, {"y": x + x}, (PACKAGED,)))
        references[axes_key({"batch": batch})] = str(file)
    return float_model(path, {"x": sizes}, {"y": sizes}, references)


def test_an_engine_answers_every_batch_rightly_and_each_request_has_a_record(
    measure: Measure, doubling: ExportedModel
) -> None:
    batcher = Batcher(4, 2000.0)
    result, records, _ = measure(model=doubling, scenario="poisson:500/s", batcher=batcher)
    assert result.status == "ok", result.reason
    assert result.check is not None
    assert result.check.output_ok
    assert result.call_path.endswith("timed in Python")
    assert result.open_loop is not None
    request_count = result.open_loop.due - result.open_loop.left
    requests = records[-request_count:]
    assert (np.diff(requests["scheduled_ns"]) >= 0).all()
    assert (requests["started_ns"] >= requests["scheduled_ns"]).all()
    assert (np.unique(requests["started_ns"], return_counts=True)[1] <= 4).all()


@pytest.mark.parametrize(
    ("runtime", "options", "status", "told"),
    [
        ("fake", {"fail": "wrong", "fail_session": 1}, "wrong_output", "'y' at batch 2 differs"),
        ("fake", {"sessions": 2}, "unsupported", "fake runs 2 at once"),
        ("ort-cpu", {"call": "c"}, "unsupported", "use call=python"),
    ],
)
def test_a_batch_that_is_wrong_is_named_and_what_a_batcher_has_no_use_for_refused(
    measure: Measure,
    doubling: ExportedModel,
    runtime: str,
    options: dict[str, object],
    status: str,
    told: str,
) -> None:
    batcher = Batcher(4, 0.0)
    result, _, _ = measure(
        runtime, model=doubling, options=options, scenario="rate:500/s", batcher=batcher
    )
    assert result.status == status
    assert told in result.reason


def test_of_even_arrivals_each_place_of_a_full_batch_waits_for_the_rest() -> None:
    """Every 1 ms one, four make a batch, 2 ms a batch: place k waits 3 - k ms, then 2 ms.

    The first place of a batch comes 1 ms before the server is free, which is not the batcher's.
    """
    batcher = Batcher(4, 100_000.0)
    arrivals = [MS * n for n in range(1, 41)]
    samples = served(batcher, arrivals, same_service(batcher, 2 * MS))
    assert samples.latency_ns.tolist() == [5 * MS, 4 * MS, 3 * MS, 2 * MS] * 10
    batches = batches_of(samples, batcher)
    assert batches.held.tolist() == [4] * 9
    assert batches.added_ns.tolist() == [2 * MS, 2 * MS, MS, 0] * 9
    assert not batches.late_ns.any()


def test_what_would_begin_after_the_end_is_left_also_while_a_batcher_waits_for_more() -> None:
    batcher = Batcher(2, 0.0)
    samples = served(batcher, [0, MS, 2 * MS, 3 * MS], {1: 5 * MS, 2: 5 * MS}, until_ns=10 * MS)
    assert samples.started_ns.tolist() == [0, 5 * MS, 5 * MS]
    batcher, deadline = Batcher(2, 10e6), [FOREVER]
    server, block = VirtualServer({1: MS, 2: MS}), Block(1)

    def wait(until_ns: int) -> None:
        server.wait(until_ns)
        deadline[0] = server.now_ns

    dispatch(block, [0], deadline, batcher, server.compiled, server.clock, wait)
    assert server.now_ns < 10_000 * MS, "its patience is shorter than its longest wait"
    assert block.finished[0] == 0


GAPS = st.lists(st.integers(0, 5 * MS), min_size=1, max_size=60)


@given(GAPS, st.integers(1, 9), st.integers(0, 8000), st.integers(0, 6 * MS), st.integers(0, MS))
def test_the_rule_holds_whatever_arrives(
    gaps: list[int], most: int, wait_us: int, fixed_ns: int, per_input_ns: int
) -> None:
    """Each batch begins when it is full, or its oldest has waited, or the server is free again;
    it has all that had come by then, and nobody overtakes."""
    batcher = Batcher(most, float(wait_us))
    service = {size: fixed_ns + per_input_ns * size + 1 for size in batcher.sizes}
    arrivals = np.cumsum(gaps)
    samples = served(batcher, arrivals.tolist(), service)
    assert samples.scheduled_ns.tolist() == arrivals.tolist()
    first, free = 0, 0
    _, batches = np.unique(samples.started_ns, return_counts=True)
    assert batches_of(samples, batcher).held.tolist() == batches[1:].tolist()
    for batch_size in batches.tolist():
        start = samples.started_ns[first]
        due = arrivals[first] + batcher.wait_ns
        if first + most <= len(arrivals):
            due = min(due, arrivals[first + most - 1])
        assert start == max(due, free)
        assert batch_size == min(most, int((arrivals[first:] <= start).sum()))
        free = start + service[batcher.size_for(batch_size)]
        assert samples.finished_ns[first] == free
        first += batch_size
    assert first == len(arrivals)
    assert not batches_of(samples, batcher).late_ns.any()
