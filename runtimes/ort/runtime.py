"""ONNX Runtime on its CPU provider: an exported file in, a session for fixed shapes out."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from exporters import own
from exporters.types import ExportedModel, Precision
from runtimes.base import Availability, Runtime, Session
from runtimes.execution import Execution
from runtimes.faults import RuntimeFault, Unsupported
from runtimes.options import SESSIONS, Option
from runtimes.ort.opening import LEVELS, Opening, availability, flag, session_options
from runtimes.ort.operators import Recording
from runtimes.request import Request
from runtimes.session.call_option import CALL, takes_c
from runtimes.session.host_cpu import cpu_name

if TYPE_CHECKING:
    import onnxruntime

    from runtimes.ort.execution import Executed

_PROVIDER = "CPUExecutionProvider"
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})

OPTIONS = (
    Option(
        "graph_optimization",
        "all",
        "how far the graph is rewritten before it runs",
        tuple(LEVELS),
    ),
    Option(
        "execution_mode",
        "sequential",
        "whether independent nodes may run at the same time",
        ("sequential", "parallel"),
    ),
    Option("intra_op_spinning", True, "waiting worker threads spin instead of sleeping"),
    Option("memory_pattern", True, "activations are laid out in one block beforehand"),
    Option("memory_arena", True, "memory comes from the engine's arena, not from the system"),
    Option("flush_denormals", False, "denormal floats count as zero"),
    CALL,
    Option(
        "build",
        "module",
        "which of the package's two builds runs: the Python module's, or libonnxruntime",
        ("module", "library"),
    ),
    SESSIONS,
)


class OrtCpu(Runtime):
    """All nodes on the CPU provider, buffers bound beforehand, one set of them."""

    name = "ort-cpu"
    summary = "ONNX Runtime, CPU provider"
    options = OPTIONS
    precisions = ("fp32", "int8")

    def availability(self) -> Availability:
        return availability("cpu")

    def _refuse(self, request: Request) -> None:
        model = request.model
        halves = any(spec.dtype == "float16" for spec in (*model.inputs, *model.outputs))
        if request.settings.precision == "int8" or halves:
            self._refuse_recurrent(model, "fp16" if halves else "int8")

    def refuse_precision(self, precision: Precision) -> None:
        if precision == "fp16":
            raise Unsupported(
                "ONNX Runtime's CPU provider computes fp16 graphs in fp32 behind casts",
                "use fp32 here, or another runtime for fp16",
            )
        super().refuse_precision(precision)

    def _refuse_recurrent(self, model: ExportedModel, precision: str) -> None:
        for node, op in _recurrent_nodes(model.path):
            reason = (
                f"ONNX Runtime crashes on the fp16 {op} node {node!r} when it loads it"
                if precision == "fp16"
                else f"ONNX Runtime leaves the {op} node {node!r} of an int8 graph in fp32"
            )
            raise Unsupported(reason, "use fp32", node=node)

    def load(self) -> None:
        from runtimes.ort import lane, session  # noqa: F401 - and with them onnxruntime

    def _compile(self, request: Request) -> Session:
        if _without_python(request):
            return _compile_native(request)
        from runtimes.ort import execution as ort_execution
        from runtimes.ort.lane import OrtLane
        from runtimes.ort.session import OrtSession

        recording = Recording() if request.settings.operator_times else None
        engine = _open_recorded(request, recording) if recording else _open(request)
        executed = ort_execution.read(engine, partial(_open, request), request)
        lane = OrtLane(engine, request)
        execution = _execution(request, executed, lane.call_path)
        return OrtSession(engine, lane, execution, recording)


def _without_python(request: Request) -> bool:
    """Whether the session is opened through the C interface; Unsupported for what can't be."""
    call, build = str(request.options["call"]), str(request.options["build"])
    if build == "library":
        if call == "python":
            raise Unsupported("libonnxruntime has no Python call", "use call=c, or build=module")
        if request.settings.operator_times:
            raise Unsupported(
                "operator times are told by ONNX Runtime's module", "use build=module for them"
            )
    # The Python interface has the same engine's operator times, and they are not timed by us.
    if request.settings.operator_times:
        return False
    if takes_c(call):
        return build == "library" or _native_is_built(call)
    if build == "library":
        raise Unsupported(
            "libonnxruntime is timed by the loop in C, which was not built", own.COMPILER_REMEDY
        )
    return False


