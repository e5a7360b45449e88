"""The prototypes of OpenVINO's C interface, as far as a benchmark needs them."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_size_t
from typing import Annotated

from runtimes.foreign import (
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
)


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
