"""ONNX Runtime on its CPU provider: an exported file in, a session for fixed shapes out."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from exporters.types import ExportedModel, Precision
from runtimes.base import Availability, Runtime, Session
from runtimes.execution import Execution
from runtimes.faults import RuntimeFault, Unsupported
from runtimes.options import SESSIONS, Option
from runtimes.ort.opening import availability, flag, session_options
from runtimes.ort.operators import Recording
from runtimes.request import Request
from runtimes.session.host_cpu import cpu_name

if TYPE_CHECKING:
    import onnxruntime

_PROVIDER = "CPUExecutionProvider"
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
_OPTIMISATION = {
    "all": "ORT_ENABLE_ALL",
    "extended": "ORT_ENABLE_EXTENDED",
    "basic": "ORT_ENABLE_BASIC",
    "off": "ORT_DISABLE_ALL",
}

OPTIONS = (
    Option(
        "graph_optimization",
        "all",
        "how far the graph is rewritten before it runs",
        tuple(_OPTIMISATION),
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
        from runtimes.ort import execution as ort_execution
        from runtimes.ort.lane import OrtLane
        from runtimes.ort.session import OrtSession

        recording = Recording() if request.settings.operator_times else None
        engine = _open_recorded(request, recording) if recording else _open(request)
        executed = ort_execution.read(engine, partial(_open, request), request)
        idle = request.options["execution_mode"] == "parallel" and request.settings.threads == 1
        lane = OrtLane(engine, request)
        execution = Execution(
            provider=_PROVIDER,
            precision=executed.precision,
            device_name=cpu_name(),
            call_path=lane.call_path,
            placement=executed.placement,
            inspection_ms=executed.inspection_ms,
            warnings=executed.warnings
            + (("execution_mode=parallel does nothing with one thread",) if idle else ()),
        )
        return OrtSession(engine, lane, execution, recording)


def _open_recorded(request: Request, recording: Recording) -> onnxruntime.InferenceSession:
    """With the graph that it runs written beside, unless the engine can't write that one."""
    try:
        return _open(request, recording.prefix, recording.graph)
    except RuntimeFault:
        return _open(request, recording.prefix)


def _open(
    request: Request, recording: Path | None = None, graph: Path | None = None
) -> onnxruntime.InferenceSession:
    """A session of the engine with every axis fixed; raises what `compile` may raise."""
    import onnxruntime as ort

    from runtimes.ort.faults import compile_fault

    options = request.options
    wanted = session_options(request, recording, graph)
    if options["execution_mode"] == "parallel":
        wanted.execution_mode = ort.ExecutionMode.ORT_PARALLEL
        wanted.inter_op_num_threads = request.settings.threads
    level = _OPTIMISATION[str(options["graph_optimization"])]
    wanted.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    wanted.enable_mem_pattern = bool(options["memory_pattern"])
    wanted.enable_cpu_mem_arena = bool(options["memory_arena"])
    wanted.add_session_config_entry(
        "session.intra_op.allow_spinning", flag(options["intra_op_spinning"])
    )
    wanted.add_session_config_entry(
        "session.set_denormal_as_zero", flag(options["flush_denormals"])
    )
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
