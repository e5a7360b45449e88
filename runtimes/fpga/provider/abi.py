"""ONNX Runtime's C interface, as far as an execution provider needs it, by slot.

Its function tables only ever grow at the end, so a slot keeps its meaning; no header is
needed. Slots and prototypes are those of onnxruntime_c_api.h and onnxruntime_ep_c_api.h.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, TypeVar

from runtimes.foreign import Elements, Handle, Int, Out, Size, Status, Text, UInt, from_slots

if TYPE_CHECKING:
    Pointers = c._Pointer[c.c_void_p]
    Counts = c._Pointer[c.c_size_t]

_Element = TypeVar("_Element", c.c_void_p, c.c_int64, c.c_char_p)

ABI_VERSION = 24
"""The version whose tables and structures these are; the first with devices of one's own."""

FAIL, INVALID_ARGUMENT = 1, 2
"""OrtErrorCode values that the provider returns."""

NPU = 2
"""OrtHardwareDeviceType of an accelerator that is no GPU."""

WARNING = 2
"""OrtLoggingLevel."""

ATTRIBUTE_INT, ATTRIBUTE_INTS = 1, 2
ATTRIBUTE_FLOAT, ATTRIBUTE_FLOATS = 3, 4
ATTRIBUTE_STRING, ATTRIBUTE_STRINGS = 5, 6

Address = Annotated[int | None, c.c_void_p]
Message = Annotated[bytes | None, c.c_char_p]
Get = Callable[[Handle, Out], Status]
GetList = Callable[[Handle, Elements, Size], Status]
Release = Callable[[Handle], None]
LookUp = Callable[[Handle, Handle, Text, Out], Status]


class OrtApi:
    """OrtApi: the prototype and the slot of each function."""

    CreateStatus: Annotated[Callable[[Int, Text], Address], 0]
    GetErrorMessage: Annotated[Callable[[Handle], Message], 2]
    GetTensorMutableData: Annotated[Get, 51]
    CastTypeInfoToTensorInfo: Annotated[Get, 55]
    GetTensorElementType: Annotated[Get, 60]
    GetDimensionsCount: Annotated[Get, 61]
    GetDimensions: Annotated[GetList, 62]
    GetSymbolicDimensions: Annotated[GetList, 63]
    GetTensorTypeAndShape: Annotated[Get, 65]
    AllocatorFree: Annotated[Callable[[Handle, Handle], Status], 76]
    GetAllocatorWithDefaultOptions: Annotated[Callable[[Out], Status], 78]
    KernelContext_GetInput: Annotated[Callable[[Handle, Size, Out], Status], 90]
    KernelContext_GetOutput: Annotated[Callable[[Handle, Size, Elements, Size, Out], Status], 91]
    ReleaseStatus: Annotated[Release, 93]
    ReleaseTensorTypeAndShapeInfo: Annotated[Release, 99]
    ModelMetadataLookupCustomMetadataMap: Annotated[
        Callable[[Handle, Handle, Text, Out], Status], 116
    ]
    ReleaseModelMetadata: Annotated[Release, 118]
    Logger_LogMessage: Annotated[Callable[[Handle, Int, Text, Text, Int, Text], Status], 247]
    ReadOpAttr: Annotated[Callable[[Handle, Int, Elements, Size, Out], Status], 272]
    GetValueInfoName: Annotated[Get, 289]
    GetValueInfoTypeInfo: Annotated[Get, 290]
    CreateKeyValuePairs: Annotated[Callable[[Out], None], 295]
    AddKeyValuePair: Annotated[Callable[[Handle, Text, Text], None], 296]
    GetKeyValuePairs: Annotated[Callable[[Handle, Out, Out, Out], None], 298]
    ReleaseKeyValuePairs: Annotated[Release, 300]
    GetEpApi: Annotated[Callable[[], Address], 317]
    ValueInfo_GetInitializerValue: Annotated[Get, 326]
    ValueInfo_IsConstantInitializer: Annotated[Get, 331]
    Graph_GetName: Annotated[Get, 333]
    Graph_GetNumInputs: Annotated[Get, 338]
    Graph_GetInputs: Annotated[GetList, 339]
    Graph_GetNumOutputs: Annotated[Get, 340]
    Graph_GetOutputs: Annotated[GetList, 341]
    Graph_GetNumNodes: Annotated[Get, 344]
    Graph_GetNodes: Annotated[GetList, 345]
    Node_GetName: Annotated[Get, 349]
    Node_GetOperatorType: Annotated[Get, 350]
    Node_GetDomain: Annotated[Get, 351]
    Node_GetSinceVersion: Annotated[Get, 352]
    Node_GetNumInputs: Annotated[Get, 353]
    Node_GetInputs: Annotated[GetList, 354]
    Node_GetNumOutputs: Annotated[Get, 355]
    Node_GetOutputs: Annotated[GetList, 356]
    Node_GetNumImplicitInputs: Annotated[Get, 357]
    Node_GetImplicitInputs: Annotated[GetList, 358]
    Node_GetNumAttributes: Annotated[Get, 359]
    Node_GetAttributes: Annotated[GetList, 360]
    OpAttr_GetType: Annotated[Get, 363]
    OpAttr_GetName: Annotated[Get, 364]
    GetSessionOptionsConfigEntries: Annotated[Get, 379]
    Graph_GetModelMetadata: Annotated[Get, 387]


