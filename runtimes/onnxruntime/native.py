"""Sessions of ONNX Runtime through its C interface: the library of either build, options, engine,
lane and session, with buffers on the host.
"""

from __future__ import annotations

import ctypes as c
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from exporters import install_layout
from runtimes.base import Arrays, Session
from runtimes.calls import Call
from runtimes.errors import RuntimeFault, Unsupported
from runtimes.execution import Execution
from runtimes.onnxruntime.bound_lane import BoundLane
from runtimes.onnxruntime.c_api import (
    ELEMENT_TYPES,
    OrtApi,
    OrtError,
    SessionApi,
    error_of,
    handles_of,
    no_numbers,
    open_session_table,
    open_table,
    text,
)
from runtimes.onnxruntime.errors import run_fault
from runtimes.onnxruntime.execution import FLOAT_NAMES, AssignedNode, Told
from runtimes.onnxruntime.opening import (
    LEVELS,
    LOG_ERRORS,
    OnDevice,
    Opening,
    capi_folder,
    refused_operators,
)
from runtimes.options import Request

Build = Literal["module", "library"]
BUILDS: tuple[Build, ...] = ("module", "library")


@dataclass(frozen=True, slots=True)
class Native:
    """One build of ONNX Runtime in this process: its functions, and the addresses of two of them.

    Its functions raise OrtError. `where` names the build, with its release. `full_api` is None for
    a release that does not report where it put its nodes.
    """

    api: SessionApi
    full_api: OrtApi | None
    run_address: int
    bind_address: int
    environment: int
    allocator: int
    where: str

    def error(self, status: int) -> OrtError:
        """What a status says; the status is given back."""
        return error_of(self.api, status)


@cache
def native(build: Build) -> Native:
    """The build, loaded; Unsupported where this release or this installation lacks it."""
    base = _base_of_module() if build == "module" else _base_of_library()
    _, get_version = c.cast(base, c.POINTER(c.c_void_p))[0:2]
    version = (c.CFUNCTYPE(c.c_char_p)(get_version or 0)() or b"").decode()
    api = open_session_table(base)
    if api is None:
        raise Unsupported(
            f"the C interface of ONNX Runtime {version} is too old", "update onnxruntime"
        )
    name = "onnxruntime's Python module" if build == "module" else "libonnxruntime"
    where = f"{name} {version}"
    run_address, bind_address = (_address(f) for f in (api.RunWithBinding, api.BindInput))
    environment, allocator = c.c_void_p(), c.c_void_p()
    try:
        api.CreateEnv(LOG_ERRORS, b"graphlap", c.byref(environment))
    except OrtError as error:
        # Up to 1.22 the Python module has an environment of its own and allows no second one.
        raise Unsupported(
            f"the module of ONNX Runtime {version} does not give out its C functions ({error})",
            "use call=python, or build=library",
        ) from error
    api.GetAllocatorWithDefaultOptions(c.byref(allocator))
    return Native(
        api,
        open_table(base),
        run_address,
        bind_address,
        environment.value or 0,
        allocator.value or 0,
        where,
    )


def _address(function: Any) -> int:
    return c.cast(function, c.c_void_p).value or 0


def _base_of_module() -> int:
    """The OrtApiBase of the Python module."""
    import onnxruntime

    path = install_layout.extension("runtimes.onnxruntime._native_base")
    if path is None:
        raise Unsupported(
            "the extension that finds ONNX Runtime's C functions is missing",
            install_layout.COMPILER_REMEDY,
        )
    # Held open: the engine closes the library again with the options, and its memory would go.
    library = c.CDLL(str(path))
    onnxruntime.SessionOptions().register_custom_ops_library(str(path))
    base = c.c_void_p.in_dll(library, "graphlap_ort_base").value
    if not base:
        raise Unsupported(
            "ONNX Runtime's module did not provide its C functions", "use call=python"
        )
    return base


def _base_of_library() -> int:
    """The OrtApiBase of libonnxruntime."""
    library_paths = sorted(capi_folder().glob("libonnxruntime.*"))
    for path in library_paths:
        if re.search(r"\.(so|dylib)(\.|$)", path.name):
            function: Any = c.CDLL(str(path)).OrtGetApiBase
            function.restype = c.c_void_p
            return int(function())
    raise Unsupported(
        "this package of ONNX Runtime has no libonnxruntime next to its module", "use build=module"
    )


_PARALLEL = 1


