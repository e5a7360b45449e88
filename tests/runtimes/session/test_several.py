"""Several sessions of one case as one, and a precision that an engine does not execute."""

from __future__ import annotations

import re
import threading
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.contract.graphs import STEPS, streamed
from app.workers.output_check import check_lanes
from exporters.diagnostics import codes
from exporters.types import PACKAGED, ExportedModel, Precision, Reference, TensorSpec
from runtimes import registry
from runtimes.base import Session
from runtimes.errors import CompileFault, RunFault, Unsupported
from runtimes.execution import Memory, NodePlacement
from runtimes.fake import Fake, FakeSession
from runtimes.options import OptionValue, Settings
from runtimes.session.host import HostLane, aligned_zeros
from runtimes.session.precision import refuse_wider
from runtimes.session.session_group import Several, compile_sessions
from tests.runtimes.graphs import Graphs
from tests.runtimes.stepped import bind_apart, run_all_at_once

SIDES = [
    pytest.param("ort-cpu", {"sessions": 2}, id="ort-cpu"),
    pytest.param("openvino-cpu", {"sessions": 2}, id="openvino-cpu"),
    pytest.param("openvino-cpu", {"streams": 2}, id="openvino-streams"),
    pytest.param("torch-cpu", {"sessions": 2}, id="torch-cpu"),
]


def opened(name: str, model: ExportedModel, **options: OptionValue) -> Session:
    settings = Settings(threads=2, options=options)
    return compile_sessions(registry.load(name), model, {"batch": 1}, settings)


@pytest.mark.parametrize(("name", "options"), SIDES)
def test_lanes_that_run_at_once_keep_their_inputs_outputs_and_states_apart(
    graphs: Graphs, name: str, options: dict[str, OptionValue]
) -> None:
    with opened(name, graphs.step, **options) as session:
        assert len(session.lanes) == 2
        inputs = bind_apart(session)
        expected_outputs = [streamed(x[None])[0] for x in inputs]
        assert not np.allclose(expected_outputs[0], expected_outputs[1], atol=1e-3)
        for results, y in zip(run_all_at_once(session, 50), expected_outputs, strict=True):
            assert np.allclose(results, y, atol=1e-5)
        first, second = session.lanes
        second.poison()
        first_outputs, poisoned_outputs = first.outputs(), second.outputs()
        assert np.allclose(first_outputs["y"], expected_outputs[0], atol=1e-5)
        assert "y" not in poisoned_outputs or not np.allclose(
            poisoned_outputs["y"], expected_outputs[1], atol=1e-5
        )
        inputs = bind_apart(session)
        for x, results in zip(inputs, run_all_at_once(session, STEPS, True), strict=True):
            assert np.allclose(results, streamed(np.repeat(x[None], STEPS, axis=0)), atol=1e-5)


def test_a_thread_keeps_torch_in_inference_mode_only_for_itself(graphs: Graphs) -> None:
    import torch

    modes = []
    with opened("torch-cpu", graphs.dense, sessions=2) as session:

        def look() -> None:
            modes.append(torch.is_inference_mode_enabled())
            session.lanes[0].enter()
            modes.append(torch.is_inference_mode_enabled())

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert modes == [False, True]
    assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_where_one_does_not_compile_none_is_left_open(graphs: Graphs, failing: int) -> None:
    open_before = FakeSession.open
    with pytest.raises(CompileFault):
        opened("fake", graphs.dense, sessions=3, fail="compile", fail_session=open_before + failing)
    assert FakeSession.open == open_before


def test_closing_closes_all_of_them(graphs: Graphs) -> None:
    open_before = FakeSession.open
    session = opened("fake", graphs.dense, sessions=3)
    assert FakeSession.open == open_before + 3
    session.close()
    session.close()
    assert FakeSession.open == open_before
    with pytest.raises(RunFault):
        session.lanes[0].run()


