"""OpenVINO's C interface, as far as a benchmark needs it: paths and arrays in, handles out.

The Python interface builds a dictionary of outputs in every run, which costs 3 to 9 us, and
importing it sends a usage report over the network. The C library that comes in the same
package does neither.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Mapping
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from runtimes.faults import NotAvailable

_EXECUTED = 2


class OpenVinoError(Exception):
    """The library's own message."""


class _Interval(Structure):
    _fields_ = (("minimum", c_int64), ("maximum", c_int64))


class _PartialShape(Structure):
    _fields_ = (("rank", _Interval), ("sizes", POINTER(_Interval)))


class _Shape(Structure):
    _fields_ = (("rank", c_int64), ("sizes", POINTER(c_int64)))


class _Profile(Structure):
    _fields_ = (
        ("status", c_int),
        ("real_time_us", c_int64),
        ("cpu_time_us", c_int64),
        ("node_name", c_char_p),
        ("exec_type", c_char_p),
        ("node_type", c_char_p),
    )


class _Profiles(Structure):
    _fields_ = (("items", POINTER(_Profile)), ("size", c_size_t))


@dataclass(frozen=True, slots=True)
class Kernel:
    """One node that was executed; `executed_as` ends with the type computed in.

    `time_us` is the mean of all runs of the request so far, in whole microseconds.
    """

    node: str
    op: str
    executed_as: str
    time_us: int


def _package_folder() -> Path | None:
    """Where the package is installed, told without importing it."""
    spec = find_spec("openvino")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


@cache
def library() -> Library:
    """The process's one library and core; NotAvailable if it does not load."""
    return Library()


