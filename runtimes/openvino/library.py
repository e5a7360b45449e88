"""OpenVINO's C library by ctypes: prototypes, and paths and arrays in, handles out."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np

from runtimes.calls import Call
from runtimes.ctypes_prototypes import (
    Code,
    Elements,
    Handle,
    Int,
    Out,
    OutHandle,
    OutInt,
    OutSize,
    Size,
    Status,
    Text,
    from_library,
)
from runtimes.errors import NotAvailable


class Interval(Structure):
    """ov_dimension."""

    _fields_ = (("minimum", c_int64), ("maximum", c_int64))


class PartialShape(Structure):
    """ov_partial_shape."""

    _fields_ = (("rank", Interval), ("sizes", POINTER(Interval)))


class Shape(Structure):
    """ov_shape_t."""

    _fields_ = (("rank", c_int64), ("sizes", POINTER(c_int64)))


class NodeTimes(Structure):
    """ov_profiling_info_t."""

    _fields_ = (
        ("status", c_int),
        ("real_time_us", c_int64),
        ("cpu_time_us", c_int64),
        ("node_name", c_char_p),
        ("exec_type", c_char_p),
        ("node_type", c_char_p),
    )


class NodeTimesList(Structure):
    """ov_profiling_info_list_t."""

    _fields_ = (("items", POINTER(NodeTimes)), ("size", c_size_t))


class AvailableDevices(Structure):
    """ov_available_devices_t."""

    _fields_ = (("names", POINTER(c_char_p)), ("size", c_size_t))


ByValue = Annotated[Shape, Shape]
Message = Annotated[bytes | None, c_char_p]
Free = Callable[[Handle], None]


class OpenVinoC:
    """The functions of libopenvino_c that have a fixed number of arguments."""

    ov_get_last_err_msg: Callable[[], Message]
    ov_free: Free
    ov_core_create: Callable[[OutHandle], Status]
    ov_core_get_available_devices: Callable[[Handle, Out], Status]
    ov_available_devices_free: Callable[[Out], None]
    ov_core_get_property: Callable[[Handle, Text, Text, OutHandle], Status]
    ov_core_read_model: Callable[[Handle, Text, Text, OutHandle], Status]
    ov_model_reshape: Callable[[Handle, Elements, Elements, Size], Status]
    ov_model_reshape_by_port_indexes: Callable[[Handle, Elements, Elements, Size], Status]
    ov_model_inputs_size: Callable[[Handle, OutSize], Status]
    ov_model_const_input_by_name: Callable[[Handle, Text, OutHandle], Code]
    ov_model_free: Free
    ov_compiled_model_get_property: Callable[[Handle, Text, OutHandle], Status]
    ov_compiled_model_inputs_size: Callable[[Handle, OutSize], Status]
    ov_compiled_model_input_by_name: Callable[[Handle, Text, OutHandle], Code]
    ov_compiled_model_input_by_index: Callable[[Handle, Size, OutHandle], Status]
    ov_compiled_model_outputs_size: Callable[[Handle, OutSize], Status]
    ov_compiled_model_output_by_name: Callable[[Handle, Text, OutHandle], Code]
    ov_compiled_model_output_by_index: Callable[[Handle, Size, OutHandle], Status]
    ov_compiled_model_create_infer_request: Callable[[Handle, OutHandle], Status]
    ov_compiled_model_free: Free
    ov_const_port_get_shape: Callable[[Handle, Out], Code]
    ov_port_get_element_type: Callable[[Handle, OutInt], Status]
    ov_output_const_port_free: Free
    ov_shape_free: Callable[[Out], Status]
    ov_tensor_create_from_host_ptr: Callable[[Int, ByValue, Handle, OutHandle], Status]
    ov_tensor_get_byte_size: Callable[[Handle, OutSize], Status]
    ov_tensor_get_shape: Callable[[Handle, Out], Status]
    ov_tensor_data: Callable[[Handle, OutHandle], Status]
    ov_tensor_free: Free
    ov_infer_request_set_tensor_by_const_port: Callable[[Handle, Handle, Handle], Status]
    ov_infer_request_get_tensor_by_const_port: Callable[[Handle, Handle, OutHandle], Status]
    ov_infer_request_get_profiling_info: Callable[[Handle, Out], Status]
    ov_infer_request_free: Free
    ov_profiling_info_list_free: Callable[[Out], None]


_NAME = "libopenvino_c.so"
_EXECUTED_STATUS = 2
_FUSED_TYPE = "undef"
_NO_KERNEL_PREFIX = "unknown"
# What HETERO puts before the name of a node.
_PART_PREFIX = re.compile(r"^subgraph\d+: ")
_OPEN = (1, -1)
"""The bounds of a dimension that any size may have."""


class OpenVinoError(Exception):
    """The library's own message."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One node that was executed; `executed_as` ends with the type computed in.

    `time_us` is the mean of all runs of the request so far, cut to whole microseconds. `fused`
    are the nodes that it computes as well.
    """

    node: str
    op: str
    executed_as: str
    time_us: int
    fused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ports:
    """Handles by the file's names; `renamed` says that the engine calls some otherwise, and may
    have one tensor for several."""

    by_name: Mapping[str, c_void_p]
    renamed: bool


@cache
def library() -> Library:
    """The process's one library and core; NotAvailable if it does not load."""
    return Library()


