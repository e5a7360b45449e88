"""ONNX Runtime's C interface by slot, with its numbers of element types, as far as our sessions
and our provider need it.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

from runtimes.ctypes_prototypes import Elements, Handle, Int, Out, Size, Status, Text, from_slots
from runtimes.errors import Unsupported

_FIRST_TYPES = (
    *("float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool"),
    *("float16", "float64", "uint32", "uint64"),
)
ELEMENT_TYPES: Mapping[int, str] = {**dict(enumerate(_FIRST_TYPES, 1)), 16: "bfloat16"}
"""ONNXTensorElementDataType to numpy's name; a number that is missing here has none."""


def no_numbers(name: str, kind: str) -> Unsupported:
    """What an output is answered with that is no plain array of numbers."""
    return Unsupported(
        f"output {name!r} is a {kind}, which is no array of numbers",
        "use a graph whose outputs are numeric tensors",
    )


SESSION_ABI_VERSION = 17
"""The oldest version whose table has all of `SessionApi`."""
ABI_VERSION = 24
"""The version whose table `OrtApi` is: the first that reports which node it put where, and the
first with devices of one's own."""

RUN_WITH_BINDING = 133

Int64 = Annotated[int, c.c_int64]
Address = Annotated[int | None, c.c_void_p]
Message = Annotated[bytes | None, c.c_char_p]
Get = Callable[[Handle, Out], Status]
GetList = Callable[[Handle, Elements, Size], Status]
Set = Callable[[Handle, Int], Status]
Do = Callable[[Handle], Status]
Release = Callable[[Handle], None]


class SessionApi:
    """The part of OrtApi that opens and runs a session on the CPU: prototype and slot of each
    function. Every release from `SESSION_ABI_VERSION` on has it."""

    CreateStatus: Annotated[Callable[[Int, Text], Address], 0]
    GetErrorMessage: Annotated[Callable[[Handle], Message], 2]
    CreateEnv: Annotated[Callable[[Int, Text, Out], Status], 3]
    CreateSession: Annotated[Callable[[Handle, Text, Handle, Out], Status], 7]
    CreateSessionOptions: Annotated[Callable[[Out], Status], 10]
    SetSessionExecutionMode: Annotated[Set, 13]
    EnableProfiling: Annotated[Callable[[Handle, Text], Status], 14]
    EnableMemPattern: Annotated[Do, 16]
    DisableMemPattern: Annotated[Do, 17]
    EnableCpuMemArena: Annotated[Do, 18]
    DisableCpuMemArena: Annotated[Do, 19]
    SetSessionLogSeverityLevel: Annotated[Set, 22]
    SetSessionGraphOptimizationLevel: Annotated[Set, 23]
    SetIntraOpNumThreads: Annotated[Set, 24]
    SetInterOpNumThreads: Annotated[Set, 25]
    RegisterCustomOpsLibrary: Annotated[Callable[[Handle, Text, Out], Status], 29]
    SessionGetInputCount: Annotated[Get, 30]
    SessionGetOutputCount: Annotated[Get, 31]
    SessionGetInputTypeInfo: Annotated[Callable[[Handle, Size, Out], Status], 33]
    SessionGetOutputTypeInfo: Annotated[Callable[[Handle, Size, Out], Status], 34]
    SessionGetInputName: Annotated[Callable[[Handle, Size, Handle, Out], Status], 36]
    SessionGetOutputName: Annotated[Callable[[Handle, Size, Handle, Out], Status], 37]
    CreateTensorWithDataAsOrtValue: Annotated[
        Callable[[Handle, Handle, Size, Elements, Size, Int, Out], Status], 49
    ]
    GetTensorMutableData: Annotated[Get, 51]
    CastTypeInfoToTensorInfo: Annotated[Get, 55]
    GetTensorElementType: Annotated[Get, 60]
    GetDimensionsCount: Annotated[Get, 61]
    GetDimensions: Annotated[GetList, 62]
    GetSymbolicDimensions: Annotated[GetList, 63]
    GetTensorTypeAndShape: Annotated[Get, 65]
    CreateCpuMemoryInfo: Annotated[Callable[[Int, Int, Out], Status], 69]
    AllocatorFree: Annotated[Callable[[Handle, Handle], Status], 76]
    GetAllocatorWithDefaultOptions: Annotated[Callable[[Out], Status], 78]
    KernelContext_GetInput: Annotated[Callable[[Handle, Size, Out], Status], 90]
    KernelContext_GetOutput: Annotated[Callable[[Handle, Size, Elements, Size, Out], Status], 91]
    ReleaseStatus: Annotated[Release, 93]
    ReleaseMemoryInfo: Annotated[Release, 94]
    ReleaseSession: Annotated[Release, 95]
    ReleaseValue: Annotated[Release, 96]
    ReleaseTypeInfo: Annotated[Release, 98]
    ReleaseTensorTypeAndShapeInfo: Annotated[Release, 99]
    ReleaseSessionOptions: Annotated[Release, 100]
    SessionEndProfiling: Annotated[Callable[[Handle, Handle, Out], Status], 110]
    ModelMetadataLookupCustomMetadataMap: Annotated[
        Callable[[Handle, Handle, Text, Out], Status], 116
    ]
    ReleaseModelMetadata: Annotated[Release, 118]
    AddFreeDimensionOverrideByName: Annotated[Callable[[Handle, Text, Int64], Status], 124]
    AddSessionConfigEntry: Annotated[Callable[[Handle, Text, Text], Status], 130]
    RunWithBinding: Annotated[Callable[[Handle, Handle, Handle], Status], RUN_WITH_BINDING]
    CreateIoBinding: Annotated[Get, 134]
    ReleaseIoBinding: Annotated[Release, 135]
    BindInput: Annotated[Callable[[Handle, Text, Handle], Status], 136]
    BindOutput: Annotated[Callable[[Handle, Text, Handle], Status], 137]
    BindOutputToDevice: Annotated[Callable[[Handle, Text, Handle], Status], 138]
    GetBoundOutputValues: Annotated[Callable[[Handle, Handle, Out, Out], Status], 140]
    HasValue: Annotated[Get, 192]


