"""ONNX Runtime's C interface for an execution provider: the C shim that it loads, structures
beside its function table, Python callbacks that never raise.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from exporters import install_layout
from runtimes.ctypes_prototypes import (
    Elements,
    Handle,
    Int,
    Out,
    Size,
    Status,
    Text,
    UInt,
    from_slots,
)
from runtimes.onnxruntime.c_api import Get, GetList, OrtApi, OrtError, Release, error_of, open_table

if TYPE_CHECKING:
    from runtimes.ctypes_prototypes import CType


PROVIDER_NAME = "FpgaSimExecutionProvider"


def shim_path() -> Path | None:
    """The compiled C shim as an absolute path; None if it was not built."""
    return install_layout.extension("runtimes.fpga.provider._shim")


class Callbacks:
    """Makes C functions and texts that live as long as this object, and gives their address.

    `status` turns an exception into the address of an OrtStatus.
    """

    def __init__(self, status: Callable[[BaseException], int]) -> None:
        self._status = status
        self._references: list[object] = []

    def function(self, call: Callable[..., object], result: CType | None, *arguments: CType) -> int:
        """A C function that calls `call`, which must not raise."""
        callback = c.CFUNCTYPE(result, *arguments)(call)
        self._references.append(callback)
        return c.cast(callback, c.c_void_p).value or 0

    def checked(self, call: Callable[..., None], *arguments: CType) -> int:
        """A C function that returns an OrtStatus: null, or what `call` raised."""

        @wraps(call)
        def guarded_call(*values: object) -> int | None:
            try:
                call(*values)
            except BaseException as error:
                # Even an interrupt: C would go on as if the call had succeeded.
                return self._status(error)
            return None

        return self.function(guarded_call, c.c_void_p, *arguments)

    def text(self, value: bytes) -> int:
        """A C string; one that ctypes makes for a return value would be gone too soon."""
        buffer = c.create_string_buffer(value)
        self._references.append(buffer)
        return c.addressof(buffer)


if TYPE_CHECKING:
    Pointers = c._Pointer[c.c_void_p]
    Counts = c._Pointer[c.c_size_t]

_Element = TypeVar("_Element", c.c_void_p, c.c_int64, c.c_char_p)

FAIL, INVALID_ARGUMENT = 1, 2
"""OrtErrorCode values that the provider returns."""

NPU = 2
"""OrtHardwareDeviceType of an accelerator that is no GPU."""

WARNING = 2
"""OrtLoggingLevel."""

ATTRIBUTE_INT, ATTRIBUTE_INTS = 1, 2
ATTRIBUTE_FLOAT, ATTRIBUTE_FLOATS = 3, 4
ATTRIBUTE_STRING, ATTRIBUTE_STRINGS = 5, 6


class OrtEpApi:
    """OrtEpApi: the prototype and the slot of each function."""

    CreateEpDevice: Annotated[Callable[[Handle, Handle, Handle, Handle, Out], Status], 0]
    EpGraphSupportInfo_AddNodesToFuse: Annotated[Callable[[Handle, Elements, Size, Out], Status], 2]
    CreateHardwareDevice: Annotated[Callable[[Int, UInt, UInt, Text, Handle, Out], Status], 16]
    ReleaseHardwareDevice: Annotated[Release, 17]


_P, _U = c.c_void_p, c.c_uint32


class EpFactory(c.Structure):
    """OrtEpFactory at ABI_VERSION; members that are left null are optional."""

    _fields_ = [("version", _U)] + [
        (member, _P)
        for member in (
            *("GetName", "GetVendor", "GetSupportedDevices", "CreateEp", "ReleaseEp"),
            *("GetVendorId", "GetVersion", "ValidateCompiledModelCompatibilityInfo"),
            *("CreateAllocator", "ReleaseAllocator", "CreateDataTransfer", "IsStreamAware"),
            *("CreateSyncStreamForDevice", "GetHardwareDeviceIncompatibilityDetails"),
            *(f"reserved{place}" for place in range(4)),
        )
    ]


class Ep(c.Structure):
    """OrtEp; `optional` are the members that a provider may leave null, and room beyond."""

    _fields_ = [
        ("version", _U),
        *((m, _P) for m in ("GetName", "GetCapability", "Compile", "ReleaseNodeComputeInfos")),
        ("optional", _P * 20),
    ]


class NodeComputeInfo(c.Structure):
    """OrtNodeComputeInfo: how one fused node is run."""

    _fields_ = [("version", _U), ("CreateState", _P), ("Compute", _P), ("ReleaseState", _P)]


class NodeFusionOptions(c.Structure):
    """OrtNodeFusionOptions."""

    _fields_ = [("version", _U), ("drop_constant_initializers", c.c_bool)]


def open_tables(base: int) -> tuple[OrtApi, OrtEpApi]:
    """OrtApi and OrtEpApi of the library behind an OrtApiBase; OrtError if it is too old.

    Their functions raise OrtError.
    """
    api = open_table(base)
    if api is None:
        raise OrtError("this ONNX Runtime is too old for a plugin device; install 1.27 or newer")

    def fault(status: int, _function: str) -> OrtError:
        return error_of(api, status)

    return api, from_slots(OrtEpApi, api.GetEpApi() or 0, fault)


@cache
def array_of(kind: type[_Element], length: int) -> type[c.Array[_Element]]:
    """The ctypes array type; ctypes itself would make a new class at each use."""
    return kind * length


def handles(count: Get, get: GetList, owner: int) -> tuple[int | None, ...]:
    """What a pair of counting and listing functions returns; None for a null entry."""
    size = c.c_size_t()
    count(owner, c.byref(size))
    array = array_of(c.c_void_p, size.value)()
    if size.value:
        get(owner, array, size.value)
    return tuple(array)
