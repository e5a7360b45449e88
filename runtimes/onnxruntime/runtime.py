"""ONNX Runtime on its CPU provider and on any provider that comes as a library or a package: an
exported file in, a session for its shapes out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from exporters import install_layout
from exporters.diagnostics import diagnostic
from exporters.plain_arrays import has_only_arrays
from exporters.types import FILE_ENDINGS, ExportedModel, Precision
from runtimes.base import Availability, Device, Runtime, Session
from runtimes.errors import CompileFault, NotAvailable, RuntimeFault, Unsupported
from runtimes.execution import Execution, NodePlacement
from runtimes.onnxruntime.execution import Recording, mark_shape_arithmetic
from runtimes.onnxruntime.opening import (
    GRAPH_OPTIMIZATION,
    OLDEST_ON_CPU,
    PREFIX,
    WIDE_SUMS,
    WIDENING_FAULT,
    OnDevice,
    Opening,
    PassesEntries,
    availability,
    cpu_entries,
    open_at_earlier_version,
    session_options,
    usage,
)
from runtimes.onnxruntime.plugin import installed, plugin, refuse_misnamed
from runtimes.options import SESSIONS, Option, Request, Usage, Used
from runtimes.session.host import CALL, takes_c
from runtimes.session.precision import INTEGER, UNKNOWN, cpu_name, saturates_int8

if TYPE_CHECKING:
    import onnxruntime

    from runtimes.onnxruntime.execution import Executed
    from runtimes.onnxruntime.native import Build
    from runtimes.onnxruntime.plugin import Offered


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
    from runtimes.onnxruntime.native import native

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
    from runtimes.onnxruntime.errors import compile_fault
    from runtimes.onnxruntime.execution import executed
    from runtimes.onnxruntime.native import Engine, NativeLane, NativeSession, native

    request = requests[0]
    try:
        engine = Engine(native(build), request.model.path, opening)
    except RuntimeFault:
        raise
    except Exception as error:
        raise compile_fault(error) from error
    try:
        inspection = executed(engine.told(), engine.record, request)
        lanes = [
            NativeLane(engine, lane_request, opening.copies_inputs) for lane_request in requests
        ]
    except BaseException:
        engine.close()
        raise
    return NativeSession(engine, lanes, tell(inspection, lanes[0].call_path))


def in_python(opening: Opening, requests: Sequence[Request], tell: Tell) -> Session:
    """Opened by the Python interface, which can tell operator times; raises the same."""
    from runtimes.onnxruntime import execution
    from runtimes.onnxruntime.gpu_lane import lane_on
    from runtimes.onnxruntime.session import OrtLane, OrtSession, PlainLane

    request = requests[0]
    open_it = partial(_open, request.model.path, opening)
    recording = Recording() if request.settings.operator_times else None
    engine = _open_recorded(open_it, recording) if recording else open_it()
    inspection = execution.read(engine, open_it, request)
    kind = OrtLane if has_only_arrays(request.model) else PlainLane
    lanes = [
        lane_on(engine, lane_request, None) if opening.copies_inputs else kind(engine, lane_request)
        for lane_request in requests
    ]
    return OrtSession(engine, lanes, tell(inspection, lanes[0].call_path), recording)


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

    from runtimes.onnxruntime.errors import compile_fault

    options = session_options(replace(opening, recording=recording, graph=graph))
    providers = None if opening.device else [_CPU]
    try:
        # Without this ONNX Runtime tries again on the CPU after an error of a provider's.
        return ort.InferenceSession(path, options, providers=providers, enable_fallback=0)
    except Exception as error:
        raise compile_fault(error) from error


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


class _OnHost(PassesEntries):
    """A runtime whose sessions are opened for one shape or several."""

    engine = "onnxruntime"

    def load(self) -> None:
        from runtimes.onnxruntime import session  # noqa: F401 - and with them onnxruntime

    def _compile(self, request: Request) -> Session:
        return self._compile_shapes((request,))

    def _compile_shapes(self, requests: Sequence[Request]) -> Session:
        return open_at_earlier_version(self._open, requests)

    @abstractmethod
    def _open(self, requests: Sequence[Request]) -> Session:
        """The session of these requests, which differ in their shapes alone."""


class OrtCpu(_OnHost):
    """All nodes on the CPU provider, buffers bound beforehand, one set of them."""

    name = "ort-cpu"
    summary = "ONNX Runtime, CPU provider"
    distribution = "onnxruntime"
    options = OPTIONS
    precisions = ("fp32", "int8")
    only_numeric = False
    formats = FILE_ENDINGS
    unexecuted: ClassVar[Mapping[Precision, str]] = {
        **Runtime.unexecuted,
        "bf16": "the CPU provider has no products in",
    }

    def availability(self) -> Availability:
        return availability("cpu", OLDEST_ON_CPU)

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

    def usage(self, setup: Used) -> Usage:
        return usage(setup)

    def _refuse_recurrent(self, model: ExportedModel, precision: str) -> None:
        for node, op in _recurrent_nodes(model.path):
            reason = (
                f"ONNX Runtime crashes on the fp16 {op} node {node!r} when it loads it"
                if precision == "fp16"
                else f"ONNX Runtime leaves the {op} node {node!r} of an int8 graph in fp32"
            )
            raise Unsupported(reason, "use fp32", node=node)

    def _open(self, requests: Sequence[Request]) -> Session:
        opening = _opening(requests[0])
        try:
            return self._open_with(opening, requests)
        except CompileFault as fault:
            if not _is_widened(opening, requests[0]) or WIDENING_FAULT not in str(fault):
                raise
        entries = {key: value for key, value in opening.entries.items() if key != WIDE_SUMS}
        return self._open_with(replace(opening, entries=entries), requests)

    def _open_with(self, opening: Opening, requests: Sequence[Request]) -> Session:
        request = requests[0]
        tell = partial(_execution, request, opening)
        if not _without_python(request):
            return in_python(opening, requests, tell)
        from runtimes.onnxruntime.native import BUILDS

        return in_c(BUILDS[BUILDS.index(request.options["build"])], opening, requests, tell)


def _without_python(request: Request) -> bool:
    """Whether the session is opened through the C interface; Unsupported for what can't be."""
    if not has_only_arrays(request.model):
        for option, value in (("call", "c"), ("build", "library")):
            if request.options[option] == value:
                raise Unsupported(
                    f"{request.model.name} takes or returns texts, sequences or maps, and "
                    f"{option}={value} is for arrays of numbers",
                    f"leave {option}={value} out",
                )
        return False
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
            "libonnxruntime is timed by the loop in C, which was not built",
            install_layout.COMPILER_REMEDY,
        )
    return True


