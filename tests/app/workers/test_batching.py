"""A round with a batcher, in a real process: the formula's latencies, every batch checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save

from app.cases.scenario import Batcher
from exporters.diagnostics.catalogue import diagnostic
from exporters.types import (
    PACKAGED,
    ExportedModel,
    Reference,
    TensorSpec,
    axes_key,
    save_reference,
)
from tests.app.workers.conftest import Measure

MS = 1_000_000
BATCHES = (1, 2, 3, 4)


@pytest.fixture
def doubling(tmp_path: Path) -> ExportedModel:
    """y = x + x, with a reference at each batch."""
    sizes = ("batch", 4)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in ("x", "y")]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])], "doubling", values[:1], values[1:]
    )
    path, opset = tmp_path / "doubling.onnx", [helper.make_opsetid("", 20)]
    save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    references = {}
    for batch in BATCHES:
        x = np.arange(4 * batch, dtype=np.float32).reshape(batch, 4)
        file = tmp_path / f"doubling.{batch}.npz"
        save_reference(str(file), Reference({"x": x}, {"y": x + x}, (PACKAGED,)))
        references[axes_key({"batch": batch})] = str(file)
    return ExportedModel(
        name="doubling",
        suite="",
        family="",
        path=str(path),
        sha256="",
        opset=20,
        precision="fp32",
        inputs=(TensorSpec("x", "float32", sizes),),
        outputs=(TensorSpec("y", "float32", sizes),),
        axes={"batch": 1},
        references=references,
        reference="onnx",
        batch="batch",
    )


def test_of_even_arrivals_every_place_of_a_batch_has_the_latency_of_the_formula(
    measure: Measure, doubling: ExportedModel
) -> None:
    """Every 20 ms one, four make a batch of 3 ms and 0.5 ms for each: place k takes
    (3 - k) * 20 + 5 ms, and all four of a batch as much more as it was late and ran longer."""
    result, records, _ = measure(
        "fake",
        model=doubling,
        options={"latency_us": 3000.0, "per_input_us": 500.0},
        scenario="rate:50/s",
        batcher=Batcher(4, 200e3),
    )
    assert result.status == "ok", result.reason
    assert result.concurrency == 1
    assert result.open_loop is not None
    # How many requests bring the queue into its steady state follows from the warm-up's times.
    due = result.open_loop.due
    assert (due - result.open_loop.start_requests, result.open_loop.left) == (31, 0)
    full = records[-due : len(records) - due % 4].reshape(-1, 4)
    rest = records[len(records) - due % 4 :]
    assert (np.diff(full["scheduled_ns"].ravel()) == 20 * MS).all()
    assert not np.ptp(full["started_ns"], axis=1).any()
    latency = full["finished_ns"] - full["scheduled_ns"]
    excess_ns = latency - (np.arange(3, -1, -1) * 20 + 5) * MS
    late = full["started_ns"][:, 0] - full["scheduled_ns"][:, 3]
    longer = (full["finished_ns"] - full["started_ns"])[:, 0] - 5 * MS
    assert (late >= 0).all()
    assert (longer >= 0).all()
    assert (excess_ns == (late + longer)[:, None]).all()
    assert (rest["started_ns"] >= rest["scheduled_ns"][:1] + 200 * MS).all()


@pytest.mark.parametrize("wait_us", [0.0, 2000.0])
def test_an_engine_answers_every_batch_rightly_and_each_request_has_a_record(
    measure: Measure, doubling: ExportedModel, wait_us: float
) -> None:
    result, records, _ = measure(
        "ort-cpu", model=doubling, scenario="poisson:500/s", batcher=Batcher(4, wait_us)
    )
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


def test_a_batch_whose_outputs_are_wrong_is_named(
    measure: Measure, doubling: ExportedModel
) -> None:
    result, _, _ = measure(
        "fake",
        model=doubling,
        options={"fail": "wrong", "fail_session": 1},
        scenario="rate:500/s",
        batcher=Batcher(4, 0.0),
    )
    assert result.status == "wrong_output"
    assert "'y' at batch 2 differs" in result.reason


def test_a_batch_that_does_not_compile_ends_the_round(
    measure: Measure, doubling: ExportedModel
) -> None:
    result, _, _ = measure(
        "fake",
        model=doubling,
        options={"fail": "compile", "fail_session": 2},
        scenario="rate:500/s",
        batcher=Batcher(4, 0.0),
    )
    assert result.status == "compile_failed"


def test_requests_that_come_faster_than_full_batches_are_answered_are_overload(
    measure: Measure, doubling: ExportedModel
) -> None:
    """2,000 a second in batches of two that take 50 ms need fifty servers."""
    result, _, _ = measure(
        "fake",
        model=doubling,
        options={"latency_us": 50_000.0},
        scenario="rate:2000/s",
        batcher=Batcher(2, 0.0),
    )
    assert result.stop_reason == "overload"
    assert result.open_loop is not None
    assert result.open_loop.left > 0
    assert result.open_loop.utilisation >= 50


@pytest.mark.parametrize(
    ("options", "told"),
    [({"sessions": 2}, "fake runs 2 at once"), ({"call": "c"}, "use call=python")],
)
def test_what_a_batcher_has_no_use_for_is_refused(
    measure: Measure, doubling: ExportedModel, options: dict[str, object], told: str
) -> None:
    runtime = "fake" if "sessions" in options else "ort-cpu"
    result, _, _ = measure(
        runtime,
        model=doubling,
        options=options,
        scenario="rate:500/s",
        batcher=Batcher(3, 0.0),
    )
    assert result.status == "unsupported"
    assert told in result.reason


def test_outputs_that_are_not_compared_are_fed_all_the_same(
    measure: Measure, doubling: ExportedModel
) -> None:
    model = replace(doubling, uncompared=diagnostic("outputs_not_checked"))
    result, _, _ = measure("ort-cpu", model=model, scenario="rate:500/s", batcher=Batcher(2, 0.0))
    assert result.status == "ok", result.reason
    assert result.check is None
