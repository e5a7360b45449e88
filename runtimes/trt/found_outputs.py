"""Outputs of a TensorRT engine whose shapes follow from what a run finds, as a detector's boxes.

TensorRT asks for room when it knows how much it needs, and tells the shape. The room is there
beforehand, as large as the engine says that it may get, so that a run allocates nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from runtimes.cuda.driver import Gpu
from runtimes.session.host import NewArray, poison

if TYPE_CHECKING:
    from ctypes import c_void_p

    import tensorrt


class FoundOutput:
    """One output: room on the device and on the host, and the shape that the last run told."""

    def __init__(
        self, gpu: Gpu, stream: c_void_p, new_array: NewArray, dtype: np.dtype, most_bytes: int
    ) -> None:
        self._gpu, self._stream, self._dtype = gpu, stream, dtype
        self._new_array = new_array
        self._shape: tuple[int, ...] | None = None
        self._make_room(max(most_bytes, dtype.itemsize))

    def room_for(self, size: int) -> int:
        """The address on the device of at least so many bytes."""
        if size > self._host.nbytes:
            self._make_room(size)
        return self._address

    def tell(self, shape: tuple[int, ...]) -> None:
        self._shape = shape

    def poison(self) -> None:
        """Queue the overwriting of what was found; until a run tells its shape there is none."""
        self._shape = None
        poison(self._host)
        self._gpu.upload(self._address, self._host, self._stream)()

    def download(self) -> None:
        """Queue the copy of what was found to the host."""
        found = self._found()
        if found is not None and found.size:
            self._gpu.download(found, self._address, self._stream)()

    def array(self) -> np.ndarray | None:
        """A copy of what the last run has left on the host; None without one."""
        found = self._found()
        return None if found is None else found.reshape(self._shape or ()).copy()

    def _found(self) -> np.ndarray | None:
        return None if self._shape is None else self._host[: math.prod(self._shape)]

    def _make_room(self, size: int) -> None:
        count = -(-size // self._dtype.itemsize)
        self._host = self._new_array((count,), self._dtype)
        self._address = self._gpu.device_buffer(self._host.nbytes)


def allocator_of(trt: ModuleType, outputs: Mapping[str, FoundOutput]) -> tensorrt.IOutputAllocator:
    """What a context asks for room: its class asks for one of its own IOutputAllocator."""

    class Allocator(trt.IOutputAllocator):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            trt.IOutputAllocator.__init__(self)

        def reallocate_output(
            self, tensor_name: str, memory: int, size: int, alignment: int
        ) -> int:
            return outputs[tensor_name].room_for(size)

        def reallocate_output_async(
            self, tensor_name: str, memory: int, size: int, alignment: int, stream: int
        ) -> int:
            return outputs[tensor_name].room_for(size)

        def notify_shape(self, tensor_name: str, shape: tuple[int, ...]) -> None:
            outputs[tensor_name].tell(tuple(shape))

    return Allocator()
