"""A closed session gives its memory back: a long sweep or a search must not fill the machine."""

from __future__ import annotations

import json

import pytest

from exporters.codec import to_json
from runtimes.errors import CompileFault, OutOfMemory, tells_of_no_memory
from runtimes.onnxruntime import errors as ort_faults
from runtimes.openvino import session as ov_faults
from runtimes.pytorch import lane as torch_faults
from runtimes.tensorrt.errors import Log
from tests.runtimes.graphs import Graphs
from tests.runtimes.processes import printed

pytestmark = pytest.mark.rare
WARM_UP, SESSIONS = 30, 200
ALLOWED_PER_SESSION = 20 * 1024
"""Bytes. The weights alone are 1 MiB, a callback kept by mistake some 11 KiB."""

SCRIPT = """
import json, sys
import psutil
from exporters.codec import from_json
from exporters.types import ExportedModel, load_reference
from runtimes import registry
from runtimes.options import Settings
from runtimes.session.session_group import compile_sessions
runtime, settings = registry.load(sys.argv[1]), Settings(threads=2, options=json.loads(sys.argv[3]))
model = from_json(ExportedModel, json.loads(sys.argv[2]))
reference = load_reference(model.references["batch=1"])
process, sizes = psutil.Process(), []
for sessions in map(int, sys.argv[4:]):
    for _ in range(sessions):
        with compile_sessions(runtime, model, {"batch": 1}, settings) as session:
            for lane in session.lanes:
                lane.bind(reference.inputs)
                lane.run()
                lane.outputs()
    sizes.append(process.memory_info().rss)
print(json.dumps(sizes))
"""


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ort-cpu", {}),
        ("ort-cpu", {"sessions": 2}),
        ("openvino-cpu", {}),
        ("openvino-cpu", {"streams": 2}),
        ("torch-cpu", {}),
        ("fpga", {}),
    ],
)
def test_two_hundred_sessions_do_not_grow_the_process(
    graphs: Graphs, name: str, options: dict[str, int]
) -> None:
    model = json.dumps(to_json(graphs.wide))
    text = printed(SCRIPT, name, model, json.dumps(options), str(WARM_UP), str(SESSIONS))
    memory_before, memory_after = json.loads(text)
    assert memory_after - memory_before < SESSIONS * ALLOWED_PER_SESSION


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


def test_other_failures_are_none_and_pythons_own_is_one_without_a_word() -> None:
    for said in (
        "CUDA error: an illegal memory access was encountered",
        "CUDA error: no kernel image is available for execution on the device",
        "the graph allocates 4 tensors",
        "CUBLAS_STATUS_NOT_INITIALIZED",
    ):
        assert not tells_of_no_memory(RuntimeError(said))
    assert tells_of_no_memory(MemoryError())