_WIDE_SUMS_SET = diagnostic("int8_sums_widened", entry=f"{WIDE_SUMS}=1")
_SUMS_SATURATE = diagnostic("int8_sums_saturate", entry=f"{WIDE_SUMS}=1")
_NOT_PARALLEL = diagnostic("option_without_effect", option="execution_mode=parallel")


def _is_widened(opening: Opening, request: Request) -> bool:
    """Whether it was us who asked for wide sums."""
    return WIDE_SUMS in opening.entries and WIDE_SUMS not in Opening.of(request).entries


def _execution(
    request: Request, opening: Opening, inspection: Executed, call_path: str
) -> Execution:
    idle = request.options["execution_mode"] == "parallel" and request.settings.threads == 1
    is_saturating = request.settings.precision == "int8" and saturates_int8()
    return Execution(
        provider=_PROVIDER,
        precision=inspection.precision,
        device_name=cpu_name(),
        call_path=call_path,
        placement=inspection.placement,
        inspection_ms=inspection.inspection_ms,
        warnings=(
            *inspection.warnings,
            *((_NOT_PARALLEL,) if idle else ()),
            *((_WIDE_SUMS_SET,) if _is_widened(opening, request) else ()),
            *((_SUMS_SATURATE,) if is_saturating and WIDE_SUMS not in opening.entries else ()),
        ),
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
            **cpu_entries(request.settings.precision, options),
            **common.entries,
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


_DEVICES = ("first", "cpu", "gpu", "npu", *map(str, range(16)))


class OrtEp(_OnHost):
    """`ort-ep:PACKAGE` or `ort-ep:/path/lib.so`: its provider first, the CPU for what it leaves.

    The library is loaded where a session is opened, and nowhere else.
    """

    name = "ort-ep"
    summary = "ONNX Runtime, an execution provider from a package: ort-ep:PACKAGE or a library"
    options = (
        Option(
            "device",
            "first",
            "which of the provider's devices: the first, a number, or the first of a kind",
            _DEVICES,
        ),
        GRAPH_OPTIMIZATION,
        CALL,
        SESSIONS,
    )
    any_option = True
    precisions = ("fp32", "fp16", "int8")
    only_when_named = True
    device_is_package = True

    def availability(self) -> Availability:
        return availability("cpu")

    def devices(self) -> tuple[Device, ...]:
        return installed()

    def loaded_devices(self) -> tuple[Device, ...]:
        from runtimes.onnxruntime.plugin import listed, offered

        devices = []
        for package in installed():
            try:
                description = listed(offered(plugin(package.key)))
            except NotAvailable as fault:
                description = fault.cause
            devices.append(Device(package.key, f"{package.name}: {description}"))
        return tuple(devices)

    def devices_in(self, device: str) -> tuple[str, ...]:
        """One: it is a provider's library, and a path may hold any sign."""
        return (device,)

    def device_library(self, device: str) -> str:
        self.refuse_device(device, "")
        return plugin(device).path

    def refuse_device(self, device: str, release: str) -> None:
        if release:
            raise NotAvailable(f"{self.name} has no @{release}", f"write {self.name}:{device}")
        if not device:
            packages = ", ".join(f"{self.name}:{package.key}" for package in installed())
            raise NotAvailable(
                f"{self.name} takes the execution provider of a package, and none is named",
                f"write {packages or f'{self.name}:PACKAGE'}, or {self.name}:/path/of/library.so",
            )
        refuse_misnamed(device)

    def _open(self, requests: Sequence[Request]) -> Session:
        from runtimes.onnxruntime.plugin import chosen, offered

        request = requests[0]
        devices = offered(plugin(request.settings.device))
        device = chosen(devices, str(request.options["device"]))
        opening = replace(
            Opening.of(request),
            level=str(request.options["graph_optimization"]),
            device=OnDevice(device.number, self._handed_on(request), device.own_memory),
        )
        tell = partial(_plugin_runtime_execution, device)
        if module_in_c(request):
            return in_c("module", opening, requests, tell)
        return in_python(opening, requests, tell)

    def _handed_on(self, request: Request) -> dict[str, str]:
        """What is not ours to understand; an empty value is none at all."""
        own_names = {option.name for option in self.options}
        return {
            name: str(value)
            for name, value in request.options.items()
            if name not in own_names and not name.startswith(PREFIX) and value != ""
        }


def _plugin_runtime_execution(device: Offered, inspection: Executed, call_path: str) -> Execution:
    """The precision is known where the provider computes no floats: of it ONNX Runtime knows
    only which types go in and come out."""
    placement = tuple(_provider_node(node, device) for node in inspection.placement)
    is_unknown = any(node.precision == UNKNOWN for node in placement)
    warning = diagnostic("precision_not_reported", device.provider)
    return Execution(
        provider=device.provider,
        precision=UNKNOWN if is_unknown else inspection.precision,
        device_name=device.name,
        call_path=call_path,
        placement=mark_shape_arithmetic(placement, device.provider),
        warnings=inspection.warnings + ((warning,) if is_unknown else ()),
        inspection_ms=inspection.inspection_ms,
    )


def _provider_node(node: NodePlacement, device: Offered) -> NodePlacement:
    is_hidden = node.provider == device.provider and node.precision != INTEGER
    return replace(node, precision=UNKNOWN) if is_hidden else node
