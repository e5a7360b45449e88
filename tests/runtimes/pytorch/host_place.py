"""What stands for a GPU in the tests of torch there: its calls happen on the host, at once."""

from __future__ import annotations

import ctypes
import threading
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from exporters.types import ExportedModel, Precision
from runtimes.calls import Call, TimedCalls
from runtimes.cuda.marks import Marks
from runtimes.options import OptionValue, Settings
from runtimes.pytorch.cuda_session import Recording, TorchCudaSession
from tests.runtimes.requests import request_of

PLAIN: dict[str, OptionValue] = {
    "mode": "eager",
    "tf32": False,
    "channels_last": False,
    "cudnn_benchmark": False,
    "host_memory": "pinned",
    "call": "auto",
}
_CALL_TYPE = ctypes.CFUNCTYPE(ctypes.c_int)


class HostPlace:
    """The host where a GPU would be; a recording keeps its tensors, as a CUDA graph does."""

    name, compute_capability, queues_up = "host", (9, 0), False
    device = torch.device("cpu")

    def __init__(self) -> None:
        self.waits = 0
        self.entered_by: list[int] = []
        self.locked = self.in_c = 0
        self._references: list[Any] = []

    def make_current(self) -> None:
        self.entered_by.append(threading.get_ident())

    def synchronize(self) -> None:
        self.waits += 1

    def pinned(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        self.locked += 1
        return torch.zeros(shape, dtype=dtype)

    def record(self, call: Callable[[], Any]) -> Recording:
        result = call()
        tensors = result if isinstance(result, tuple) else (result,)

        def replay() -> None:
            again = call()
            for tensor, new in zip(
                tensors, again if isinstance(again, tuple) else (again,), strict=True
            ):
                tensor.copy_(new)

        return Recording(replay, self._as_call(replay), result)

    def copying(self, target: torch.Tensor, source: torch.Tensor) -> Call:
        def copy() -> None:
            ctypes.memmove(target.data_ptr(), source.data_ptr(), source.nbytes)

        return self._as_call(copy)

    def waiting(self) -> Call:
        return self._as_call(self.synchronize)

    def _as_call(self, part: Callable[[], object]) -> Call:
        """A C function that runs `part`, as the driver's functions run theirs."""
        function = _CALL_TYPE(lambda: part() is not None)
        self._references.append(function)
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert address is not None
        return Call(address, (), RuntimeError)

    def marks(self, parts: Sequence[Callable[[], object]], runs: int) -> Marks:
        for part in list(parts) * runs:
            part()
        return self._unit_marks(len(parts), runs)

    def marks_in_c(self, parts: Sequence[Sequence[Call]], runs: int) -> Marks:
        self.in_c += 1
        calls = [call for part in parts for call in part]
        start_ns, queue_ns, end_ns = (array("q", bytes(8 * runs)) for _ in range(3))
        nothing = np.zeros(1, np.float32)
        TimedCalls(calls).mark(start_ns, queue_ns, end_ns, runs, len(calls), nothing)
        return self._unit_marks(len(parts), runs)

    def _unit_marks(self, parts: int, runs: int) -> Marks:
        return Marks(*(np.ones(shape, np.int64) for shape in ((parts, runs), runs, runs)))

    def peak_bytes(self) -> int | None:
        return 1234

    def release(self) -> None:
        pass


def opened(
    model: ExportedModel,
    boundary: str,
    cuda_graph: bool = False,
    place: HostPlace | None = None,
    precision: Precision = "fp32",
    **options: OptionValue,
) -> TorchCudaSession:
    all_options = PLAIN | {"boundary": boundary, "cuda_graph": cuda_graph} | options
    request = request_of(model, 1, Settings(precision=precision), **all_options)
    return TorchCudaSession(request, place or HostPlace())
