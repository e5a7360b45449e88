"""A lack of memory is one status, whichever engine or library of it said so and however."""

from __future__ import annotations

import pytest

from runtimes.errors import CompileFault, OutOfMemory, tells_of_no_memory
from runtimes.onnxruntime import errors as ort_faults
from runtimes.openvino import session as ov_faults
from runtimes.pytorch import lane as torch_faults
from runtimes.tensorrt.errors import Log

# As each of them wrote it; those of PyTorch from github.com/pytorch/pytorch/issues/128601 and
# github.com/mberr/torch-max-mem/issues/45.
SAID = [
    "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 139 GiB",
    "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
    "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "[enforce fail at alloc_cpu.cpp:119] err == 0. DefaultCPUAllocator: can't allocate memory",
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Failed to allocate memory for requested buffer",
    "/onnxruntime_src/bfc_arena.cc:376 void* BFCArena::AllocateRawInternal",
    "CUDA failure 2: out of memory ; GPU=0 ; hostname=h",
    "CUDNN failure 1001: CUDNN_STATUS_NOT_INITIALIZED ; GPU=0 ; hostname=h",
    "std::bad_alloc",
    "[cudaDriverHelpers.cpp::alloc::15] Error Code 2: OutOfMemory (no 9 GB)",
    "Requested size was 94371840 bytes: could not allocate it",
    "Cannot allocate memory",
]


@pytest.mark.parametrize("said", SAID)
def test_every_adapter_knows_the_words_of_all(said: str) -> None:
    error = RuntimeError(said)
    assert tells_of_no_memory(error)
    assert isinstance(torch_faults.run_fault(error), OutOfMemory)
    assert isinstance(ort_faults.compile_fault(error), OutOfMemory)
    assert isinstance(ort_faults.run_fault(error), OutOfMemory)
    assert isinstance(ov_faults.compile_fault(error), OutOfMemory)
    log = Log()
    log.keep(said)
    assert isinstance(log.fault(CompileFault, "it failed", ""), OutOfMemory)


@pytest.mark.parametrize(
    "said",
    [
        "CUDA error: an illegal memory access was encountered",
        "CUDA error: no kernel image is available for execution on the device",
        "the graph allocates 4 tensors",
        "CUBLAS_STATUS_NOT_INITIALIZED",
    ],
)
def test_other_failures_are_none(said: str) -> None:
    assert not tells_of_no_memory(RuntimeError(said))


def test_pythons_own_is_one_without_a_word() -> None:
    assert tells_of_no_memory(MemoryError())
