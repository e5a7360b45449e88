"""What the sessions of all of ONNX Runtime's providers are opened with, and its release."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from runtimes.faults import Unsupported
from runtimes.options import OptionValue
from runtimes.request import Request

if TYPE_CHECKING:
    import onnxruntime

_PACKAGES = ("onnxruntime-gpu", "onnxruntime")
_LOG_ERRORS = 3


def installed_release() -> str | None:
    """The version of the installed package, read without importing it; None if there is none."""
    if find_spec("onnxruntime") is not None:
        for package in _PACKAGES:
            try:
                return metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
    return None


def session_options(request: Request, recording: Path | None = None) -> onnxruntime.SessionOptions:
    """Options with every axis fixed and the threads as asked for.

    Unsupported for a library of the model's operators that is not to be had. With `recording`
    the session writes the times of its kernels to a file that begins so.
    """
    import onnxruntime

    wanted = onnxruntime.SessionOptions()
    wanted.log_severity_level = _LOG_ERRORS
    wanted.intra_op_num_threads = request.settings.threads
    wanted.inter_op_num_threads = 1
    wanted.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for axis, size in request.axes.items():
        wanted.add_free_dimension_override_by_name(axis, size)
    for library in request.model.custom_ops:
        try:
            wanted.register_custom_ops_library(library)
        except Exception as error:
            raise Unsupported(
                f"ONNX Runtime cannot take the operators of {Path(library).name}",
                "give --custom-ops a library built for this ONNX Runtime",
            ) from error
    if recording is not None:
        wanted.enable_profiling = True
        wanted.profile_file_prefix = str(recording)
    return wanted


def flag(value: OptionValue) -> str:
    """A yes or no in the words of ONNX Runtime's options."""
    return "1" if value else "0"
