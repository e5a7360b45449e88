"""ONNX Runtime's C functions from either of its two builds.

The package holds ONNX Runtime twice: inside its Python module, and as libonnxruntime. Both have
the same function table.
"""

from __future__ import annotations

import ctypes as c
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from exporters import own
from runtimes.faults import Unsupported
from runtimes.ort.c_api import OrtApi, OrtError, error_of, open_table
from runtimes.ort.opening import LOG_ERRORS, capi_folder

Build = Literal["module", "library"]
BUILDS: tuple[Build, ...] = ("module", "library")


@dataclass(frozen=True, slots=True)
class Native:
    """One build of ONNX Runtime in this process: its functions, and the addresses of two of them.

    Its functions raise OrtError. `where` names the build, with its release.
    """

    api: OrtApi
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
    """The build, loaded; Unsupported where this package or this installation lacks it."""
    base = _base_of_module() if build == "module" else _base_of_library()
    _, get_version = c.cast(base, c.POINTER(c.c_void_p))[0:2]
    version = (c.CFUNCTYPE(c.c_char_p)(get_version or 0)() or b"").decode()
    api = open_table(base)
    if api is None:
        raise Unsupported(
            f"ONNX Runtime {version} is too old for its C interface", "update onnxruntime"
        )
    name = "onnxruntime's Python module" if build == "module" else "libonnxruntime"
    where = f"{name} {version}"
    run_address, bind_address = (_address(f) for f in (api.RunWithBinding, api.BindInput))
    environment, allocator = c.c_void_p(), c.c_void_p()
    api.CreateEnv(LOG_ERRORS, b"graphlap", c.byref(environment))
    api.GetAllocatorWithDefaultOptions(c.byref(allocator))
    return Native(
        api, run_address, bind_address, environment.value or 0, allocator.value or 0, where
    )


def _address(function: Any) -> int:
    return c.cast(function, c.c_void_p).value or 0


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
        raise Unsupported(
            "ONNX Runtime's module did not provide its C functions", "use call=python"
        )
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
        "this package of ONNX Runtime has no libonnxruntime next to its module", "use build=module"
    )


def built() -> bool:
    """Whether the C functions of the Python module can be had."""
    return _extension() is not None


def _extension() -> Path | None:
    return own.extension("runtimes.ort._native_base")