def fakes(graphs: Graphs, **changes: Any) -> list[Session]:
    """Two sessions, the second of which says something else of itself."""
    runtime = Fake()
    sessions = [runtime.compile(graphs.dense, {"batch": 1}, Settings()) for _ in range(2)]
    for session in sessions:
        session.execution = replace(session.execution, inspection_ms=2.0)
    sessions[1].execution = replace(sessions[1].execution, **changes)
    return sessions


def test_what_sessions_took_adds_up(graphs: Graphs, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = fakes(graphs)
    monkeypatch.setattr(FakeSession, "memory", lambda self: Memory(device_peak_bytes=100))
    with Several(sessions) as session:
        assert session.memory() == Memory(device_peak_bytes=200)
        assert session.execution.inspection_ms == 4.0
        assert session.execution.warnings == ()


def test_what_a_second_session_does_otherwise_is_told(graphs: Graphs) -> None:
    with Several(fakes(graphs, precision="bf16")) as session:
        assert codes(session.execution.warnings) == ("sessions_differ",)
    foreign_nodes = (NodePlacement("n", "Relu", "elsewhere", "fp32"),)
    with Several(fakes(graphs, placement=foreign_nodes)) as session:
        assert session.execution.elsewhere == foreign_nodes
    # A name that an engine makes up is no difference: OpenVINO's MVN_23 is MVN_11855 next time.
    sessions = fakes(graphs)
    for number, each in enumerate(sessions):
        made_up = (NodePlacement(f"MVN_{number}", "MVN", "CPU", "fp32"),)
        each.execution = replace(each.execution, provider="CPU", placement=made_up)
    with Several(sessions) as session:
        assert session.execution.warnings == ()


@pytest.mark.parametrize(
    ("asked", "executed", "is_wider"),
    [
        ("int8", "fp32", True),
        ("int8", "fp16+fp32", True),
        ("fp16", "fp32", True),
        ("fp16", "bf16", True),
        ("int8", "int8", False),
        ("int8", "int8+fp16", False),
        ("fp32", "int8", False),  # a user's quantised graph, taken as it is
        ("fp32", "fp64", False),  # a user's graph in doubles
        ("fp32", "tf32", False),
        ("int8", "unknown", False),
    ],
)
def test_what_runs_in_a_wider_type_than_asked_is_refused(
    asked: Precision, executed: str, is_wider: bool
) -> None:
    said = re.escape(f"of this {asked} graph in {executed}") + ".*another runtime"
    with pytest.raises(Unsupported, match=said) if is_wider else nullcontext():
        refuse_wider(asked, executed, "an engine")


TYPES = ["bool", "uint8", "int8", "uint16", "int32", "uint64", "int64", "float16", "float32",
         "float64", "complex64"]  # fmt: skip


def filled(number: float, dtype: str) -> np.ndarray:
    return np.full(4, number, "float64").astype(dtype)


class Idle(HostLane):
    """A lane whose runs write nothing."""

    def __init__(self, output: np.ndarray) -> None:
        super().__init__({"x": aligned_zeros((1,), np.dtype(np.float32))}, {"y": output}, ())
        self.run = lambda: None


@pytest.mark.parametrize("dtype", TYPES[:-1])
@pytest.mark.parametrize("value", [0, 1, 255, np.nan])
@pytest.mark.parametrize("left", [0, 1, 255])
def test_one_of_two_checks_finds_an_output_that_is_never_written(
    dtype: str, value: float, left: int, graphs: Graphs
) -> None:
    """`left` is what happens to lie in its memory."""
    if np.isnan(value) and np.dtype(dtype).kind not in "fc":
        return
    if dtype in ("bool", "int8"):
        value, left = min(value, 1), min(left, 1)
    model = graphs.of_text(f"never_{dtype}", "(float[4] x) => (float[4] y) { y = Relu(x) }")
    assert isinstance(model.outputs[0], TensorSpec)
    reference = Reference({"x": np.zeros(1, np.float32)}, {"y": filled(value, dtype)}, (PACKAGED,))
    lane = Idle(filled(left, dtype))
    right = [check_lanes([lane], "fp32", reference, model, None).output_ok for _ in range(2)]
    assert not all(right)
