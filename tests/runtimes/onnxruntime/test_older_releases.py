"""What an earlier release of ONNX Runtime lacks: placement, C functions, the newest IR version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import onnx
import onnxruntime as ort
import pytest

from app.contract.graphs import node
from exporters import install_layout
from exporters.types import ExportedModel
from runtimes.errors import Unsupported
from runtimes.onnxruntime import native as native_api
from runtimes.onnxruntime.c_api import OrtError
from runtimes.onnxruntime.errors import LaterIrVersion, compile_fault
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings
from tests.runtimes.contract import computes, reference_of
from tests.runtimes.graphs import Graphs, quantised_conv, vector

CALLS = pytest.mark.parametrize("call", ["c", "python"])


@pytest.fixture
def reports_no_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The engine of today without what release 1.24 added."""
    if not install_layout.extension("runtimes.onnxruntime._native_base"):
        pytest.skip("the extension that finds ONNX Runtime's C functions was not built")
    older = replace(native_api.native("module"), full_api=None)
    monkeypatch.setattr(native_api, "native", lambda _build: older)
    name = "get_provider_graph_assignment_info"
    (owner,) = (kind for kind in ort.InferenceSession.__mro__ if name in vars(kind))
    monkeypatch.delattr(owner, name)
    yield


@CALLS
@pytest.mark.usefixtures("reports_no_nodes")
def test_placement_and_precision_come_from_the_profile(graphs: Graphs, call: str) -> None:
    settings = Settings(threads=1, options={"call": call})
    with OrtCpu().compile(graphs.dense, {"batch": 1}, settings) as session:
        execution = session.execution
    assert execution.precision == "fp32"
    assert execution.placement and execution.elsewhere == ()
    assert {placement.provider for placement in execution.placement} == {"CPUExecutionProvider"}
    assert all(placement.node and placement.op for placement in execution.placement)
    model = quantised_conv(graphs, "quantised")
    with OrtCpu().compile(model, {"batch": 1}, replace(settings, precision="int8")) as session:
        assert session.execution.precision == "int8"


@CALLS
@pytest.mark.usefixtures("reports_no_nodes")
def test_where_no_run_can_be_recorded_nothing_is_elsewhere(graphs: Graphs, call: str) -> None:
    specs = [vector("x", "float32", 4), vector("y", "float32", 4)]
    model = graphs.save("unread", [node("Relu", ["x"], ["y"])], specs[:1], specs[1:])
    with OrtCpu().compile(model, {}, Settings(options={"call": call})) as session:
        execution = session.execution
    assert execution.precision == "unknown", "the profile alone has the types"
    assert execution.elsewhere == (), "the CPU's is the only provider that is registered"


def test_a_module_that_lends_no_c_functions_is_called_from_python(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_build: str) -> native_api.Native:
        raise Unsupported("the Python module lends its C functions to nobody", "use call=python")

    monkeypatch.setattr(native_api, "native", refuse)
    with OrtCpu().compile(graphs.dense, {"batch": 1}, Settings()) as session:
        assert "C binding" in session.execution.call_path
    with pytest.raises(Unsupported, match="call=python"):
        OrtCpu().compile(graphs.dense, {"batch": 1}, Settings(options={"call": "c"}))


@pytest.fixture
def newest_ir(graphs: Graphs) -> int:
    """The latest IR version that this engine opens."""
    model = graphs.save(
        "far", [node("Relu", ["x"], ["y"])], [vector("x")], [vector("y")], ir_version=999
    )
    with pytest.raises(Exception) as caught:
        ort.InferenceSession(model.path, providers=["CPUExecutionProvider"])
    fault = compile_fault(caught.value)
    assert isinstance(fault, LaterIrVersion) and fault.of_file == 999
    return fault.newest


def at_version(model: ExportedModel, version: int) -> ExportedModel:
    proto = onnx.load(model.path)
    proto.ir_version = version
    path = Path(model.path).with_stem("later")
    onnx.save(proto, path)
    return replace(model, path=str(path))


@CALLS
def test_a_later_ir_version_that_nothing_needs_is_opened_as_a_copy(
    graphs: Graphs, newest_ir: int, call: str
) -> None:
    if newest_ir >= onnx.IR_VERSION:
        pytest.skip("this engine opens every version that onnx knows")
    model = at_version(graphs.dense, newest_ir + 1)
    content_before = Path(model.path).read_bytes()
    settings = Settings(threads=1, options={"call": call})
    with OrtCpu().compile(model, {"batch": 1}, settings) as session:
        (warning,) = session.execution.warnings
        expected = reference_of(model, 1)
        (lane,) = session.lanes
        assert computes(lane, expected)
    assert warning.code == "ir_version_lowered"
    assert warning.parameters == {"of_file": newest_ir + 1, "opened": newest_ir}
    assert Path(model.path).read_bytes() == content_before


def test_a_file_that_needs_its_ir_version_is_refused_with_what_needs_it(
    graphs: Graphs, newest_ir: int
) -> None:
    kind = {13: "FLOAT6E2M3"}.get(newest_ir)
    if kind is None or newest_ir >= onnx.IR_VERSION:
        pytest.skip("no type is known that this engine's next version brought")
    model = at_version(graphs.dense, newest_ir + 1)
    proto = onnx.load(model.path)
    narrow = onnx.TensorProto(name="narrow", dims=[0], data_type=getattr(onnx.TensorProto, kind))
    proto.graph.initializer.append(narrow)
    Path(model.path).write_bytes(proto.SerializeToString())
    with pytest.raises(Unsupported, match=kind):
        OrtCpu().compile(model, {"batch": 1}, Settings())


def test_an_error_of_c_is_still_one_of_ours() -> None:
    fault = compile_fault(OrtError("Unsupported model IR version: 10, max supported IR version: 9"))
    assert isinstance(fault, LaterIrVersion)
    assert (fault.of_file, fault.newest) == (10, 9)
