"""ONNX Runtime on its CPU provider: an exported file in, a session for fixed shapes out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporters.types import ExportedModel, Precision, axes_key, load_reference
from runtimes.base import (
    Arrays,
    Availability,
    Available,
    Device,
    Execution,
    Option,
    OptionValue,
    Runtime,
    Session,
    Settings,
    Unavailable,
)
from runtimes.faults import Unsupported
from runtimes.options import SESSIONS, chosen
from runtimes.ort.operators import Recording
from runtimes.session.host import fixed_shapes
from runtimes.session.host_cpu import cpu_name

if TYPE_CHECKING:
    import onnxruntime

_PROVIDER = "CPUExecutionProvider"
_PACKAGES = ("onnxruntime-gpu", "onnxruntime")
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
_OPTIMISATION = {
    "all": "ORT_ENABLE_ALL",
    "extended": "ORT_ENABLE_EXTENDED",
    "basic": "ORT_ENABLE_BASIC",
    "off": "ORT_DISABLE_ALL",
}
_LOG_ERRORS = 3

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
        if find_spec("onnxruntime") is not None:
            for package in _PACKAGES:
                try:
                    return Available(metadata.version(package))
                except metadata.PackageNotFoundError:
                    continue
        return Unavailable("the package onnxruntime is not installed", "pip install onnxruntime")

    def devices(self) -> tuple[Device, ...]:
        return ()

    def refuse(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> None:
        self.refuse_device(settings.device, settings.release)
        chosen(self, settings)
        fixed_shapes(model, model.inputs, axes)
        halves = any(spec.dtype == "float16" for spec in (*model.inputs, *model.outputs))
        self.refuse_precision(settings.precision)
        if settings.precision == "int8" or halves:
            self._refuse_recurrent(model, "fp16" if halves else "int8")
        super().refuse(model, axes, settings)

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
        from runtimes.ort import session  # noqa: F401 - and with it onnxruntime

    def compile(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> Session:
        from runtimes.ort import execution as ort_execution
        from runtimes.ort.session import OrtSession

        self.refuse(model, axes, settings)
        options = chosen(self, settings)
        profile = Recording() if settings.profile else None
        session = _open(model, axes, settings, options, profile.prefix if profile else None)

        def open_profiled(prefix: Path) -> onnxruntime.InferenceSession:
            return _open(model, axes, settings, options, prefix)

        def inputs() -> Arrays:
            return load_reference(model.references[axes_key(axes)]).inputs

        executed = ort_execution.read(session, open_profiled, inputs)
        idle = options["execution_mode"] == "parallel" and settings.threads == 1
        execution = Execution(
            provider=_PROVIDER,
            precision=executed.precision,
            device_name=cpu_name(),
            call_path="",
            placement=executed.placement,
            inspection_ms=executed.inspection_ms,
            warnings=executed.warnings
            + (("execution_mode=parallel does nothing with one thread",) if idle else ()),
        )
        return OrtSession(session, model, axes, execution, profile)


def _open(
    model: ExportedModel,
    axes: Mapping[str, int],
    settings: Settings,
    options: Mapping[str, OptionValue],
    profile: Path | None = None,
) -> onnxruntime.InferenceSession:
    """A session of the engine with every axis fixed; raises what `compile` may raise."""
    import onnxruntime as ort

    from runtimes.ort.faults import compile_fault

    wanted = ort.SessionOptions()
    wanted.log_severity_level = _LOG_ERRORS
    wanted.intra_op_num_threads = settings.threads
    wanted.inter_op_num_threads = 1
    if options["execution_mode"] == "parallel":
        wanted.execution_mode = ort.ExecutionMode.ORT_PARALLEL
        wanted.inter_op_num_threads = settings.threads
    level = _OPTIMISATION[str(options["graph_optimization"])]
    wanted.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    wanted.enable_mem_pattern = bool(options["memory_pattern"])
    wanted.enable_cpu_mem_arena = bool(options["memory_arena"])
    wanted.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    wanted.add_session_config_entry(
        "session.intra_op.allow_spinning", _flag(options["intra_op_spinning"])
    )
    wanted.add_session_config_entry(
        "session.set_denormal_as_zero", _flag(options["flush_denormals"])
    )
    for axis, size in axes.items():
        wanted.add_free_dimension_override_by_name(axis, size)
    if profile is not None:
        wanted.enable_profiling = True
        wanted.profile_file_prefix = str(profile)
    try:
        return ort.InferenceSession(model.path, wanted, providers=[_PROVIDER])
    except Exception as error:
        raise compile_fault(error) from error


def _flag(value: Any) -> str:
    return "1" if value else "0"


@lru_cache(maxsize=4)
def _recurrent_nodes(path: str) -> tuple[tuple[str, str], ...]:
    """(name, operator) of the file's LSTM, GRU and RNN nodes; none if it cannot be read."""
    import onnx

    try:
        graph = onnx.load(path, load_external_data=False).graph
    except Exception:  # what is wrong with the file, the engine tells when it loads it
        return ()
    return tuple((node.name, node.op_type) for node in graph.node if node.op_type in _RECURRENT)
