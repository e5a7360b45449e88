"""The CUDA driver by ctypes: devices and their identity, memory and its reservation, streams,
events, graphs, waiting, and its errors.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_float,
    c_int,
    c_size_t,
    c_ubyte,
    c_uint,
    c_uint64,
    c_void_p,
)
from functools import cache, partial
from pathlib import Path
from typing import Annotated
from uuid import UUID

import numpy as np

from runtimes.calls import Call
from runtimes.ctypes_prototypes import (
    Code,
    Handle,
    Int,
    OutHandle,
    OutInt,
    OutSize,
    Reference,
    Size,
    Status,
    UInt,
    UInt64,
    from_library,
)
from runtimes.errors import CompileFault, OutOfMemory, RuntimeFault

SONAME = "libcuda.so.1"

OUT_OF_MEMORY = 2
_NO_DEVICE = 100
_NON_BLOCKING_STREAM = 1
_CAPTURE_THREAD_LOCAL = 1
_COMPUTE_CAPABILITY = (75, 76)
_L2_CACHE_SIZE = 38
_NAME_BYTES = 256

OutAddress = Annotated[Reference, POINTER(c_uint64)]
Byte = Annotated[int, c_ubyte]
OutUInt = Annotated[Reference, POINTER(c_uint)]
OutFloat = Annotated[Reference, POINTER(c_float)]
OutText = Annotated[Reference, POINTER(c_char_p)]
Buffer = Annotated[ctypes.Array[ctypes.c_char], c_char_p]


class CudaDriver:
    """Prototypes of cuda.h. A device address is 64 bits wide, a handle is a pointer."""

    cuGetErrorString: Callable[[Int, OutText], Code]
    cuInit: Callable[[UInt], Status]
    cuDriverGetVersion: Callable[[OutInt], Status]
    cuDeviceGetCount: Callable[[OutInt], Status]
    cuDeviceGet: Callable[[OutInt, Int], Status]
    cuDeviceGetName: Callable[[Buffer, Int, Int], Status]
    cuDeviceGetAttribute: Callable[[OutInt, Int, Int], Status]
    cuDeviceGetUuid_v2: Callable[[Buffer, Int], Status]
    cuDeviceGetPCIBusId: Callable[[Buffer, Int, Int], Status]
    cuDevicePrimaryCtxSetFlags_v2: Callable[[Int, UInt], Status]
    cuDevicePrimaryCtxGetState: Callable[[Int, OutUInt, OutInt], Status]
    cuDevicePrimaryCtxRetain: Callable[[OutHandle, Int], Status]
    cuDevicePrimaryCtxRelease_v2: Callable[[Int], Status]
    cuCtxSetCurrent: Callable[[Handle], Status]
    cuCtxSynchronize: Callable[[], Status]
    cuMemGetInfo_v2: Callable[[OutSize, OutSize], Status]
    cuMemAlloc_v2: Callable[[OutAddress, Size], Status]
    cuMemFree_v2: Callable[[UInt64], Status]
    cuMemAllocHost_v2: Callable[[OutHandle, Size], Status]
    cuMemFreeHost: Callable[[Handle], Status]
    cuMemsetD8Async: Callable[[UInt64, Byte, Size, Handle], Status]
    cuMemcpyHtoDAsync_v2: Callable[[UInt64, Handle, Size, Handle], Status]
    cuMemcpyDtoHAsync_v2: Callable[[Handle, UInt64, Size, Handle], Status]
    cuMemcpyDtoDAsync_v2: Callable[[UInt64, UInt64, Size, Handle], Status]
    cuStreamCreate: Callable[[OutHandle, UInt], Status]
    cuStreamDestroy_v2: Callable[[Handle], Status]
    cuStreamSynchronize: Callable[[Handle], Status]
    cuStreamBeginCapture_v2: Callable[[Handle, Int], Status]
    cuStreamEndCapture: Callable[[Handle, OutHandle], Status]
    cuGraphInstantiateWithFlags: Callable[[OutHandle, Handle, UInt64], Status]
    cuGraphLaunch: Callable[[Handle, Handle], Status]
    cuGraphExecDestroy: Callable[[Handle], Status]
    cuGraphDestroy: Callable[[Handle], Status]
    cuEventCreate: Callable[[OutHandle, UInt], Status]
    cuEventRecord: Callable[[Handle, Handle], Status]
    cuEventElapsedTime: Callable[[OutFloat, Handle, Handle], Status]
    cuEventDestroy_v2: Callable[[Handle], Status]


Step = Callable[[], object]
"""A call of the driver with its arguments made beforehand."""


class CudaError(Exception):
    """A call of the driver that failed; `code` is its CUresult."""

    def __init__(self, code: int, function: str, text: str) -> None:
        super().__init__(f"{function}: {text}, error {code}")
        self.code = code
        self.memory = "the host's page-locked memory" if "Host" in function else "the GPU's memory"
        """Which of them was too small, of a code that says that."""


class DriverTooOld(OSError):
    """The installed driver lacks a function that newer ones have."""


@cache
def library() -> CudaDriver:
    """The driver's library, whose functions raise CudaError; OSError if there is none, DriverTooOld
    if it lacks some of them."""
    try:
        return from_library(CudaDriver, ctypes.CDLL(SONAME), error)
    except AttributeError as missing:
        name = str(missing).rpartition(" ")[2]
        raise DriverTooOld(f"{SONAME} lacks {name}") from None


def error(code: int, function: str) -> CudaError:
    """What a result of a function says."""
    text = c_char_p()
    library().cuGetErrorString(code, byref(text))
    return CudaError(code, function, (text.value or b"unknown").decode())


def calling(name: str, *words: int) -> Call:
    """A function of the driver with its arguments, handles and addresses, for the loop in C."""
    address = ctypes.cast(getattr(library(), name), c_void_p).value
    assert address is not None
    return Call(address, words, lambda code: error(code, name))


def version() -> tuple[int, int]:
    """The newest CUDA release that the driver knows, as (major, minor)."""
    number = c_int()
    library().cuDriverGetVersion(byref(number))
    return number.value // 1000, number.value % 1000 // 10


def device_names() -> tuple[str, ...]:
    """The names of the devices that this process may use, by index; empty for none."""
    driver = library()
    try:
        driver.cuInit(0)
    except CudaError as error:
        if error.code == _NO_DEVICE:
            return ()
        raise
    count = c_int()
    driver.cuDeviceGetCount(byref(count))
    return tuple(_name(index) for index in range(count.value))


def device_of(index: int) -> c_int:
    """The driver's handle of a device, which is asked about before any context is there."""
    device = c_int()
    library().cuInit(0)
    library().cuDeviceGet(byref(device), index)
    return device


