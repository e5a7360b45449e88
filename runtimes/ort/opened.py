"""A session of ONNX Runtime that an `Opening` describes, by its C or its Python interface.

Both run the same engine over buffers on the host; they differ in what calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runtimes.base import Session
from runtimes.execution import Execution
from runtimes.faults import RuntimeFault, Unsupported
from runtimes.ort.opening import Opening, session_options
from runtimes.ort.operators import Recording
from runtimes.request import Request
from runtimes.session.call_option import takes_c

if TYPE_CHECKING:
    import onnxruntime

    from runtimes.ort.execution import Executed
    from runtimes.ort.native_api import Build

Tell = Callable[["Executed", str], Execution]
"""What a row says of what is executed, and of how a run is called."""

_CPU = "CPUExecutionProvider"


def module_in_c(request: Request) -> bool:
    """Whether runs of the module are called through its C interface, as the option `call` says.

    Unsupported where they must be, and the release or what was built does not allow it. The Python
    interface has the same engine's operator times, and they are not timed by us.
    """
    call = str(request.options["call"])
    if request.settings.operator_times or not takes_c(call):
        return False
    from runtimes.ort.native_api import native

    try:
        native("module")
    except Unsupported:
        if call == "c":
            raise
        return False
    return True


def in_c(build: Build, opening: Opening, requests: Sequence[Request], tell: Tell) -> Session:
    """Opened by the C interface of one build, with a lane for each request; raises what
    `compile` may raise."""
    from runtimes.ort.execution import executed
    from runtimes.ort.faults import compile_fault
    from runtimes.ort.native_api import native
    from runtimes.ort.native_engine import Engine
    from runtimes.ort.native_lane import NativeLane
    from runtimes.ort.native_session import NativeSession

    request = requests[0]
    try:
        engine = Engine(native(build), request.model.path, opening)
    except RuntimeFault:
        raise
    except Exception as error:
        raise compile_fault(error) from error
    try:
        found = executed(engine.told(), engine.record, request)
        lanes = [NativeLane(engine, one, opening.copies_inputs) for one in requests]
    except BaseException:
        engine.close()
        raise
    return NativeSession(engine, lanes, tell(found, lanes[0].call_path))


def in_python(opening: Opening, requests: Sequence[Request], tell: Tell) -> Session:
    """Opened by the Python interface, which can tell operator times; raises the same."""
    from runtimes.ort import execution
    from runtimes.ort.allocating_lane import lane_on
    from runtimes.ort.lane import OrtLane
    from runtimes.ort.session import OrtSession

    request = requests[0]
    open_it = partial(_open, request.model.path, opening)
    recording = Recording() if request.settings.operator_times else None
    engine = _open_recorded(open_it, recording) if recording else open_it()
    found = execution.read(engine, open_it, request)
    lanes = [
        lane_on(engine, one, None) if opening.copies_inputs else OrtLane(engine, one)
        for one in requests
    ]
    return OrtSession(engine, lanes, tell(found, lanes[0].call_path), recording)


def _open_recorded(
    open_it: Callable[..., onnxruntime.InferenceSession], recording: Recording
) -> onnxruntime.InferenceSession:
    """With the graph that it runs written beside, unless the engine can't write that one."""
    try:
        return open_it(recording.prefix, recording.graph)
    except RuntimeFault:
        return open_it(recording.prefix)


def _open(
    path: str, opening: Opening, recording: Path | None = None, graph: Path | None = None
) -> onnxruntime.InferenceSession:
    import onnxruntime as ort

    from runtimes.ort.faults import compile_fault

    wanted = session_options(replace(opening, recording=recording, graph=graph))
    providers = None if opening.device else [_CPU]
    try:
        # Without this ONNX Runtime tries again on the CPU after an error of a provider's.
        return ort.InferenceSession(path, wanted, providers=providers, enable_fallback=0)
    except Exception as error:
        raise compile_fault(error) from error
