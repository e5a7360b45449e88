"""A copy of a graph at an earlier IR version, for a release that does not open the file's own.

The version numbers the format of the file, not its operators: a graph that uses nothing new of a
format is the same graph in an earlier one. The file that a case names stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from exporters import install_layout
from exporters.diagnostics.catalogue import diagnostic
from runtimes.base import Session
from runtimes.errors import Unsupported
from runtimes.onnxruntime.errors import LaterIrVersion
from runtimes.options import Request


def open_at_earlier_version(
    open_session: Callable[[Sequence[Request]], Session], requests: Sequence[Request]
) -> Session:
    """`open_session` of these requests, or of the same with a copy of the file, where only its IR
    version is too new; the session then has a diagnostic that says so."""
    try:
        return open_session(requests)
    except LaterIrVersion as fault:
        with TemporaryDirectory(prefix="graphlap-") as folder:
            copy = str(Path(folder, "model.onnx"))
            _write_copy(requests[0].model.path, copy, fault)
            session = open_session(
                [replace(request, model=replace(request.model, path=copy)) for request in requests]
            )
        warning = diagnostic("ir_version_lowered", of_file=fault.of_file, opened=fault.newest)
        execution = session.execution
        session.execution = replace(execution, warnings=(*execution.warnings, warning))
        return session


def _write_copy(model: str, copy: str, fault: LaterIrVersion) -> None:
    """The copy; the fault, with what stands in the way, if there can't be one."""
    command = install_layout.starter_command(
        "exporters.onnx_files.ir_version", model, copy, str(fault.newest)
    )
    process = install_layout.run_child(command)
    if feature_names := process.stdout.splitlines():
        raise Unsupported(
            f"{fault.cause}, and needs it for {', '.join(feature_names)}", fault.remedy
        )
    if process.returncode:
        raise fault
