"""An output that is an input of the graph is right, and costs no run and no buffer of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.contract.graphs import node
from exporters.types import ExportedModel, StatePair
from runtimes import calls as timed
from runtimes.base import Session
from runtimes.options import OptionValue, Settings
from runtimes.registry import load
from runtimes.session.host import HostLane
from tests.runtimes.graphs import Graphs, vector
from tests.runtimes.onnxruntime.on_host import on_host

LANES: list[tuple[str, dict[str, OptionValue]]] = [
    ("ort-cpu", {}),
    ("ort-cpu", {"call": "python"}),
    ("ort-cpu", {"build": "library"}),
    ("openvino-cpu", {}),
    ("a device", {"boundary": "host"}),
    ("a device", {"boundary": "device"}),
    ("fpga:v80", {}),
]
KINDS = ["itself", "identity", "two identities", "dropout", "two dropouts"]


def passing(graphs: Graphs, kind: str) -> ExportedModel:
    nodes, outputs = [node("Relu", ["x"], ["y"])], [vector("y"), vector("x")]
    if kind != "itself":
        nodes.append(node("Dropout" if "dropout" in kind else "Identity", ["x"], ["z"]))
        outputs[1] = vector("z")
    if kind == "two identities":
        nodes.append(node("Identity", ["z"], ["w"]))
        outputs.append(vector("w"))
    if kind == "two dropouts":
        nodes.append(node("Dropout", ["x"], ["w"]))
        outputs.append(vector("w"))
    return graphs.save(f"passing_{kind.replace(' ', '_')}", nodes, [vector("x")], outputs)


def opened(model: ExportedModel, runtime: str, options: dict[str, OptionValue]) -> Session:
    if options.get("build") == "library" and not timed.built():
        pytest.skip("the loop in C was not built")
    if runtime == "a device":
        return on_host(model, 1, "host" if options["boundary"] == "host" else "device")
    name, _, device = runtime.partition(":")
    return load(name).compile(model, {}, Settings(device=device, options=options))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("runtime", "options"), LANES)
def test_it_is_what_was_bound(
    runtime: str, options: dict[str, OptionValue], kind: str, graphs: Graphs
) -> None:
    model = passing(graphs, kind)
    with opened(model, runtime, options) as session:
        (lane,) = session.lanes
        for sign in (1, -1):
            x = sign * np.array([-1, 2, -3, 4], np.float32)
            lane.bind({"x": x})
            for _ in range(2):
                lane.poison()
                lane.run()
            outputs = lane.outputs()
            assert np.array_equal(outputs.pop("y"), np.maximum(x, 0))
            assert outputs
            assert all(np.array_equal(array, x) for array in outputs.values())


@pytest.mark.parametrize(("runtime", "options"), LANES)
def test_an_input_that_only_passes_through_dropout_is_read(
    runtime: str, options: dict[str, OptionValue], graphs: Graphs
) -> None:
    """And an output is written together with what a dropout makes of it."""
    nodes = [
        node("Dropout", ["x"], ["a"]),
        node("Sub", ["a", "b"], ["y"]),
        node("Dropout", ["y"], ["z"]),
    ]
    inputs, outputs = [vector("b"), vector("x")], [vector("z"), vector("y")]
    with opened(graphs.save("dropped", nodes, inputs, outputs), runtime, options) as session:
        (lane,) = session.lanes
        b, x = np.array([1, 2, 3, 4], np.float32), np.array([8, 16, 32, 64], np.float32)
        for scale in (1, 2):
            lane.bind({"b": b, "x": scale * x})
            lane.poison()
            lane.run()
            actual_outputs = lane.outputs()
            assert [*actual_outputs] == ["z", "y"]
            assert all(np.array_equal(array, scale * x - b) for array in actual_outputs.values())


def test_outputs_of_one_buffer_are_poisoned_once() -> None:
    """Integers become their complement, and by a second time what they were."""
    shared_buffer = np.array([1, 2], np.int64)
    HostLane({}, {"y": shared_buffer, "z": shared_buffer}, ()).poison()
    assert shared_buffer.tolist() == [~1, ~2]


def delays(graphs: Graphs) -> ExportedModel:
    """`x` becomes `h`, and `h` becomes `g`: a line of delays, without a copy in the graph."""
    names = ("x", "h", "g")
    model = graphs.save(
        "delays",
        [node("Sum", list(names), ["y"])],
        [vector(name) for name in names],
        [vector("y"), vector("x"), vector("h")],
    )
    return replace(model, states=(StatePair("h", "x"), StatePair("g", "h")))


def moves_one_step_in_each_run(session: Session) -> bool:
    (lane,) = session.lanes
    zero = np.zeros(4, np.float32)
    lane.bind({"x": zero, "h": zero, "g": zero})
    seen_outputs = []
    for step in range(1, 5):
        lane.feed({"x": np.full(4, step, np.float32)})
        lane.run()
        seen_outputs.append(float(lane.outputs()["y"][0]))
        lane.advance()
    return seen_outputs == [1, 2 + 1, 3 + 2 + 1, 4 + 3 + 2]


@pytest.mark.parametrize(("runtime", "options"), LANES[:-1])
def test_states_that_pass_through_move_one_step_in_each_run(
    runtime: str, options: dict[str, OptionValue], graphs: Graphs
) -> None:
    with opened(delays(graphs), runtime, options) as session:
        assert moves_one_step_in_each_run(session)
