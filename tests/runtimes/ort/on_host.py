"""ONNX Runtime's GPU session on host memory, where there is no GPU."""

from __future__ import annotations

import ctypes
import threading

import onnxruntime

from exporters.types import ExportedModel
from runtimes.execution import Boundary, Execution
from runtimes.ort.gpu_session import OrtGpuSession
from runtimes.ort.operators import Recording
from tests.runtimes.requests import request_of

CPU = "CPUExecutionProvider"


class HostMemory:
    """ONNX Runtime's own CPU memory where a GPU's would be."""

    kind, index = "cpu", 0

    def __init__(self) -> None:
        self.threads = {threading.get_ident()}

    def make_current(self) -> None:
        self.threads.add(threading.get_ident())

    def copy(self, target: int, source: int, size: int) -> None:
        assert threading.get_ident() in self.threads, "the driver refuses such a thread"
        ctypes.memmove(target, source, size)

    def close(self) -> None:
        pass


def on_host(
    model: ExportedModel, batch: int, boundary: Boundary, profile: Recording | None = None
) -> OrtGpuSession:
    options = onnxruntime.SessionOptions()
    options.add_free_dimension_override_by_name("batch", batch)
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile.prefix)
    session = onnxruntime.InferenceSession(model.path, options, providers=[CPU])
    execution = Execution(CPU, "fp32", "host", "", boundary=boundary)
    return OrtGpuSession(session, request_of(model, batch), execution, HostMemory(), profile)
