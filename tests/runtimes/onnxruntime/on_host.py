"""ONNX Runtime's GPU session on host memory, where there is no GPU."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime

from exporters.types import ExportedModel
from runtimes.cuda.driver import Gpu
from runtimes.execution import Boundary, Execution
from runtimes.onnxruntime.execution import Recording
from runtimes.onnxruntime.gpu_lane import OrtGpuLane, lane_on
from runtimes.onnxruntime.opening import Opening, session_options
from runtimes.onnxruntime.session import OrtSession
from tests.runtimes.requests import request_of

CPU = "CPUExecutionProvider"


class HostMemory:
    """ONNX Runtime's own CPU memory where a GPU's would be."""

    kind, index = "cpu", 0

    def __init__(self) -> None:
        self.threads = {threading.get_ident()}
        self.locked = 0

    def make_current(self) -> None:
        self.threads.add(threading.get_ident())

    def pinned(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        self.locked += 1
        return np.zeros(shape, dtype)

    def copy(self, target: int, source: int, size: int) -> None:
        assert threading.get_ident() in self.threads, "the driver refuses such a thread"
        ctypes.memmove(target, source, size)

    def close(self) -> None:
        pass


class AsOnGpu:
    """A session that says where its inputs and outputs are as that of a GPU's provider does.

    `on_host` are those that it has on the host: what is bound to them is read when it is bound.
    """

    def __init__(self, engine: onnxruntime.InferenceSession, on_host: Collection[str]) -> None:
        self._engine, self._on_host = engine, on_host

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def get_input_memory_infos(self) -> list[SimpleNamespace]:
        return [self._place(end.name, "Cpu") for end in self._engine.get_inputs()]

    def get_output_memory_infos(self) -> list[SimpleNamespace]:
        return [self._place(end.name, "CudaPinned") for end in self._engine.get_outputs()]

    def io_binding(self) -> onnxruntime.IOBinding:
        binding = self._engine.io_binding()
        bind = binding.bind_ortvalue_input

        def bind_copy(name: str, value: onnxruntime.OrtValue) -> None:
            if name in self._on_host:
                value = onnxruntime.OrtValue.ortvalue_from_numpy(value.numpy().copy())
            bind(name, value)

        binding.bind_ortvalue_input = bind_copy
        return binding

    def _place(self, name: str, on_host: str) -> SimpleNamespace:
        return SimpleNamespace(name=on_host if name in self._on_host else "Cuda")


class HostGpu(Gpu):
    """The driver's stand-in, where ONNX Runtime has host memory."""

    kind = "cpu"


def on_gpu(model: ExportedModel, batch: int, boundary: Boundary) -> OrtSession:
    """The session over the driver's stand-in, with the times of its events."""
    gpu = HostGpu(0)
    stream = gpu.stream().value or 0
    request = request_of(model, batch, boundary=boundary, host_memory="pinned", cuda_graph=False)
    plain = onnxruntime.InferenceSession(
        model.path, session_options(Opening.of(request)), providers=[CPU]
    )
    engine: Any = AsOnGpu(plain, ())
    lane = lane_on(engine, request, gpu, has_queue=True)
    assert isinstance(lane, OrtGpuLane)
    execution = Execution(CPU, "fp32", "host", lane.call_path, boundary=boundary)
    return OrtSession(engine, (lane,), execution, spans=partial(lane.spans, stream))


def on_host(
    model: ExportedModel,
    batch: int,
    boundary: Boundary,
    recording: Recording | None = None,
    memory: HostMemory | None = None,
    taken_on_host: Collection[str] = (),
    host_memory: str = "pinned",
    cuda_graph: bool = False,
    has_queue: bool = False,
) -> OrtSession:
    """The session that a GPU provider has, of the model at one batch size."""
    request = request_of(
        model, batch, boundary=boundary, host_memory=host_memory, cuda_graph=cuda_graph
    )
    opening = replace(Opening.of(request), recording=recording.prefix if recording else None)
    options = session_options(opening)
    engine: Any = AsOnGpu(
        onnxruntime.InferenceSession(model.path, options, providers=[CPU]), taken_on_host
    )
    lane = lane_on(engine, request, memory or HostMemory(), has_queue)
    execution = Execution(CPU, "fp32", "host", lane.call_path, boundary=boundary)
    return OrtSession(engine, (lane,), execution, recording)
