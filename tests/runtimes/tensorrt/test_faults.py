"""What TensorRT says becomes one sentence without source positions, and a status."""

from __future__ import annotations

from types import ModuleType

import pytest

from runtimes.cuda.driver import CudaError, Gpu
from runtimes.errors import CompileFault, OutOfMemory, RuntimeFault, Unsupported
from runtimes.options import Settings
from runtimes.tensorrt.errors import Log, plain
from runtimes.tensorrt.runtime import TensorRt
from tests.runtimes.graphs import Graphs

# As TensorRT 10 and TensorRT for RTX 1.7 wrote them.
SAID = {
    'creator && "Plugin not found, are the plugin name, version, and namespace correct?"': (
        "Plugin not found, are the plugin name, version, and namespace correct?"
    ),
    "Assertion failed: convertDtype(onnxDtype.elem_type(), &trtDtype) && "
    '"Failed to convert ONNX date type to TensorRT data type."': (
        "Failed to convert ONNX date type to TensorRT data type"
    ),
    "Invalid Node - mm\nITensor::getDimensions: Error Code 4: API Usage Error (mm: last dimension "
    "of input0 = 64 and second to last dimension of input1 = 63 but must match. In validate at "
    "/_src/optimizer/api/layers/matrixMultiplyLayer.cpp:192)\n[checkMacros.cpp::catchCudaError::250]"
    " Error Code 1: Cuda Runtime (In catchCudaError)": (
        "API Usage Error (mm: last dimension of input0 = 64 and second to last dimension of "
        "input1 = 63 but must match)"
    ),
    "IBuilder::buildSerializedNetwork: Error Code 1: Myelin ([pass.cpp:337: "
    "check_turing_op_compatibility] Cannot compile operation 'mm' for Turing (SM75): FP32 GEMM is "
    "not supported. In compileGraph at /_src/optimizer/myelin/codeGenerator.cpp:2012)": (
        "Myelin (Cannot compile operation 'mm' for Turing (SM75): FP32 GEMM is not supported)"
    ),
    "IBuilder::buildSerializedNetwork: Error Code 10: Internal Error (Could not find any "
    "implementation for node a.)": "Internal Error (Could not find any implementation for node a.)",
}


@pytest.mark.parametrize("said", SAID)
def test_a_message_is_told_without_the_positions_in_tensorrts_sources(said: str) -> None:
    assert plain(said) == SAID[said]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("[cudaDriverHelpers.cpp::alloc::15] Error Code 2: OutOfMemory (no 9 GB)", OutOfMemory),
        ("IBuilder::buildSerializedNetwork: Error Code 10: no implementation for it", CompileFault),
        ("Error Code 1: Cannot compile operation 'mm': FP32 GEMM is not supported", Unsupported),
    ],
)
def test_a_build_that_fails_is_told_in_one_sentence(said: str, kind: type[RuntimeFault]) -> None:
    log = Log()
    log.keep(said)
    fault = log.fault(CompileFault, "TensorRT could not build an engine", "see its notes")
    assert type(fault) is kind
    assert "Error Code" not in str(fault)


def test_a_kernel_that_was_passed_over_for_want_of_memory_explains_no_later_step() -> None:
    log = Log()
    log.keep("Error Code 2: OutOfMemory (tactic 0x3e8 needs 9 GB)")
    log.begin()
    log.keep("Error Code 4: the engine was built for another GPU")
    fault = log.fault(CompileFault, "TensorRT could not load its own engine", "see nvidia-smi")
    assert type(fault) is CompileFault
    assert "another GPU" in str(fault)


@pytest.mark.parametrize(
    ("operation", "node"), [("mm", "mm"), ("$$myelin$$(Unnamed Loop* 0)^(Unnamed Layer* 23)", "")]
)
def test_a_layer_that_tensorrt_made_up_is_no_node_of_the_graph(operation: str, node: str) -> None:
    log = Log()
    log.keep(f"Cannot compile operation '{operation}' for Turing: FP32 GEMM is not supported")
    fault = log.fault(CompileFault, "TensorRT could not build an engine", "see its notes")
    assert isinstance(fault, Unsupported)
    assert fault.node == node


@pytest.mark.parametrize(("code", "fault"), [(2, OutOfMemory), (900, Unsupported)])
def test_a_recording_that_fails_is_reported_by_its_cause(
    code: int,
    fault: type[Exception],
    graphs: Graphs,
    tensorrt: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise CudaError(code, "cuGraphInstantiateWithFlags", "failed")

    monkeypatch.setattr(Gpu, "graph", fail)
    with pytest.raises(fault):
        TensorRt().compile(graphs.dense, {"batch": 1}, Settings(options={"cuda_graph": True}))