def session_options(native: Native, resources: ExitStack, opening: Opening) -> c.c_void_p:
    """As `session_options` of the Python interface; `resources` gives them back."""
    api, options = native.api, c.c_void_p()
    api.CreateSessionOptions(c.byref(options))
    resources.callback(api.ReleaseSessionOptions, options)
    api.SetSessionLogSeverityLevel(options, LOG_ERRORS)
    api.SetIntraOpNumThreads(options, opening.threads)
    api.SetInterOpNumThreads(options, opening.inter_op_threads)
    api.SetSessionGraphOptimizationLevel(options, LEVELS[opening.level])
    (api.EnableMemPattern if opening.memory_pattern else api.DisableMemPattern)(options)
    (api.EnableCpuMemArena if opening.memory_arena else api.DisableCpuMemArena)(options)
    if opening.parallel:
        api.SetSessionExecutionMode(options, _PARALLEL)
    for name, value in opening.entries.items():
        api.AddSessionConfigEntry(options, name.encode(), value.encode())
    for axis, size in opening.axes.items():
        api.AddFreeDimensionOverrideByName(options, axis.encode(), size)
    for library in opening.custom_ops:
        handle = c.c_void_p()
        try:
            api.RegisterCustomOpsLibrary(options, library.encode(), c.byref(handle))
        except OrtError as error:
            raise refused_operators(library) from error
    if opening.recording is not None:
        api.EnableProfiling(options, str(opening.recording).encode())
    if opening.device is not None:
        _add_device(native, options, opening.device)
    return options


def _add_device(native: Native, options: c.c_void_p, device: OnDevice) -> None:
    """Let the device's provider come before the CPU."""
    api = native.full_api
    assert api is not None, "a runtime with devices needs a release that has them"
    device_handles = handles_of(partial(api.GetEpDevices, native.environment))
    device_options = device.options.items()
    names = (c.c_char_p * len(device_options))(*(name.encode() for name, _ in device_options))
    values = (c.c_char_p * len(device_options))(*(value.encode() for _, value in device_options))
    device_array = (c.c_void_p * 1)(device_handles[device.number])
    api.SessionOptionsAppendExecutionProvider_V2(
        options, native.environment, device_array, 1, names, values, len(device_options)
    )


_ARENA_ALLOCATOR, _DEFAULT_MEMORY = 1, 0
_CODES = {name: code for code, name in ELEMENT_TYPES.items()}
_FLOATS = {"float32": "float", "float64": "double"}


@dataclass(frozen=True, slots=True)
class End:
    """An input or output of a graph; `dtype` and `shape` are None where they are not known."""

    name: str
    dtype: str | None
    shape: tuple[int, ...] | None