class Library:
    """The C library of the installed package; its methods raise OpenVinoError."""

    def __init__(self) -> None:
        folder = _package_folder()
        pattern = {"darwin": "libopenvino_c*.dylib", "win32": "openvino_c.dll"}.get(
            sys.platform, "libopenvino_c.so*"
        )
        found = sorted((folder / "libs").glob(pattern)) if folder else []
        try:
            if not found:
                raise OSError(f"the package has no {pattern}")
            self._c = ctypes.CDLL(str(found[0]))
        except OSError as error:
            raise NotAvailable(
                f"OpenVINO's library does not load ({error})",
                'pip install --force-reinstall "graphlap[openvino]"',
            ) from error
        self._c.ov_get_last_err_msg.restype = c_char_p
        self._core = c_void_p()
        self.call("ov_core_create", byref(self._core))

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function that returns a status."""
        if getattr(self._c, name)(*arguments):
            raise OpenVinoError(self._last_message())

    def timed(self, request: c_void_p) -> partial[object]:
        """The inference call as an object without arguments that raises if it fails."""
        # By index: a function object of its own, whose result type no other caller shares.
        infer = self._c["ov_infer_request_infer"]
        infer.argtypes = (c_void_p,)
        infer.restype = self._raise_on
        return partial(infer, request)

    def free(self, kind: str, handle: Any) -> None:
        """Give a handle back; `kind` is its name in the library."""
        release = getattr(self._c, f"ov_{kind}_free")
        release.restype = None
        release(handle)

    def read(self, path: str, shapes: Mapping[str, tuple[int, ...]]) -> c_void_p:
        """A model with every input fixed to its shape; the caller frees it as `model`."""
        model = c_void_p()
        self.call("ov_core_read_model", self._core, path.encode(), None, byref(model))
        names = (c_char_p * len(shapes))(*(name.encode() for name in shapes))
        fixed = (_PartialShape * len(shapes))()
        sizes = []
        for position, shape in enumerate(shapes.values()):
            sizes.append((_Interval * len(shape))(*(_Interval(size, size) for size in shape)))
            fixed[position] = _PartialShape(_Interval(len(shape), len(shape)), sizes[-1])
        try:
            if shapes:
                self.call("ov_model_reshape", model, names, fixed, c_size_t(len(shapes)))
        except OpenVinoError:
            self.free("model", model)
            raise
        return model

    def compile(self, model: c_void_p, properties: Mapping[str, str]) -> c_void_p:
        """The model compiled for the CPU; the caller frees it as `compiled_model`."""
        pairs = [c_char_p(text.encode()) for pair in properties.items() for text in pair]
        compiled = c_void_p()
        # The one variadic function of all; its fixed arguments are declared for the sake of
        # machines that pass the others differently.
        create = self._c["ov_core_compile_model"]
        create.argtypes = (c_void_p, c_void_p, c_char_p, c_size_t, c_void_p)
        if create(self._core, model, b"CPU", len(pairs), byref(compiled), *pairs):
            raise OpenVinoError(self._last_message())
        return compiled

    def property(self, compiled: c_void_p, name: str) -> str:
        """What the engine made of one property of a compiled model."""
        text = c_void_p()
        self.call("ov_compiled_model_get_property", compiled, name.encode(), byref(text))
        return self._taken(text)

    def request(self, compiled: c_void_p) -> c_void_p:
        """A request; the caller frees it as `infer_request`."""
        request = c_void_p()
        self.call("ov_compiled_model_create_infer_request", compiled, byref(request))
        return request

    def port(self, compiled: c_void_p, side: str, name: str) -> c_void_p:
        """An `input` or `output` by name; the caller frees it as `output_const_port`."""
        port = c_void_p()
        self.call(f"ov_compiled_model_{side}_by_name", compiled, name.encode(), byref(port))
        return port

    def fixed_shape(self, port: c_void_p) -> tuple[int, ...] | None:
        """The port's shape, or None where it depends on the data."""
        shape = _Shape()
        if self._c.ov_const_port_get_shape(port, byref(shape)):
            return None
        sizes = tuple(shape.sizes[: shape.rank])
        self.call("ov_shape_free", byref(shape))
        return sizes

    def share(self, request: c_void_p, port: c_void_p, array: np.ndarray) -> c_void_p:
        """Let the request read or write `array` at the port; free the result as `tensor`."""
        kind, tensor, size = c_int(), c_void_p(), c_size_t()
        self.call("ov_port_get_element_type", port, byref(kind))
        sizes = (c_int64 * array.ndim)(*array.shape)
        shape, address = _Shape(array.ndim, sizes), c_void_p(array.ctypes.data)
        self.call("ov_tensor_create_from_host_ptr", kind, shape, address, byref(tensor))
        try:
            self.call("ov_tensor_get_byte_size", tensor, byref(size))
            if size.value != array.nbytes:
                raise OpenVinoError(
                    f"a tensor of {array.dtype} {list(array.shape)} takes {size.value} bytes "
                    f"in the engine and {array.nbytes} here"
                )
            self.call("ov_infer_request_set_tensor_by_const_port", request, port, tensor)
        except OpenVinoError:
            self.free("tensor", tensor)
            raise
        return tensor

    def view(self, request: c_void_p, port: c_void_p, dtype: np.dtype) -> np.ndarray:
        """The memory that the engine itself gave to the port, valid until the next run."""
        tensor, shape, data = c_void_p(), _Shape(), c_void_p()
        self.call("ov_infer_request_get_tensor_by_const_port", request, port, byref(tensor))
        try:
            self.call("ov_tensor_get_shape", tensor, byref(shape))
            sizes = tuple(shape.sizes[: shape.rank])
            self.call("ov_shape_free", byref(shape))
            self.call("ov_tensor_data", tensor, byref(data))
        finally:
            self.free("tensor", tensor)
        if not data.value or 0 in sizes:
            return np.empty(sizes, dtype)
        memory = (ctypes.c_uint8 * (math.prod(sizes) * dtype.itemsize)).from_address(data.value)
        return np.ctypeslib.as_array(memory).view(dtype).reshape(sizes)

    def profile(self, request: c_void_p) -> tuple[Kernel, ...]:
        """What the last run executed, of a model compiled with PERF_COUNT."""
        profiles = _Profiles()
        self.call("ov_infer_request_get_profiling_info", request, byref(profiles))
        kernels = tuple(
            Kernel(
                item.node_name.decode(),
                item.node_type.decode(),
                item.exec_type.decode(),
                item.real_time_us,
            )
            for item in profiles.items[: profiles.size]
            if item.status == _EXECUTED
        )
        self.free("profiling_info_list", byref(profiles))
        return kernels

    @cached_property
    def cpu_name(self) -> str:
        """The processor as the CPU plugin names it, which loads the plugin if it was not."""
        text = c_void_p()
        self.call("ov_core_get_property", self._core, b"CPU", b"FULL_DEVICE_NAME", byref(text))
        return self._taken(text).strip()

    def _taken(self, text: c_void_p) -> str:
        """The text that the library allocated, which is given back."""
        assert text.value is not None
        copied = ctypes.string_at(text.value).decode(errors="replace")
        self._c.ov_free.restype = None
        self._c.ov_free(text)
        return copied

    def _raise_on(self, status: int) -> None:
        if status:
            raise OpenVinoError(self._last_message())

    def _last_message(self) -> str:
        return (self._c.ov_get_last_err_msg() or b"unknown error").decode(errors="replace")
