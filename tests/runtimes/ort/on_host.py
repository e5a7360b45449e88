"""ONNX Runtime's GPU session on host memory, where there is no GPU."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import replace

import onnxruntime

from exporters.types import ExportedModel
from runtimes.execution import Boundary, Execution
from runtimes.ort.allocating_lane import lane_on
from runtimes.ort.opening import Opening, session_options
from runtimes.ort.operators import Recording
from runtimes.ort.session import OrtSession
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
    model: ExportedModel,
    batch: int,
    boundary: Boundary,
    recording: Recording | None = None,
    has_queue: bool = False,
) -> OrtSession:
    """The session that a GPU provider has, of the model at one batch size."""
    request = request_of(model, batch, boundary=boundary)
    opening = replace(Opening.of(request), recording=recording.prefix if recording else None)
    options = session_options(opening)
    engine = onnxruntime.InferenceSession(model.path, options, providers=[CPU])
    lane = lane_on(engine, request, HostMemory(), has_queue)
    execution = Execution(CPU, "fp32", "host", lane.call_path, boundary=boundary)
    return OrtSession(engine, (lane,), execution, recording)