def _name(index: int) -> str:
    text = ctypes.create_string_buffer(_NAME_BYTES)
    library().cuDeviceGetName(text, _NAME_BYTES, device_of(index))
    return text.value.decode(errors="replace")


class Gpu:
    """One device, current in the making thread, and all that was made on it until `close`."""

    kind = "cuda"

    def __init__(self, index: int) -> None:
        self.index = index
        self.name = device_names()[index]
        self._c = library()
        self._resources, self._is_closed = ExitStack(), False
        device, context = device_of(index), c_void_p()
        parts = [c_int() for _ in _COMPUTE_CAPABILITY]
        for part, attribute in zip(parts, _COMPUTE_CAPABILITY, strict=True):
            self._c.cuDeviceGetAttribute(byref(part), attribute, device)
        self.compute_capability = (parts[0].value, parts[1].value)
        self._c.cuDevicePrimaryCtxRetain(byref(context), device)
        self._resources.callback(self._c.cuDevicePrimaryCtxRelease_v2, device)
        self._context = context
        self.make_current()
        self._copies: c_void_p | None = None
        self.allocated_bytes = 0

    def close(self) -> None:
        """Free everything in the reverse order of its making; idempotent.

        A run that failed may have left work behind that still reads what is freed here; and
        after a fault of the device every call fails, the frees too.
        """
        self.finish()
        self._is_closed = True
        with suppress(CudaError):
            self._resources.close()

    def finish(self) -> None:
        """Wait for all that was ever queued, whatever came of it."""
        with suppress(CudaError):
            if not self._is_closed:
                self.make_current()
                self._c.cuCtxSynchronize()

    def free_bytes(self) -> int:
        """What is left of the device's memory, whoever holds the rest."""
        free, total = c_size_t(), c_size_t()
        self._c.cuMemGetInfo_v2(byref(free), byref(total))
        return free.value

    def make_current(self) -> None:
        """Let the calling thread use the device."""
        self._c.cuCtxSetCurrent(self._context)

    def device_buffer(self, size: int) -> int:
        """The address of `size` bytes on the device."""
        address = c_uint64()
        self._c.cuMemAlloc_v2(byref(address), max(size, 1))
        self._resources.callback(self._c.cuMemFree_v2, address)
        self.allocated_bytes += size
        return address.value

    def pinned(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A zeroed array in page-locked host memory, which the device copies by itself."""
        size = math.prod(shape) * dtype.itemsize
        address = c_void_p()
        self._c.cuMemAllocHost_v2(byref(address), max(size, 1))
        self._resources.callback(self._c.cuMemFreeHost, address)
        memory = np.ctypeslib.as_array((ctypes.c_ubyte * size).from_address(address.value or 0))
        array: np.ndarray = memory.view(dtype).reshape(shape)
        array.fill(0)
        return array

    def stream(self) -> c_void_p:
        """A queue that does not wait for the legacy default stream."""
        stream = c_void_p()
        self._c.cuStreamCreate(byref(stream), _NON_BLOCKING_STREAM)
        self._resources.callback(self._c.cuStreamDestroy_v2, stream)
        return stream

    def graph(self, stream: c_void_p, enqueue: Step) -> c_void_p:
        """What `enqueue` puts into the stream, recorded as one launchable graph."""
        captured_graph, graph = c_void_p(), c_void_p()
        self._c.cuStreamBeginCapture_v2(stream, _CAPTURE_THREAD_LOCAL)
        try:
            enqueue()
        except BaseException:
            # What was recorded so far is no graph, and must not hide why.
            with suppress(CudaError):
                self._c.cuStreamEndCapture(stream, byref(captured_graph))
                self._c.cuGraphDestroy(captured_graph)
            raise
        self._c.cuStreamEndCapture(stream, byref(captured_graph))
        try:
            self._c.cuGraphInstantiateWithFlags(byref(graph), captured_graph, 0)
        finally:
            self._c.cuGraphDestroy(captured_graph)
        self._resources.callback(self._c.cuGraphExecDestroy, graph)
        return graph

    def l2_bytes(self) -> int:
        """The size of the cache that all multiprocessors share; 0 for no such cache."""
        size = c_int()
        self._c.cuDeviceGetAttribute(byref(size), _L2_CACHE_SIZE, device_of(self.index))
        return size.value

    def launching(self, graph: c_void_p, stream: c_void_p) -> Step:
        """The call that queues the graph."""
        return partial(self._c.cuGraphLaunch, graph, stream)

    def launched(self, graph: c_void_p, stream: c_void_p) -> tuple[Call, Call]:
        """The same for the loop in C, and the call that waits until it is complete."""
        queue, executable = stream.value or 0, graph.value or 0
        return calling("cuGraphLaunch", executable, queue), calling("cuStreamSynchronize", queue)

    def upload(self, address: int, array: np.ndarray, stream: c_void_p) -> Step:
        """The call that queues a copy of a pinned, contiguous array to the device."""
        host, size = c_void_p(array.ctypes.data), c_size_t(array.nbytes)
        return partial(self._c.cuMemcpyHtoDAsync_v2, c_uint64(address), host, size, stream)

    def download(self, array: np.ndarray, address: int, stream: c_void_p) -> Step:
        """The call that queues a copy from the device into a pinned, contiguous array."""
        host, size = c_void_p(array.ctypes.data), c_size_t(array.nbytes)
        return partial(self._c.cuMemcpyDtoHAsync_v2, host, c_uint64(address), size, stream)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy between two addresses of the device, complete when it returns."""
        if self._copies is None:
            self._copies = self.stream()
        self._c.cuMemcpyDtoDAsync_v2(target, source, size, self._copies)
        self._c.cuStreamSynchronize(self._copies)

    def synchronizing(self, stream: c_void_p) -> Step:
        """The call that waits until all that is in the stream is complete."""
        return partial(self._c.cuStreamSynchronize, stream)


def compile_fault(error: CudaError) -> RuntimeFault:
    """OutOfMemory with which memory it was, or CompileFault."""
    if error.code == OUT_OF_MEMORY:
        return OutOfMemory(f"{error.memory} is too small ({error})", "use a smaller batch")
    return CompileFault(f"the CUDA driver failed ({error})", "see nvidia-smi")


_UUID_BYTES = 16
_BUS_ID_BYTES = 32


def uuid_of(index: int) -> str:
    """Of a device, or of the part of one that a process was given; "" if nobody says."""
    raw = ctypes.create_string_buffer(_UUID_BYTES)
    try:
        library().cuDeviceGetUuid_v2(raw, device_of(index))
    except (OSError, CudaError):
        return ""
    return str(UUID(bytes=raw.raw))


def cores_near(index: int, root: Path = Path("/")) -> str:
    """The cores of the device's own node, as Linux lists them; "" where it does not tell."""
    text = ctypes.create_string_buffer(_BUS_ID_BYTES)
    try:
        library().cuDeviceGetPCIBusId(text, _BUS_ID_BYTES, device_of(index))
    except (OSError, CudaError):
        return ""
    bus = text.value.decode("ascii", "replace").lower()
    try:
        return (root / "sys/bus/pci/devices" / bus / "local_cpulist").read_text("ascii").strip()
    except OSError:
        return ""


_KINDS = 0x07
_BY_FLAG = {0: "auto", 1: "spin", 2: "yield", 4: "block"}
_FLAG = {name: flag for flag, name in _BY_FLAG.items()}


def wait_by(index: int, sync: str) -> None:
    """Have the context of a device wait so; `waits_by` finds a driver that does not let us."""
    other_flags = _flags(index) & ~_KINDS
    with suppress(CudaError):
        library().cuDevicePrimaryCtxSetFlags_v2(device_of(index), other_flags | _FLAG[sync])


def waits_by(index: int) -> str:
    """`spin`, `block`, `yield`, or `auto`, which spins while there are cores enough."""
    return _BY_FLAG.get(_flags(index) & _KINDS, "auto")


def _flags(index: int) -> int:
    flags, active = c_uint(), c_int()
    library().cuDevicePrimaryCtxGetState(device_of(index), byref(flags), byref(active))
    return flags.value


@contextmanager
def leaving(index: int, limit_bytes: int) -> Iterator[None]:
    """Every engine then finds `limit_bytes` of the device free, as on a card of that size.

    What the context itself takes is not among them. OutOfMemory where the rest can't be held.
    """
    try:
        gpu = Gpu(index)
        surplus = gpu.free_bytes() - limit_bytes
        if surplus > 0:
            gpu.device_buffer(surplus)
    except CudaError as error:
        raise compile_fault(error) from error
    try:
        yield
    finally:
        gpu.close()