class Engine:
    """An open session; raises OrtError. `close` gives everything back."""

    def __init__(self, native: Native, path: str, opening: Opening) -> None:
        self._native, self._path, self._opening = native, path, opening
        self._api = native.api
        with ExitStack() as resources:
            options = session_options(native, resources, opening)
            session, memory = c.c_void_p(), c.c_void_p()
            self._api.CreateSession(native.environment, path.encode(), options, c.byref(session))
            self.handle = self._own_handle(resources, self._api.ReleaseSession, session)
            self._api.CreateCpuMemoryInfo(_ARENA_ALLOCATOR, _DEFAULT_MEMORY, c.byref(memory))
            self._memory = self._own_handle(resources, self._api.ReleaseMemoryInfo, memory)
            self._resources = resources.pop_all()
        self.inputs = tuple(self._ends(self._api.SessionGetInputCount, "Input"))
        self.outputs = tuple(self._ends(self._api.SessionGetOutputCount, "Output"))

    def told(self) -> Told:
        """Where the engine put which node, and the floats at the graph's ends."""
        types = {end.dtype for end in (*self.inputs, *self.outputs) if end.dtype}
        names = {_FLOATS.get(name, name) for name in types}
        return Told(self._assigned_nodes(), frozenset(names & FLOAT_NAMES.keys()))

    def _assigned_nodes(self) -> tuple[AssignedNode, ...] | None:
        """None from a release that does not report them."""
        api = self._native.full_api
        if api is None:
            return None
        nodes: list[AssignedNode] = []
        for part in handles_of(partial(api.Session_GetEpGraphAssignmentInfo, self.handle)):
            provider = text(api.EpAssignedSubgraph_GetEpName, part)
            for node in handles_of(partial(api.EpAssignedSubgraph_GetNodes, part)):
                nodes.append(
                    (
                        text(api.EpAssignedNode_GetName, node),
                        text(api.EpAssignedNode_GetOperatorType, node),
                        text(api.EpAssignedNode_GetDomain, node),
                        provider,
                    )
                )
        return tuple(nodes)

    def record(self, prefix: Path, inputs: Arrays) -> Path:
        """Run a second session like this one once; the file that it wrote of its kernels."""
        opening = replace(self._opening, recording=prefix)
        second = Engine(self._native, self._path, opening)
        try:
            binding = Binding(second)
            for name, array in inputs.items():
                binding.bind_input(name, array)
            for end in second.outputs:
                binding.allocate_output(end.name)
            binding.run()
            path_pointer = c.c_void_p()
            self._api.SessionEndProfiling(
                second.handle, self._native.allocator, c.byref(path_pointer)
            )
            return Path(self._take_text(path_pointer))
        finally:
            second.close()

    def binding(self) -> int:
        """A new binding, which this engine frees."""
        binding = c.c_void_p()
        self._api.CreateIoBinding(self.handle, c.byref(binding))
        return self._own_handle(self._resources, self._api.ReleaseIoBinding, binding)

    def tensor(self, array: np.ndarray) -> int:
        """A value over the memory of a C-contiguous array, which must outlive the engine's runs."""
        value, shape = c.c_void_p(), (c.c_int64 * array.ndim)(*array.shape)
        self._api.CreateTensorWithDataAsOrtValue(
            self._memory,
            array.ctypes.data,
            array.nbytes,
            shape,
            array.ndim,
            _CODES[array.dtype.name],
            c.byref(value),
        )
        return self._own_handle(self._resources, self._api.ReleaseValue, value)

    @property
    def memory(self) -> int:
        """Where outputs lie that the engine allocates."""
        return self._memory

    @property
    def native(self) -> Native:
        return self._native

    def close(self) -> None:
        """Free the session and all that was made of it; idempotent."""
        self._resources.close()

    def _ends(self, count: Callable[..., None], side: str) -> Iterator[End]:
        api, size = self._api, c.c_size_t()
        count(self.handle, c.byref(size))
        for index in range(size.value):
            name, kind = c.c_void_p(), c.c_void_p()
            name_of = getattr(api, f"SessionGet{side}Name")
            name_of(self.handle, index, self._native.allocator, c.byref(name))
            getattr(api, f"SessionGet{side}TypeInfo")(self.handle, index, c.byref(kind))
            try:
                yield End(self._take_text(name), *self._tensor_type(kind))
            finally:
                api.ReleaseTypeInfo(kind)

    def _tensor_type(self, kind: c.c_void_p) -> tuple[str | None, tuple[int, ...] | None]:
        info, code = c.c_void_p(), c.c_int()
        self._api.CastTypeInfoToTensorInfo(kind, c.byref(info))
        if not info.value:
            return None, None
        self._api.GetTensorElementType(info, c.byref(code))
        shape = self._shape(info)
        is_fixed = all(size >= 0 for size in shape)
        return ELEMENT_TYPES.get(code.value), shape if is_fixed else None

    def _shape(self, info: c.c_void_p) -> tuple[int, ...]:
        rank = c.c_size_t()
        self._api.GetDimensionsCount(info, c.byref(rank))
        sizes = (c.c_int64 * rank.value)()
        self._api.GetDimensions(info, sizes, rank.value)
        return tuple(sizes)

    def array(self, value: int) -> np.ndarray:
        """A copy of a tensor that the engine allocated; empty for an optional one that is not."""
        info, code, data, has_value = c.c_void_p(), c.c_int(), c.c_void_p(), c.c_int()
        self._api.HasValue(value, c.byref(has_value))
        if not has_value.value:
            return np.empty(0)
        self._api.GetTensorTypeAndShape(value, c.byref(info))
        try:
            self._api.GetTensorElementType(info, c.byref(code))
            shape = self._shape(info)
        finally:
            self._api.ReleaseTensorTypeAndShapeInfo(info)
        array = np.empty(shape, np.dtype(ELEMENT_TYPES[code.value]))
        self._api.GetTensorMutableData(value, c.byref(data))
        if array.nbytes:
            c.memmove(array.ctypes.data, data.value or 0, array.nbytes)
        return array

    def _own_handle(self, held: ExitStack, free: Callable[[int], None], handle: c.c_void_p) -> int:
        assert handle.value is not None
        held.callback(free, handle.value)
        return handle.value

    def _take_text(self, allocated: c.c_void_p) -> str:
        """The text that the engine allocated, which is given back."""
        assert allocated.value is not None
        copied = c.string_at(allocated.value).decode(errors="replace")
        self._api.AllocatorFree(self._native.allocator, allocated)
        return copied