class OrtApi(SessionApi):
    """OrtApi at `ABI_VERSION`: what that has besides."""

    Logger_LogMessage: Annotated[Callable[[Handle, Int, Text, Text, Int, Text], Status], 247]
    ReadOpAttr: Annotated[Callable[[Handle, Int, Elements, Size, Out], Status], 272]
    GetValueInfoName: Annotated[Get, 289]
    GetValueInfoTypeInfo: Annotated[Get, 290]
    CreateKeyValuePairs: Annotated[Callable[[Out], None], 295]
    AddKeyValuePair: Annotated[Callable[[Handle, Text, Text], None], 296]
    GetKeyValuePairs: Annotated[Callable[[Handle, Out, Out, Out], None], 298]
    ReleaseKeyValuePairs: Annotated[Release, 300]
    GetEpDevices: Annotated[Callable[[Handle, Out, Out], Status], 303]
    SessionOptionsAppendExecutionProvider_V2: Annotated[
        Callable[[Handle, Handle, Elements, Size, Elements, Elements, Size], Status], 304
    ]
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
    Session_GetEpGraphAssignmentInfo: Annotated[Callable[[Handle, Out, Out], Status], 407]
    EpAssignedSubgraph_GetEpName: Annotated[Get, 408]
    EpAssignedSubgraph_GetNodes: Annotated[Callable[[Handle, Out, Out], Status], 409]
    EpAssignedNode_GetName: Annotated[Get, 410]
    EpAssignedNode_GetDomain: Annotated[Get, 411]
    EpAssignedNode_GetOperatorType: Annotated[Get, 412]


_Table = TypeVar("_Table", bound=SessionApi)


class OrtError(RuntimeError):
    """A status that ONNX Runtime returned instead of a result."""


def open_table(base: int) -> OrtApi | None:
    """The table of the library behind an OrtApiBase, whose functions raise OrtError.

    None if it is older than `ABI_VERSION`.
    """
    return _table(OrtApi, base, ABI_VERSION)


def open_session_table(base: int) -> SessionApi | None:
    """The same of any release from `SESSION_ABI_VERSION` on; None if it is older."""
    return _table(SessionApi, base, SESSION_ABI_VERSION)


def _table(table: type[_Table], base: int, version: int) -> _Table | None:
    get_api = c.CFUNCTYPE(c.c_void_p, c.c_uint32)(c.cast(base, c.POINTER(c.c_void_p))[0] or 0)
    address = get_api(version)
    if not address:
        return None

    def fault(status: int, _function: str) -> OrtError:
        return error_of(api, status)

    api = from_slots(table, address, fault)
    return api


def error_of(api: SessionApi, status: int) -> OrtError:
    """What a status says; the status is given back."""
    message = api.GetErrorMessage(status) or b"no reason given"
    api.ReleaseStatus(status)
    return OrtError(message.decode(errors="replace"))


def text(get: Get, handle: int) -> str:
    """What a `get(handle, const char**)` function returns."""
    text_pointer = c.c_char_p()
    get(handle, c.byref(text_pointer))
    return (text_pointer.value or b"").decode(errors="replace")


def handles_of(function: Callable[..., None]) -> list[int]:
    """The handles that a `function(handles***, count*)` gives; they stay the engine's."""
    handles, count = c.c_void_p(), c.c_size_t()
    function(c.byref(handles), c.byref(count))
    if handles.value is None:
        return []
    return [handle or 0 for handle in c.cast(handles, c.POINTER(c.c_void_p))[: count.value]]
