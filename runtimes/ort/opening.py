"""What the sessions of all of ONNX Runtime's providers are opened with, and its release."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from runtimes.base import Availability, Available, Unavailable
from runtimes.faults import Unsupported
from runtimes.options import OptionValue
from runtimes.request import Request

if TYPE_CHECKING:
    import onnxruntime

_LOG_ERRORS = 3
_VERSION = re.compile(r"^__version__ = [\"']([^\"']+)", re.MULTILINE)

OLDEST = (1, 24)
"""The first release that tells which node it put where."""


def installed_release() -> str | None:
    """The version of the installed module, read without importing it; None if there is none.

    A dozen packages install it: onnxruntime, onnxruntime-gpu, onnxruntime-openvino and others.
    """
    folder = _folder()
    if folder is None:
        return None
    found = _VERSION.search((folder / "__init__.py").read_text("utf-8"))
    return found.group(1) if found else "unknown"


def availability(extra: str, oldest: tuple[int, int] = OLDEST) -> Availability:
    """Whether the installed ONNX Runtime, of whatever package, is there and new enough."""
    version = installed_release()
    if version is None:
        return Unavailable("ONNX Runtime is not installed", f"pip install 'graphlap[{extra}]'")
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is not None and tuple(map(int, numbers.groups())) < oldest:
        return Unavailable(
            f"ONNX Runtime {version} is older than {'.'.join(map(str, oldest))}",
            f"pip install --upgrade 'graphlap[{extra}]'",
        )
    return Available(version)


def has_provider(name: str) -> bool:
    """Whether the library of a provider, `cuda` or `tensorrt`, came with the installed module."""
    folder = _folder()
    return folder is not None and any((folder / "capi").glob(f"*onnxruntime_providers_{name}.*"))


def _folder() -> Path | None:
    """Where the module lies; None also for a folder that only has its name."""
    spec = find_spec("onnxruntime")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def session_options(
    request: Request, recording: Path | None = None, graph: Path | None = None
) -> onnxruntime.SessionOptions:
    """Options with every axis fixed and the threads as asked for.

    Unsupported for a library of the model's operators that is not to be had. With `recording`
    the session writes the times of its kernels to a file that begins so, with `graph` the graph
    that it runs to this file, and its weights beside it.
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
    if graph is not None:
        wanted.optimized_model_filepath = str(graph)
        weights = "session.optimized_model_external_initializers_file_name"
        wanted.add_session_config_entry(weights, f"{graph.name}.weights")
    return wanted


def flag(value: OptionValue) -> str:
    """A yes or no in the words of ONNX Runtime's options."""
    return "1" if value else "0"