class OrtEpApi:
    """OrtEpApi, in the same way."""

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
            "GetName",
            "GetVendor",
            "GetSupportedDevices",
            "CreateEp",
            "ReleaseEp",
            "GetVendorId",
            "GetVersion",
            "ValidateCompiledModelCompatibilityInfo",
            "CreateAllocator",
            "ReleaseAllocator",
            "CreateDataTransfer",
            "IsStreamAware",
            "CreateSyncStreamForDevice",
            "GetHardwareDeviceIncompatibilityDetails",
            "reserved0",
            "reserved1",
            "reserved2",
            "reserved3",
        )
    ]


class Ep(c.Structure):
    """OrtEp; `optional` are the members that a provider may leave null, and room beyond."""

    _fields_ = [
        ("version", _U),
        ("GetName", _P),
        ("GetCapability", _P),
        ("Compile", _P),
        ("ReleaseNodeComputeInfos", _P),
        ("optional", _P * 20),
    ]


class NodeComputeInfo(c.Structure):
    """OrtNodeComputeInfo: how one fused node is run."""

    _fields_ = [("version", _U), ("CreateState", _P), ("Compute", _P), ("ReleaseState", _P)]


class NodeFusionOptions(c.Structure):
    """OrtNodeFusionOptions."""

    _fields_ = [("version", _U), ("drop_constant_initializers", c.c_bool)]


class OrtError(RuntimeError):
    """A status that ONNX Runtime returned instead of a result."""


def open_tables(base: int) -> tuple[OrtApi, OrtEpApi]:
    """OrtApi and OrtEpApi of the library behind an OrtApiBase; OrtError if it is too old.

    Their functions raise OrtError.
    """
    get_api = c.CFUNCTYPE(_P, _U)(c.cast(base, c.POINTER(c.c_void_p))[0] or 0)
    address = get_api(ABI_VERSION)
    if not address:
        raise OrtError("this ONNX Runtime is too old for a plugin device; install 1.27 or newer")

    def fault(status: int, _function: str) -> OrtError:
        message = (api.GetErrorMessage(status) or b"").decode(errors="replace")
        api.ReleaseStatus(status)
        return OrtError(message)

    api = from_slots(OrtApi, address, fault)
    return api, from_slots(OrtEpApi, api.GetEpApi() or 0, fault)


@cache
def array_of(kind: type[_Element], length: int) -> type[c.Array[_Element]]:
    """The ctypes array type; ctypes itself would make a new class at each use."""
    return kind * length


def text(get: Get, handle: int) -> str:
    """What a `get(handle, const char**)` function returns."""
    found = c.c_char_p()
    get(handle, c.byref(found))
    return (found.value or b"").decode()


def handles(count: Get, get: GetList, owner: int) -> tuple[int | None, ...]:
    """What a pair of counting and listing functions returns; None for a null entry."""
    size = c.c_size_t()
    count(owner, c.byref(size))
    array = array_of(c.c_void_p, size.value)()
    if size.value:
        get(owner, array, size.value)
    return tuple(array)
