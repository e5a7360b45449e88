"""ONNX Runtime's C interface, as far as an execution provider needs it, by slot number.

Its function tables only ever grow at the end, so a slot keeps its meaning; no header is
needed. Numbers and signatures are those of onnxruntime_c_api.h and onnxruntime_ep_c_api.h.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

ABI_VERSION = 24
"""The version whose tables and structures these are; the first with devices of one's own."""

FAIL, INVALID_ARGUMENT = 1, 2
"""OrtErrorCode values that the provider returns."""

NPU = 2
"""OrtHardwareDeviceType of an accelerator that is no GPU."""

WARNING = 2
"""OrtLoggingLevel."""

DTYPES: Mapping[int, str] = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
}
"""ONNXTensorElementDataType to numpy's name; a number that is missing here has none."""

ATTRIBUTE_INT, ATTRIBUTE_INTS = 1, 2
ATTRIBUTE_FLOAT, ATTRIBUTE_FLOATS = 3, 4
ATTRIBUTE_STRING, ATTRIBUTE_STRINGS = 5, 6

Result = Literal["status", "none", "pointer", "text"]
Slot = tuple[int, Result, tuple[Any, ...]]

_P, _N, _I, _U, _S = c.c_void_p, c.c_size_t, c.c_int, c.c_uint32, c.c_char_p
_TWO: tuple[Any, ...] = (_P, _P)
_LIST: tuple[Any, ...] = (_P, _P, _N)

API: Mapping[str, Slot] = {
    "CreateStatus": (0, "pointer", (_I, _S)),
    "GetErrorMessage": (2, "text", (_P,)),
    "GetTensorMutableData": (51, "status", _TWO),
    "CastTypeInfoToTensorInfo": (55, "status", _TWO),
    "GetTensorElementType": (60, "status", _TWO),
    "GetDimensionsCount": (61, "status", _TWO),
    "GetDimensions": (62, "status", _LIST),
    "GetSymbolicDimensions": (63, "status", _LIST),
    "GetTensorTypeAndShape": (65, "status", _TWO),
    "AllocatorFree": (76, "status", _TWO),
    "GetAllocatorWithDefaultOptions": (78, "status", (_P,)),
    "KernelContext_GetInput": (90, "status", (_P, _N, _P)),
    "KernelContext_GetOutput": (91, "status", (_P, _N, _P, _N, _P)),
    "ReleaseStatus": (93, "none", (_P,)),
    "ReleaseTensorTypeAndShapeInfo": (99, "none", (_P,)),
    "ModelMetadataLookupCustomMetadataMap": (116, "status", (_P, _P, _S, _P)),
    "ReleaseModelMetadata": (118, "none", (_P,)),
    "Logger_LogMessage": (247, "status", (_P, _I, _S, _S, _I, _S)),
    "ReadOpAttr": (272, "status", (_P, _I, _P, _N, _P)),
    "GetValueInfoName": (289, "status", _TWO),
    "GetValueInfoTypeInfo": (290, "status", _TWO),
    "CreateKeyValuePairs": (295, "none", (_P,)),
    "AddKeyValuePair": (296, "none", (_P, _S, _S)),
    "GetKeyValuePairs": (298, "none", (_P, _P, _P, _P)),
    "ReleaseKeyValuePairs": (300, "none", (_P,)),
    "GetEpApi": (317, "pointer", ()),
    "ValueInfo_GetInitializerValue": (326, "status", _TWO),
    "ValueInfo_IsConstantInitializer": (331, "status", _TWO),
    "Graph_GetName": (333, "status", _TWO),
    "Graph_GetNumInputs": (338, "status", _TWO),
    "Graph_GetInputs": (339, "status", _LIST),
    "Graph_GetNumOutputs": (340, "status", _TWO),
    "Graph_GetOutputs": (341, "status", _LIST),
    "Graph_GetNumNodes": (344, "status", _TWO),
    "Graph_GetNodes": (345, "status", _LIST),
    "Node_GetName": (349, "status", _TWO),
    "Node_GetOperatorType": (350, "status", _TWO),
    "Node_GetDomain": (351, "status", _TWO),
    "Node_GetSinceVersion": (352, "status", _TWO),
    "Node_GetNumInputs": (353, "status", _TWO),
    "Node_GetInputs": (354, "status", _LIST),
    "Node_GetNumOutputs": (355, "status", _TWO),
    "Node_GetOutputs": (356, "status", _LIST),
    "Node_GetNumImplicitInputs": (357, "status", _TWO),
    "Node_GetImplicitInputs": (358, "status", _LIST),
    "Node_GetNumAttributes": (359, "status", _TWO),
    "Node_GetAttributes": (360, "status", _LIST),
    "OpAttr_GetType": (363, "status", _TWO),
    "OpAttr_GetName": (364, "status", _TWO),
    "GetSessionOptionsConfigEntries": (379, "status", _TWO),
    "Graph_GetModelMetadata": (387, "status", _TWO),
}

EP_API: Mapping[str, Slot] = {
    "CreateEpDevice": (0, "status", (_P, _P, _P, _P, _P)),
    "EpGraphSupportInfo_AddNodesToFuse": (2, "status", (_P, _P, _N, _P)),
    "CreateHardwareDevice": (16, "status", (_I, _U, _U, _S, _P, _P)),
    "ReleaseHardwareDevice": (17, "none", (_P,)),
}

_RESULTS: Mapping[Result, Any] = {"status": _P, "none": None, "pointer": _P, "text": _S}


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


class Table:
    """The functions of one table, as attributes; a failed status raises OrtError."""

    def __init__(
        self, address: int, slots: Mapping[str, Slot], check: Callable[..., Any] | None = None
    ) -> None:
        pointers = c.cast(address, c.POINTER(c.c_void_p))
        for name, (slot, result, arguments) in slots.items():
            function: Any = c.CFUNCTYPE(_RESULTS[result], *arguments)(pointers[slot] or 0)
            if result == "status":
                function.errcheck = check or self._raise_status
            setattr(self, name, function)

    def _raise_status(self, status: int | None, _function: Any, _arguments: Any) -> None:
        if status:
            message = self.GetErrorMessage(status).decode(errors="replace")
            self.ReleaseStatus(status)
            raise OrtError(message)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"slot {name} is not declared")


def open_tables(base: int) -> tuple[Table, Table]:
    """OrtApi and OrtEpApi of the library behind an OrtApiBase; OrtError if it is too old."""
    get_api = c.CFUNCTYPE(_P, _U)(c.cast(base, c.POINTER(c.c_void_p))[0] or 0)
    address = get_api(ABI_VERSION)
    if not address:
        raise OrtError("this ONNX Runtime is too old for a plugin device; install 1.27 or newer")
    api = Table(address, API)
    return api, Table(api.GetEpApi(), EP_API, api._raise_status)


@cache
def array_of(kind: Any, length: int) -> Any:
    """The ctypes array type; ctypes itself would make a new class at each use."""
    return kind * length


def text(get: Callable[[Any, Any], object], handle: int) -> str:
    """What a `get(handle, const char**)` function returns."""
    found = c.c_char_p()
    get(handle, c.byref(found))
    return (found.value or b"").decode()


def handles(
    count: Callable[[Any, Any], object], get: Callable[[Any, Any, int], object], owner: int
) -> tuple[int | None, ...]:
    """What a pair of counting and listing functions returns; None for a null entry."""
    size = c.c_size_t()
    count(owner, c.byref(size))
    array = array_of(c.c_void_p, size.value)()
    if size.value:
        get(owner, array, size.value)
    return tuple(array)