class Library:
    """The C library of the installed package; its methods raise OpenVinoError."""

    def __init__(self) -> None:
        self._library = _load()
        self.path = Path(self._library._name)
        self._c = from_library(OpenVinoC, self._library, lambda _status, _name: self._error())
        self._core = c_void_p()
        self._c.ov_core_create(byref(self._core))

    def read(
        self, resources: ExitStack, path: str, shapes: Mapping[str, tuple[int | None, ...]]
    ) -> c_void_p:
        """A model with every input fixed to its shape, whose None is left open.

        Inputs of rank 0 stay as they are: the C interface takes rank 0 for one that is open.
        """
        model = c_void_p()
        self._c.ov_core_read_model(self._core, path.encode(), None, byref(model))
        _own_handle(resources, self._c.ov_model_free, model)
        is_named = self._has_inputs(model, shapes)
        with_ranks = {place: item for place, item in enumerate(shapes.items()) if item[1]}
        fixed_shapes = (PartialShape * len(with_ranks))()
        sizes = []
        for position, (_, shape) in enumerate(with_ranks.values()):
            bounds = [_OPEN if size is None else (size, size) for size in shape]
            sizes.append((Interval * len(shape))(*(Interval(*ends) for ends in bounds)))
            fixed_shapes[position] = PartialShape(Interval(len(shape), len(shape)), sizes[-1])
        if with_ranks and is_named:
            names = (c_char_p * len(with_ranks))(
                *(name.encode() for name, _ in with_ranks.values())
            )
            self._c.ov_model_reshape(model, names, fixed_shapes, len(with_ranks))
        elif with_ranks:
            places = (c_size_t * len(with_ranks))(*with_ranks)
            self._c.ov_model_reshape_by_port_indexes(model, places, fixed_shapes, len(with_ranks))
        return model

    def _has_inputs(self, model: c_void_p, names: Collection[str]) -> bool:
        """Whether each input has its name; OpenVinoError where they can't be told by place either.

        The engine leaves a Dropout out by giving what goes into it the name of what comes out.
        """
        size, port = c_size_t(), c_void_p()
        for name in names:
            if self._c.ov_model_const_input_by_name(model, name.encode(), byref(port)):
                self._c.ov_model_inputs_size(model, byref(size))
                if size.value != len(names):
                    raise self._error()
                return False
            self._c.ov_output_const_port_free(port)
        return True

    def devices(self) -> tuple[str, ...]:
        """The devices that OpenVINO finds here, as `CPU` or `GPU.1`; it loads all its plugins."""
        device_list = AvailableDevices()
        self._c.ov_core_get_available_devices(self._core, byref(device_list))
        names = tuple(name.decode() for name in device_list.names[: device_list.size])
        self._c.ov_available_devices_free(byref(device_list))
        return names

    def compile(
        self, resources: ExitStack, model: c_void_p, device: str, properties: Mapping[str, str]
    ) -> c_void_p:
        """The model compiled for a device, in OpenVINO's own words."""
        pairs = [c_char_p(text.encode()) for pair in properties.items() for text in pair]
        compiled_model = c_void_p()
        # The one variadic function of all; its fixed arguments are declared for the sake of
        # machines that pass the others differently.
        create = self._library["ov_core_compile_model"]
        create.argtypes = (c_void_p, c_void_p, c_char_p, c_size_t, c_void_p)
        if create(self._core, model, device.encode(), len(pairs), byref(compiled_model), *pairs):
            raise self._error()
        return _own_handle(resources, self._c.ov_compiled_model_free, compiled_model)

    def property(self, compiled_model: c_void_p, name: str) -> str:
        """What the engine made of one property of a compiled model."""
        text = c_void_p()
        self._c.ov_compiled_model_get_property(compiled_model, name.encode(), byref(text))
        return self._take_text(text)

    def request(self, resources: ExitStack, compiled_model: c_void_p) -> c_void_p:
        """A request for runs of the compiled model."""
        request = c_void_p()
        self._c.ov_compiled_model_create_infer_request(compiled_model, byref(request))
        return _own_handle(resources, self._c.ov_infer_request_free, request)

    def timed(self, request: c_void_p) -> partial[object]:
        """The inference call as an object without arguments that raises if it fails."""
        # By index: a function object of its own, whose result type no other caller shares.
        infer = self._library["ov_infer_request_infer"]
        infer.argtypes = (c_void_p,)
        infer.restype = self._raise_on
        return partial(infer, request)

    def call(self, request: c_void_p) -> Call:
        """The same for C."""
        address = ctypes.cast(self._library["ov_infer_request_infer"], c_void_p).value
        assert address is not None
        assert request.value is not None
        return Call(address, (request.value,), lambda _status: self._error())

    def inputs(self, resources: ExitStack, compiled_model: c_void_p, names: Sequence[str]) -> Ports:
        """The ports of all inputs, in the file's order."""
        c, size = self._c, c_size_t()
        c.ov_compiled_model_inputs_size(compiled_model, byref(size))
        by_name, by_place = c.ov_compiled_model_input_by_name, c.ov_compiled_model_input_by_index
        return self._ports(resources, compiled_model, names, size.value, by_name, by_place)

    def outputs(
        self, resources: ExitStack, compiled_model: c_void_p, names: Sequence[str]
    ) -> Ports:
        """The ports of all outputs, in the file's order."""
        c, size = self._c, c_size_t()
        c.ov_compiled_model_outputs_size(compiled_model, byref(size))
        by_name, by_place = c.ov_compiled_model_output_by_name, c.ov_compiled_model_output_by_index
        return self._ports(resources, compiled_model, names, size.value, by_name, by_place)

    def _ports(
        self,
        resources: ExitStack,
        compiled_model: c_void_p,
        names: Sequence[str],
        size: int,
        by_name: Callable[[Handle, Text, OutHandle], Code],
        by_place: Callable[[Handle, Size, OutHandle], None],
    ) -> Ports:
        ports, is_renamed = {}, False
        for place, name in enumerate(names):
            port = c_void_p()
            if by_name(compiled_model, name.encode(), byref(port)):
                if size != len(names):
                    raise self._error()
                is_renamed = True
                by_place(compiled_model, place, byref(port))
            ports[name] = _own_handle(resources, self._c.ov_output_const_port_free, port)
        return Ports(ports, is_renamed)

    def address(self, request: c_void_p, port: c_void_p) -> int | None:
        """Where the tensor lies that the request has for a port."""
        tensor, data = c_void_p(), c_void_p()
        self._c.ov_infer_request_get_tensor_by_const_port(request, port, byref(tensor))
        with ExitStack() as resources:
            _own_handle(resources, self._c.ov_tensor_free, tensor)
            self._c.ov_tensor_data(tensor, byref(data))
        return data.value

    def fixed_shape(self, port: c_void_p) -> tuple[int, ...] | None:
        """The port's shape, or None where it depends on the data."""
        shape = Shape()
        if self._c.ov_const_port_get_shape(port, byref(shape)):
            return None
        return self._sizes(shape)

    def share(
        self, resources: ExitStack, request: c_void_p, port: c_void_p, array: np.ndarray
    ) -> c_void_p:
        """A tensor that lets the request read or write `array` at the port."""
        kind, tensor, size = c_int(), c_void_p(), c_size_t()
        self._c.ov_port_get_element_type(port, byref(kind))
        shape = Shape(array.ndim, (c_int64 * array.ndim)(*array.shape))
        address = c_void_p(array.ctypes.data)
        self._c.ov_tensor_create_from_host_ptr(kind, shape, address, byref(tensor))
        _own_handle(resources, self._c.ov_tensor_free, tensor)
        self._c.ov_tensor_get_byte_size(tensor, byref(size))
        if size.value != array.nbytes:
            raise OpenVinoError(
                f"a tensor of {array.dtype} {list(array.shape)} takes {size.value} bytes "
                f"in the engine and {array.nbytes} here"
            )
        self._c.ov_infer_request_set_tensor_by_const_port(request, port, tensor)
        return tensor

    def view(self, request: c_void_p, port: c_void_p, dtype: np.dtype) -> np.ndarray:
        """The memory that the engine itself gave to the port, valid until the next run."""
        tensor, shape, data = c_void_p(), Shape(), c_void_p()
        self._c.ov_infer_request_get_tensor_by_const_port(request, port, byref(tensor))
        with ExitStack() as resources:
            _own_handle(resources, self._c.ov_tensor_free, tensor)
            self._c.ov_tensor_get_shape(tensor, byref(shape))
            sizes = self._sizes(shape)
            self._c.ov_tensor_data(tensor, byref(data))
        if not data.value or 0 in sizes:
            return np.empty(sizes, dtype)
        memory = (ctypes.c_uint8 * (math.prod(sizes) * dtype.itemsize)).from_address(data.value)
        return np.ctypeslib.as_array(memory).view(dtype).reshape(sizes)

    def kernels(self, request: c_void_p) -> tuple[Kernel, ...]:
        """What the last run executed, of a model compiled with PERF_COUNT."""
        node_times = NodeTimesList()
        self._c.ov_infer_request_get_profiling_info(request, byref(node_times))
        kernels: list[Kernel] = []
        # What a node computes beside its own work comes right after it and is executed as nothing.
        host: Kernel | None = None
        for item in node_times.items[: node_times.size]:
            name = _PART_PREFIX.sub("", item.node_name.decode())
            executed_as = item.exec_type.decode()
            # A kernel that took less than a microsecond has the status of one that was not run.
            has_kernel = not executed_as.startswith((_FUSED_TYPE, _NO_KERNEL_PREFIX))
            if item.status == _EXECUTED_STATUS or has_kernel:
                host = Kernel(name, item.node_type.decode(), executed_as, item.real_time_us)
                kernels.append(host)
            elif executed_as != _FUSED_TYPE:
                host = None
            elif host is not None:
                kernels[-1] = host = replace(host, fused=(*host.fused, name))
        self._c.ov_profiling_info_list_free(byref(node_times))
        return tuple(kernels)

    def device_name(self, device: str) -> str:
        """The device as its plugin names it, which loads the plugin if it was not."""
        return self._device_property(device, "FULL_DEVICE_NAME")

    def computes_in(self, device: str) -> tuple[str, ...]:
        """The types that the device's plugin computes in, as `FP32`, and what else it can."""
        return tuple(self._device_property(device, "OPTIMIZATION_CAPABILITIES").split())

    def _device_property(self, device: str, name: str) -> str:
        text = c_void_p()
        self._c.ov_core_get_property(self._core, device.encode(), name.encode(), byref(text))
        return self._take_text(text).strip()

    def _sizes(self, shape: Shape) -> tuple[int, ...]:
        """The sizes of a shape that the library filled, which is given back."""
        sizes = tuple(shape.sizes[: shape.rank])
        self._c.ov_shape_free(byref(shape))
        return sizes

    def _take_text(self, text: c_void_p) -> str:
        """The text that the library allocated, which is given back."""
        assert text.value is not None
        copied = ctypes.string_at(text.value).decode(errors="replace")
        self._c.ov_free(text)
        return copied

    def _raise_on(self, status: int) -> None:
        if status:
            raise self._error()

    def _error(self) -> OpenVinoError:
        message = self._c.ov_get_last_err_msg() or b"unknown error"
        return OpenVinoError(message.decode(errors="replace"))


def _load() -> ctypes.CDLL:
    """The library in the package's folder, found without importing the package."""
    spec = find_spec("openvino")
    folders = spec.submodule_search_locations if spec else None
    library_paths = sorted(Path(next(iter(folders)), "libs").glob(f"{_NAME}*")) if folders else []
    try:
        if not library_paths:
            raise OSError(f"the package has no {_NAME}")
        return ctypes.CDLL(str(library_paths[0]))
    except OSError as error:
        raise NotAvailable(
            f"OpenVINO's library does not load ({error})",
            "pip install --upgrade --force-reinstall 'graphlap[openvino]'",
        ) from error


def _own_handle(held: ExitStack, free: Free, handle: c_void_p) -> c_void_p:
    """The handle, freed with all that is held, before what was made earlier."""
    held.callback(free, handle)
    return handle
