"""A session of ONNX Runtime opened through its C interface, with its buffers on the host.

It is the same engine as behind the Python interface, without Python around its run. Handles are
freed by the `ExitStack` that they were made for.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from runtimes.base import Arrays
from runtimes.calls.call import Call
from runtimes.ort.c_api import handles_of, text
from runtimes.ort.element_types import ELEMENT_TYPES
from runtimes.ort.execution import FLOAT_NAMES, AssignedNode, Told
from runtimes.ort.native_api import Native
from runtimes.ort.native_options import session_options
from runtimes.ort.opening import Opening

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
        with ExitStack() as held:
            options = session_options(native, held, opening)
            session, memory = c.c_void_p(), c.c_void_p()
            self._api.CreateSession(native.environment, path.encode(), options, c.byref(session))
            self.handle = self._owned(held, self._api.ReleaseSession, session)
            self._api.CreateCpuMemoryInfo(_ARENA_ALLOCATOR, _DEFAULT_MEMORY, c.byref(memory))
            self._memory = self._owned(held, self._api.ReleaseMemoryInfo, memory)
            self._held = held.pop_all()
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
            written = c.c_void_p()
            self._api.SessionEndProfiling(second.handle, self._native.allocator, c.byref(written))
            return Path(self._taken(written))
        finally:
            second.close()

    def binding(self) -> int:
        """A new binding, which this engine frees."""
        binding = c.c_void_p()
        self._api.CreateIoBinding(self.handle, c.byref(binding))
        return self._owned(self._held, self._api.ReleaseIoBinding, binding)

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
        return self._owned(self._held, self._api.ReleaseValue, value)

    @property
    def memory(self) -> int:
        """Where outputs lie that the engine allocates."""
        return self._memory

    @property
    def native(self) -> Native:
        return self._native

    def close(self) -> None:
        """Free the session and all that was made of it; idempotent."""
        self._held.close()

    def _ends(self, count: Callable[..., None], side: str) -> Iterator[End]:
        api, size = self._api, c.c_size_t()
        count(self.handle, c.byref(size))
        for index in range(size.value):
            name, kind = c.c_void_p(), c.c_void_p()
            name_of = getattr(api, f"SessionGet{side}Name")
            name_of(self.handle, index, self._native.allocator, c.byref(name))
            getattr(api, f"SessionGet{side}TypeInfo")(self.handle, index, c.byref(kind))
            try:
                yield End(self._taken(name), *self._tensor_type(kind))
            finally:
                api.ReleaseTypeInfo(kind)

    def _tensor_type(self, kind: c.c_void_p) -> tuple[str | None, tuple[int, ...] | None]:
        info, code = c.c_void_p(), c.c_int()
        self._api.CastTypeInfoToTensorInfo(kind, c.byref(info))
        if not info.value:
            return None, None
        self._api.GetTensorElementType(info, c.byref(code))
        shape = self._shape(info)
        known = all(size >= 0 for size in shape)
        return ELEMENT_TYPES.get(code.value), shape if known else None

    def _shape(self, info: c.c_void_p) -> tuple[int, ...]:
        rank = c.c_size_t()
        self._api.GetDimensionsCount(info, c.byref(rank))
        sizes = (c.c_int64 * rank.value)()
        self._api.GetDimensions(info, sizes, rank.value)
        return tuple(sizes)

    def array(self, value: int) -> np.ndarray:
        """A copy of a tensor that the engine allocated; empty for an optional one that is not."""
        info, code, data, there = c.c_void_p(), c.c_int(), c.c_void_p(), c.c_int()
        self._api.HasValue(value, c.byref(there))
        if not there.value:
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

    def _owned(self, held: ExitStack, free: Callable[[int], None], handle: c.c_void_p) -> int:
        assert handle.value is not None
        held.callback(free, handle.value)
        return handle.value

    def _taken(self, allocated: c.c_void_p) -> str:
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
        self._kept: list[np.ndarray] = []
        self._inputs: list[tuple[c.Array[c.c_char], int]] = []

    def bind_input(self, name: str, array: np.ndarray) -> None:
        """Read this memory in every run; a provider with memory of its own has it copied now."""
        # numpy would make a scalar one-dimensional on the way.
        contiguous = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        self._kept.append(contiguous)
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
        self._kept.append(array)
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
