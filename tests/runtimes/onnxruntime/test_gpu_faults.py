"""What ONNX Runtime's GPU providers raise is the GPU's fault, the option's or memory's, by name."""

from __future__ import annotations

import pytest

from runtimes.errors import CompileFault, OutOfMemory, RunFault, Unsupported
from runtimes.onnxruntime.errors import compile_fault, run_fault

# As onnxruntime/core/providers/cuda/cuda_call.cc writes them: library, number, name and place.
PLACE = "; GPU=0 ; hostname=h ; file=/onnxruntime_src/x.cc ; line=129 ; expr=f(); "
RAISED = "[ONNXRuntimeError] : 1 : FAIL : "
FAILURES = [
    ("CUDA failure 700: an illegal memory access was encountered ", "illegal memory access", "700"),
    ("CUDNN failure 5000: CUDNN_STATUS_EXECUTION_FAILED ", "CUDNN_STATUS_EXECUTION_FAILED", "5000"),
    ("CUDNN_FE failure 11: CUDNN_BACKEND_API_FAILED ", "CUDNN_BACKEND_API_FAILED", "11"),
    ("CUDA error cudaErrorLaunchFailure:unspecified launch failure", "launch failure", "cudaError"),
]
# The three forms that libonnxruntime 1.31.1 holds.
NO_CAPTURE = "This session cannot use the graph capture feature as requested by the user "
REFUSALS = [
    f"{NO_CAPTURE}as the model has control flow nodes which can't be supported by CUDAExecution",
    f"{NO_CAPTURE}as all the graph nodes have not been assigned to CUDAExecutionProvider",
    f"{NO_CAPTURE} as all compute graph nodes have not been partitioned to the CUDAExecution",
]


@pytest.mark.parametrize(("text", "name", "number"), FAILURES)
def test_a_failure_of_the_gpu_is_reported_as_the_gpus(text: str, name: str, number: str) -> None:
    error = RuntimeError(f"{RAISED}{text}{PLACE}")
    compile_error, ran = compile_fault(error), run_fault(error)
    assert type(compile_error) is CompileFault and type(ran) is RunFault
    for fault in (compile_error, ran):
        assert name in fault.cause and number in fault.cause
        assert "nvidia-smi" in fault.remedy
        assert "hostname" not in fault.cause and "--inputs" not in fault.remedy


@pytest.mark.parametrize(
    "message", ["CUDA error cudaErrorNoKernelImageForDevice:no kernel image", "CUDA failure 209: n"]
)
def test_a_build_without_kernels_for_the_gpu_is_to_be_replaced(message: str) -> None:
    assert "onnxruntime-gpu" in run_fault(RuntimeError(f"{RAISED}{message}")).remedy


def test_cudnns_word_for_too_little_memory_is_one() -> None:
    error = RuntimeError(f"{RAISED}CUDNN failure 1001: CUDNN_STATUS_NOT_INITIALIZED {PLACE}")
    assert type(compile_fault(error)) is OutOfMemory
    assert type(run_fault(error)) is OutOfMemory


@pytest.mark.parametrize("text", REFUSALS)
def test_a_graph_that_cannot_be_recorded_is_unsupported_with_the_option(text: str) -> None:
    fault = compile_fault(RuntimeError(f"{RAISED}{text}"))
    assert type(fault) is Unsupported
    assert fault.remedy == "set cuda_graph=0"