class Binding:
    """Inputs and outputs of one lane of an engine, and its `run`, which raises OrtError."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._api = engine, engine.native.api
        self._handle = engine.binding()
        self.run: Callable[[], object] = partial(
            self._api.RunWithBinding, engine.handle, None, self._handle
        )
        self._arrays: list[np.ndarray] = []
        self._inputs: list[tuple[c.Array[c.c_char], int]] = []

    def bind_input(self, name: str, array: np.ndarray) -> None:
        """Read this memory in every run; a provider with memory of its own has it copied now."""
        # numpy would make a scalar one-dimensional on the way.
        contiguous = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        self._arrays.append(contiguous)
        word, value = c.create_string_buffer(name.encode()), self._engine.tensor(contiguous)
        self._api.BindInput(self._handle, word.raw, value)
        self._inputs.append((word, value))

    def run_copying(self) -> None:
        """Copy what lies in the inputs' memory, then run."""
        for word, value in self._inputs:
            self._api.BindInput(self._handle, word.raw, value)
        self.run()

    def bind_output(self, name: str, array: np.ndarray) -> None:
        """Write this memory in every run."""
        self._arrays.append(array)
        self._api.BindOutput(self._handle, name.encode(), self._engine.tensor(array))

    def allocate_output(self, name: str) -> None:
        """Let the engine allocate this output in the next run, and write it from then on."""
        self._api.BindOutputToDevice(self._handle, name.encode(), self._engine.memory)

    def copying(self) -> tuple[Call, ...]:
        """What `run_copying` does before it runs, for C."""
        native = self._engine.native
        return tuple(
            Call(
                native.bind_address,
                (self._handle, c.addressof(word), value),
                native.error,
                returns_pointer=True,
            )
            for word, value in self._inputs
        )

    def call(self) -> Call:
        """The same run for C."""
        native = self._engine.native
        return Call(
            native.run_address,
            (self._engine.handle, 0, self._handle),
            native.error,
            returns_pointer=True,
        )

    def values(self) -> list[np.ndarray]:
        """Copies of all outputs, in the order in which they were bound."""
        native, values, count = self._engine.native, c.c_void_p(), c.c_size_t()
        self._api.GetBoundOutputValues(
            self._handle, native.allocator, c.byref(values), c.byref(count)
        )
        if values.value is None:
            return []
        handles = c.cast(values, c.POINTER(c.c_void_p))[: count.value]
        try:
            return [self._engine.array(handle or 0) for handle in handles]
        finally:
            for handle in handles:
                self._api.ReleaseValue(handle)
            self._api.AllocatorFree(native.allocator, values)


class NativeLane(BoundLane):
    """As `OrtLane`, with its run offered to the loop in C too.

    With `copies_inputs` each run begins with them, as a binding copies them once.
    """

    def __init__(self, engine: Engine, request: Request, copies_inputs: bool = False) -> None:
        binding = Binding(engine)
        self._binding: Binding | None = binding
        super().__init__(((end.name, _dtype(end), end.shape) for end in engine.outputs), request)
        run, call_name = binding.run, "RunWithBinding"
        calls: tuple[Call, ...] = (binding.call(),)
        if copies_inputs:
            run, calls = binding.run_copying, (*binding.copying(), *calls)
            call_name = "BindInput and RunWithBinding"
        self._timed(run, f"{call_name} of {engine.native.where}")
        self.calls = () if self._renews else calls

    def close(self) -> None:
        super().close()
        self._binding, self.calls = None, ()

    def _bind_input(self, name: str, array: np.ndarray) -> None:
        self._bound.bind_input(name, array)

    def _bind_output(self, name: str, array: np.ndarray) -> None:
        self._bound.bind_output(name, array)

    def _allocate(self, name: str) -> None:
        self._bound.allocate_output(name)

    def _values(self) -> list[np.ndarray]:
        return self._bound.values()

    @property
    def _bound(self) -> Binding:
        assert self._binding is not None, "a closed lane has nothing that is allocated"
        return self._binding


def _dtype(end: End) -> np.dtype:
    if end.dtype is None or end.dtype in ("string", "bfloat16"):
        raise no_numbers(end.name, f"tensor({end.dtype})" if end.dtype else "sequence or map")
    return np.dtype(end.dtype)


class NativeSession(Session):
    """Owns `engine` and `lanes`, of which there is one for each shape."""

    def __init__(self, engine: Engine, lanes: Sequence[NativeLane], execution: Execution) -> None:
        self._engine, self._own_handle = engine, tuple(lanes)
        self.lanes = self._own_handle[:1]
        self.by_shape = self._own_handle if len(lanes) > 1 else ()
        self.execution = execution

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        for lane in self._own_handle:
            lane.close()
        self._engine.close()
