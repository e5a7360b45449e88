"""Outputs whose size only a run tells: the size may change with a state, with inputs, at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.contract.graphs import constant, node
from exporters.diagnostics.catalogue import diagnostic
from exporters.types import ExportedModel, StatePair
from runtimes.calls import timed
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import OptionValue, Settings
from tests.runtimes.graphs import Graphs, vector

CALLS: list[dict[str, OptionValue]] = [{"call": "python"}, {}, {"build": "library"}]


def counting(graphs: Graphs) -> ExportedModel:
    """Its state grows by one in each run, and with it how many of `x` are found below it."""
    model = graphs.save(
        "counting",
        [
            node("Add", ["s", "one"], ["next"]),
            node("Less", ["x", "s"], ["below"]),
            node("NonZero", ["below"], ["found"]),
        ],
        [vector("x"), vector("s", "float32", 1)],
        [vector("next", "float32", 1), vector("found", "int64", 1, "n")],
        [constant("one", np.ones(1, np.float32))],
    )
    return replace(model, states=(StatePair("s", "next"),))


@pytest.mark.parametrize("options", CALLS, ids=str)
def test_the_size_may_change_with_a_state(options: dict[str, OptionValue], graphs: Graphs) -> None:
    if options.get("build") and not timed.built():
        pytest.skip("the loop in C was not built")
    with OrtCpu().compile(counting(graphs), {}, Settings(options=options)) as session:
        (lane,) = session.lanes
        assert lane.advancing() is None, "the loop in C would bind nothing anew"
        lane.bind({"x": np.arange(4, dtype=np.float32), "s": np.zeros(1, np.float32)})
        for size in range(5):
            lane.run()
            assert lane.outputs()["found"].shape == (1, size)
            lane.advance()
        assert session.execution.call_path.endswith(
            "outputs allocated by the engine once, and again for other inputs"
        )


@pytest.mark.parametrize("options", CALLS, ids=str)
def test_the_size_may_change_at_random(options: dict[str, OptionValue], graphs: Graphs) -> None:
    if options.get("build") and not timed.built():
        pytest.skip("the loop in C was not built")
    model = graphs.save(
        "random_sizes",
        [
            node("RandomNormalLike", ["x"], ["r"], seed=1.0),
            node("Greater", ["r", "x"], ["above"]),
            node("NonZero", ["above"], ["found"]),
        ],
        [vector("x", "float32", 64)],
        [vector("found", "int64", 1, "n")],
    )
    model = replace(model, uncompared=diagnostic("reference_not_deterministic", references="onnx"))
    with OrtCpu().compile(model, {}, Settings(options=options)) as session:
        (lane,) = session.lanes
        assert not lane.calls
        lane.bind({"x": np.zeros(64, np.float32)})
        sizes = set()
        for _ in range(20):
            lane.run()
            sizes.add(lane.outputs()["found"].shape[1])
        assert len(sizes) > 1
        assert session.execution.call_path.endswith("allocated by the engine in each run")
