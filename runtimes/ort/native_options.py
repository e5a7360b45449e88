"""How a session is to be opened, in the options of ONNX Runtime's C interface."""

from __future__ import annotations

import ctypes as c
from contextlib import ExitStack
from functools import partial

from runtimes.ort.c_api import OrtError, handles_of
from runtimes.ort.native_api import Native
from runtimes.ort.opening import LEVELS, LOG_ERRORS, OnDevice, Opening, refused_operators

_PARALLEL = 1


def session_options(native: Native, held: ExitStack, opening: Opening) -> c.c_void_p:
    """As `session_options` of the Python interface; `held` gives them back."""
    api, options = native.api, c.c_void_p()
    api.CreateSessionOptions(c.byref(options))
    held.callback(api.ReleaseSessionOptions, options)
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
    known = handles_of(partial(api.GetEpDevices, native.environment))
    told = device.options.items()
    names = (c.c_char_p * len(told))(*(name.encode() for name, _ in told))
    values = (c.c_char_p * len(told))(*(value.encode() for _, value in told))
    chosen = (c.c_void_p * 1)(known[device.number])
    api.SessionOptionsAppendExecutionProvider_V2(
        options, native.environment, chosen, 1, names, values, len(told)
    )
