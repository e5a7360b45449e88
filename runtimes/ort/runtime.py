"""ONNX Runtime on its CPU provider: an exported file in, a session for its shapes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

from exporters import own
from exporters.diagnostics.catalogue import diagnostic
from exporters.types import ExportedModel, Precision
from runtimes.base import Availability, Runtime, Session
from runtimes.execution import Execution
from runtimes.faults import Unsupported
from runtimes.options import SESSIONS, Option
from runtimes.ort.opened import in_c, in_python, module_in_c
from runtimes.ort.opening import GRAPH_OPTIMIZATION, Opening, availability, flag
from runtimes.request import Request
from runtimes.session.call_option import CALL, takes_c
from runtimes.session.host_cpu import cpu_name
from runtimes.usage import Usage, Used

if TYPE_CHECKING:
    from runtimes.ort.execution import Executed

_PROVIDER = "CPUExecutionProvider"
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})

OPTIONS = (
    GRAPH_OPTIMIZATION,
    Option(
        "execution_mode",
        "sequential",
        "whether independent nodes may run at the same time",
        ("sequential", "parallel"),
    ),
    Option("intra_op_spinning", True, "waiting worker threads spin instead of sleeping"),
    Option(
        "inter_op_spinning",
        True,
        "so do those that wait for a node, with execution_mode=parallel",
        tuned=False,
    ),
    Option("memory_pattern", True, "activations are laid out in one block beforehand"),
    Option("memory_arena", True, "memory comes from the engine's arena, not from the system"),
    Option("flush_denormals", False, "denormal floats count as zero"),
    CALL,
    Option(
        "build",
        "module",
        "which of the package's two builds runs: the Python module's, or libonnxruntime",
        ("module", "library"),
        tuned=False,
    ),
    SESSIONS,
)


class OrtCpu(Runtime):
    """All nodes on the CPU provider, buffers bound beforehand, one set of them."""

    name = "ort-cpu"
    summary = "ONNX Runtime, CPU provider"
    engine = "onnxruntime"
    options = OPTIONS
    precisions = ("fp32", "int8")
    unexecuted: ClassVar[Mapping[Precision, str]] = {
        **Runtime.unexecuted,
        "bf16": "the CPU provider has no products in",
    }

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

    def usage(self, used: Used) -> Usage:
        from runtimes.ort.usage import usage

        return usage(used)

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
        return self._compile_shapes((request,))

    def _compile_shapes(self, requests: Sequence[Request]) -> Session:
        request = requests[0]
        opening, tell = _opening(request), partial(_execution, request)
        if not _without_python(request):
            return in_python(opening, requests, tell)
        from runtimes.ort.native_api import BUILDS

        return in_c(BUILDS[BUILDS.index(request.options["build"])], opening, requests, tell)


def _without_python(request: Request) -> bool:
    """Whether the session is opened through the C interface; Unsupported for what can't be."""
    if request.options["build"] == "module":
        return module_in_c(request)
    call = str(request.options["call"])
    if call == "python":
        raise Unsupported("libonnxruntime has no Python call", "use call=c, or build=module")
    if request.settings.operator_times:
        raise Unsupported(
            "only ONNX Runtime's module reports operator times", "use build=module for them"
        )
    if not takes_c(call):
        raise Unsupported(
            "libonnxruntime is timed by the loop in C, which was not built", own.COMPILER_REMEDY
        )
    return True


_NOT_PARALLEL = diagnostic("option_without_effect", option="execution_mode=parallel")


def _execution(request: Request, executed: Executed, call_path: str) -> Execution:
    idle = request.options["execution_mode"] == "parallel" and request.settings.threads == 1
    return Execution(
        provider=_PROVIDER,
        precision=executed.precision,
        device_name=cpu_name(),
        call_path=call_path,
        placement=executed.placement,
        inspection_ms=executed.inspection_ms,
        warnings=executed.warnings + ((_NOT_PARALLEL,) if idle else ()),
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
            "session.inter_op.allow_spinning": flag(options["inter_op_spinning"]),
            "session.set_denormal_as_zero": flag(options["flush_denormals"]),
        },
    )


@lru_cache(maxsize=4)
def _recurrent_nodes(path: str) -> tuple[tuple[str, str], ...]:
    """(name, operator) of the file's LSTM, GRU and RNN nodes; none if it cannot be read.

    An environment need not have onnx: the process that planned has it, and refuses first.
    """
    if find_spec("onnx") is None:
        return ()
    import onnx

    try:
        graph = onnx.load(path, load_external_data=False).graph
    except Exception:  # what is wrong with the file, the engine tells when it loads it
        return ()
    return tuple((node.name, node.op_type) for node in graph.node if node.op_type in _RECURRENT)