def _native_is_built(call: str) -> bool:
    """Whether the module's C functions can be had; Unsupported if they must be."""
    from runtimes.ort.native_api import built

    if call == "c" and not built():
        raise Unsupported(
            "the extension that finds ONNX Runtime's C functions is missing", own.COMPILER_REMEDY
        )
    return built()


def _compile_native(request: Request) -> Session:
    from runtimes.ort.execution import executed
    from runtimes.ort.faults import compile_fault
    from runtimes.ort.native_api import BUILDS, native
    from runtimes.ort.native_engine import Engine
    from runtimes.ort.native_lane import NativeLane
    from runtimes.ort.native_session import NativeSession

    build = BUILDS[BUILDS.index(request.options["build"])]
    try:
        engine = Engine(native(build), request.model.path, _opening(request))
    except RuntimeFault:
        raise
    except Exception as error:
        raise compile_fault(error) from error
    try:
        found = executed(engine.told(), engine.record, request)
        lane = NativeLane(engine, request)
    except BaseException:
        engine.close()
        raise
    return NativeSession(engine, lane, _execution(request, found, lane.call_path))


def _execution(request: Request, executed: Executed, call_path: str) -> Execution:
    idle = request.options["execution_mode"] == "parallel" and request.settings.threads == 1
    return Execution(
        provider=_PROVIDER,
        precision=executed.precision,
        device_name=cpu_name(),
        call_path=call_path,
        placement=executed.placement,
        inspection_ms=executed.inspection_ms,
        warnings=executed.warnings
        + (("execution_mode=parallel does nothing with one thread",) if idle else ()),
    )


def _opening(request: Request) -> Opening:
    """What either interface opens a session with."""
    options, common = request.options, Opening.of(request)
    return replace(
        common,
        level=str(options["graph_optimization"]),
        parallel=options["execution_mode"] == "parallel",
        memory_pattern=bool(options["memory_pattern"]),
        memory_arena=bool(options["memory_arena"]),
        entries={
            **common.entries,
            "session.intra_op.allow_spinning": flag(options["intra_op_spinning"]),
            "session.set_denormal_as_zero": flag(options["flush_denormals"]),
        },
    )


def _open_recorded(request: Request, recording: Recording) -> onnxruntime.InferenceSession:
    """With the graph that it runs written beside, unless the engine can't write that one."""
    try:
        return _open(request, recording.prefix, recording.graph)
    except RuntimeFault:
        return _open(request, recording.prefix)


def _open(
    request: Request, recording: Path | None = None, graph: Path | None = None
) -> onnxruntime.InferenceSession:
    """A session of the Python interface; raises what `compile` may raise."""
    import onnxruntime as ort

    from runtimes.ort.faults import compile_fault

    wanted = session_options(replace(_opening(request), recording=recording, graph=graph))
    try:
        return ort.InferenceSession(request.model.path, wanted, providers=[_PROVIDER])
    except Exception as error:
        raise compile_fault(error) from error


@lru_cache(maxsize=4)
def _recurrent_nodes(path: str) -> tuple[tuple[str, str], ...]:
    """(name, operator) of the file's LSTM, GRU and RNN nodes; none if it cannot be read."""
    import onnx

    try:
        graph = onnx.load(path, load_external_data=False).graph
    except Exception:  # what is wrong with the file, the engine tells when it loads it
        return ()
    return tuple((node.name, node.op_type) for node in graph.node if node.op_type in _RECURRENT)
