"""ONNX Runtime's C interface, as far as a session needs it, of either of its two builds.

The package holds ONNX Runtime twice: inside its Python module, and as libonnxruntime. Both have
the same function table, which only ever grows at its end; slots and prototypes are those of
onnxruntime_c_api.h.
"""

from __future__ import annotations

import ctypes as c
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from exporters import own
from runtimes.faults import Unsupported
from runtimes.foreign import Elements, Handle, Int, Out, Size, Status, Text, from_slots
from runtimes.ort.opening import LOG_ERRORS, capi_folder

Build = Literal["module", "library"]
BUILDS: tuple[Build, ...] = ("module", "library")

ABI_VERSION = 24
"""The version whose table this is; the first that tells which node it put where."""

Int64 = Annotated[int, c.c_int64]
Message = Annotated[bytes | None, c.c_char_p]
Address = Annotated[int | None, c.c_void_p]
Get = Callable[[Handle, Out], Status]
Set = Callable[[Handle, Int], Status]
Do = Callable[[Handle], Status]
Release = Callable[[Handle], None]


class OrtApi:
    """OrtApi: the prototype and the slot of each function."""

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
    GetDimensions: Annotated[Callable[[Handle, Elements, Size], Status], 62]
    GetTensorTypeAndShape: Annotated[Get, 65]
    CreateCpuMemoryInfo: Annotated[Callable[[Int, Int, Out], Status], 69]
    AllocatorFree: Annotated[Callable[[Handle, Handle], Status], 76]
    GetAllocatorWithDefaultOptions: Annotated[Callable[[Out], Status], 78]
    ReleaseStatus: Annotated[Release, 93]
    ReleaseMemoryInfo: Annotated[Release, 94]
    ReleaseSession: Annotated[Release, 95]
    ReleaseValue: Annotated[Release, 96]
    ReleaseTypeInfo: Annotated[Release, 98]
    ReleaseTensorTypeAndShapeInfo: Annotated[Release, 99]
    ReleaseSessionOptions: Annotated[Release, 100]
    SessionEndProfiling: Annotated[Callable[[Handle, Handle, Out], Status], 110]
    AddFreeDimensionOverrideByName: Annotated[Callable[[Handle, Text, Int64], Status], 124]
    AddSessionConfigEntry: Annotated[Callable[[Handle, Text, Text], Status], 130]
    RunWithBinding: Annotated[Callable[[Handle, Handle, Handle], Status], 133]
    CreateIoBinding: Annotated[Get, 134]
    ReleaseIoBinding: Annotated[Release, 135]
    BindInput: Annotated[Callable[[Handle, Text, Handle], Status], 136]
    BindOutput: Annotated[Callable[[Handle, Text, Handle], Status], 137]
    BindOutputToDevice: Annotated[Callable[[Handle, Text, Handle], Status], 138]
    GetBoundOutputValues: Annotated[Callable[[Handle, Handle, Out, Out], Status], 140]
    HasValue: Annotated[Get, 192]
    Session_GetEpGraphAssignmentInfo: Annotated[Callable[[Handle, Out, Out], Status], 407]
    EpAssignedSubgraph_GetEpName: Annotated[Get, 408]
    EpAssignedSubgraph_GetNodes: Annotated[Callable[[Handle, Out, Out], Status], 409]
    EpAssignedNode_GetName: Annotated[Get, 410]
    EpAssignedNode_GetDomain: Annotated[Get, 411]
    EpAssignedNode_GetOperatorType: Annotated[Get, 412]


RUN_WITH_BINDING = 133


class OrtError(Exception):
    """A status that ONNX Runtime returned instead of a result."""


@dataclass(frozen=True, slots=True)
class Native:
    """One build of ONNX Runtime in this process: its functions, and the address of its run.

    Its functions raise OrtError. `where` names the build, with its release.
    """

    api: OrtApi
    run_address: int
    environment: int
    allocator: int
    where: str

    def error(self, status: int) -> OrtError:
        """What a status says; the status is given back."""
        return _error(self.api, status)


@cache
def native(build: Build) -> Native:
    """The build, loaded; Unsupported where this package or this installation lacks it."""
    base = _base_of_module() if build == "module" else _base_of_library()
    get_api, get_version = c.cast(base, c.POINTER(c.c_void_p))[0:2]
    version = (c.CFUNCTYPE(c.c_char_p)(get_version or 0)() or b"").decode()
    table = c.CFUNCTYPE(c.c_void_p, c.c_uint32)(get_api or 0)(ABI_VERSION)
    if not table:
        raise Unsupported(
            f"ONNX Runtime {version} is too old for its C interface", "update onnxruntime"
        )
    name = "onnxruntime's Python module" if build == "module" else "libonnxruntime"
    where, run_address = f"{name} {version}", c.cast(table, c.POINTER(c.c_void_p))[RUN_WITH_BINDING]

    def fault(status: int, _function: str) -> OrtError:
        return _error(api, status)

    api = from_slots(OrtApi, table, fault)
    environment, allocator = c.c_void_p(), c.c_void_p()
    api.CreateEnv(LOG_ERRORS, b"graphlap", c.byref(environment))
    api.GetAllocatorWithDefaultOptions(c.byref(allocator))
    return Native(api, run_address or 0, environment.value or 0, allocator.value or 0, where)


def _error(api: OrtApi, status: int) -> OrtError:
    message = api.GetErrorMessage(status) or b"no reason given"
    api.ReleaseStatus(status)
    return OrtError(message.decode(errors="replace"))


def _base_of_module() -> int:
    """The OrtApiBase of the Python module."""
    import onnxruntime

    path = _extension()
    if path is None:
        raise Unsupported(
            "the extension that finds ONNX Runtime's C functions is missing", own.COMPILER_REMEDY
        )
    # Held open: the engine closes the library again with the options, and its memory would go.
    library = c.CDLL(str(path))
    onnxruntime.SessionOptions().register_custom_ops_library(str(path))
    base = c.c_void_p.in_dll(library, "graphlap_ort_base").value
    if not base:
        raise Unsupported("ONNX Runtime's module did not tell its C functions", "use call=python")
    return base


def _base_of_library() -> int:
    """The OrtApiBase of libonnxruntime."""
    found = sorted(capi_folder().glob("libonnxruntime.*"))
    for path in found:
        if re.search(r"\.(so|dylib)(\.|$)", path.name):
            function: Any = c.CDLL(str(path)).OrtGetApiBase
            function.restype = c.c_void_p
            return int(function())
    raise Unsupported(
        "this package of ONNX Runtime has no libonnxruntime beside its module", "use build=module"
    )


def built() -> bool:
    """Whether the C functions of the Python module can be had."""
    return _extension() is not None


def _extension() -> Path | None:
    return own.extension("runtimes.ort._native_base")
