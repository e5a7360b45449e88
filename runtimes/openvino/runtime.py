"""OpenVINO on the CPU and on any of its devices (AUTO, MULTI, HETERO): an exported file in,
requests for its shapes out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import Precision, TensorSpec
from runtimes.base import Availability, Available, Device, Runtime, Session, Unavailable
from runtimes.errors import NotAvailable, Unsupported
from runtimes.execution import Execution, NodePlacement
from runtimes.options import SESSIONS, Option, OptionValue, Request, Usage, Used, triton_config
from runtimes.session.host import CALL
from runtimes.session.precision import INTEGER, UNKNOWN, is_matrix_op, of_graph

if TYPE_CHECKING:
    from runtimes.openvino.library import Kernel, Library
    from runtimes.openvino.session import OpenVinoSession


_TRITON = ("NUM_STREAMS", "INFERENCE_NUM_THREADS")
"""The properties that Triton's backend has parameters of the same name for. Of precisions it knows
bfloat16 alone; elsewhere the engine takes what is fast on the machine.
https://github.com/triton-inference-server/openvino_backend#parameters (2026-08-21)"""


def usage(setup: Used, properties: Mapping[str, str]) -> Usage:
    """`properties` are what the engine itself is told."""
    options = setup.settings.options
    count = int(options[SESSIONS.name])
    compile_call = "core.compile_model(model, 'CPU', properties)"
    shapes = {
        spec.name: [setup.model.axes.get(d, -1) if isinstance(d, str) else d for d in spec.shape]
        for spec in setup.model.inputs
    }
    lines = [
        "import openvino as ov",
        "",
        "core = ov.Core()",
        f"model = core.read_model({setup.model.path!r})",
        f"model.reshape({shapes!r})",
        f"properties = {dict(properties)!r}",
    ]
    if count > 1:
        lines += [f"# {count} at once, each in a thread of its own"]
        lines.append(f"compiled = [{compile_call} for _ in range({count})]")
    else:
        lines.append(f"compiled = {compile_call}")
        streams = int(options["streams"])
        lines.append(f"requests = [compiled.create_infer_request() for _ in range({streams})]")
    parameters = {name: value for name, value in properties.items() if name in _TRITON}
    untold = {name: value for name, value in properties.items() if name not in _TRITON}
    if untold["INFERENCE_PRECISION_HINT"] == "bf16":
        parameters["HINT_BF16"] = "YES"
        del untold["INFERENCE_PRECISION_HINT"]
    if setup.model.axes:
        parameters["RESHAPE_IO_LAYERS"] = "YES"
    config = triton_config(setup, "openvino", parameters, untold, count)
    return Usage("\n".join(lines) + "\n", config)


_FLOATS = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16"}

STREAMS = Option(
    "streams",
    1,
    "how many requests of one session run at once, each on its part of the threads",
    minimum=1,
    maximum=64,
)
EXECUTION_MODE = Option(
    "execution_mode",
    "performance",
    "whether speed or accuracy decides what is not stated otherwise",
    ("performance", "accuracy"),
)

OPTIONS = (
    Option(
        "inference_precision",
        "graph",
        "the float type that kernels use: the graph's, or one of these",
        ("graph", "f32", "bf16"),
    ),
    STREAMS,
    EXECUTION_MODE,
    Option("cpu_pinning", True, "the engine's threads stay on their cores"),
    Option("flush_denormals", False, "denormal floats count as zero"),
    CALL,
    SESSIONS,
)


class OpenVinoCpu(Runtime):
    """The CPU plugin, buffers bound beforehand, a request for each stream."""

    name = "openvino-cpu"
    summary = "OpenVINO on the CPU"
    engine = "openvino"
    distribution = "openvino"
    options: ClassVar[tuple[Option, ...]] = OPTIONS
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "bf16", "int8")

    def availability(self) -> Availability:
        try:
            return Available(metadata.version("openvino"))
        except metadata.PackageNotFoundError:
            return Unavailable("OpenVINO is not installed", "pip install 'graphlap[openvino]'")

    def load(self) -> None:
        from runtimes.openvino.library import library

        library().device_name("CPU")  # asked so that the engine loads its CPU plugin

    def engine_file(self) -> Path | None:
        from runtimes.openvino.library import library

        return library().path

    def usage(self, setup: Used) -> Usage:

        settings = setup.settings
        type_name = float_type(str(settings.options["inference_precision"]), settings.precision)
        return usage(setup, _properties(settings.options, type_name, settings.threads))

    def _compile(self, request: Request) -> Session:
        return self._compile_shapes((request,))

    def _compile_shapes(self, requests: Sequence[Request]) -> Session:
        from runtimes.openvino.library import OpenVinoError, library
        from runtimes.openvino.session import OpenVinoSession, compile_fault, on_the_same_cores

        request = requests[0]
        engine = library()
        device, properties = self._device_properties(engine, request)
        try:
            with ExitStack() as resources:
                graph = engine.read(resources, request.model.path, request.open_shapes())
                # Two compilations: one to see which kernels run, given back at once so that
                # the memory peak stays one model's, and one to time. What counts as the
                # time of compiling is the first, cold one.
                observed = {**properties, "PERF_COUNT": "YES"}
                with OpenVinoSession(graph, (request,), device, observed) as trial:
                    compile_end = time.perf_counter()
                    _refuse_fewer_streams(len(trial.lanes), int(request.options["streams"]))
                    placement, unread = _node_placement(trial, request)
                tells = request.settings.operator_times
                session_properties = observed if tells else properties
                session = OpenVinoSession(graph, requests, device, session_properties)
        except OpenVinoError as error:
            raise compile_fault(error) from error
        core_warnings = on_the_same_cores(session.pinned_threads, request.options)
        precision, type_warnings = (
            (UNKNOWN, ()) if unread else _stated_precision(placement, request.model.outputs)
        )
        session.execution = Execution(
            provider=_provider(session),
            precision=precision,
            device_name=" + ".join(map(engine.device_name, session.executed_on)),
            call_path=session.call_path,
            placement=placement,
            warnings=type_warnings + unread + core_warnings,
            inspection_ms=(time.perf_counter() - compile_end) * 1e3,
        )
        return session

    def _device_properties(self, engine: Library, request: Request) -> tuple[str, dict[str, str]]:
        """The device in OpenVINO's words, and what it is told; raises what `compile` may raise."""
        options, threads = request.options, request.settings.threads
        wanted = float_type(str(options["inference_precision"]), request.settings.precision)
        refuse_type("CPU", wanted, engine.computes_in("CPU"))
        return "CPU", _properties(options, wanted, threads)


def _properties(options: Mapping[str, OptionValue], type_name: str, threads: int) -> dict[str, str]:
    """What the CPU plugin is told, in OpenVINO's words; `type_name` is the type of floats."""
    properties = {
        "INFERENCE_PRECISION_HINT": type_name,
        "NUM_STREAMS": str(options["streams"]),
        "EXECUTION_MODE_HINT": str(options["execution_mode"]).upper(),
        "ENABLE_CPU_PINNING": "YES" if options["cpu_pinning"] else "NO",
        "CPU_DENORMALS_OPTIMIZATION": "YES" if options["flush_denormals"] else "NO",
    }
    if threads:
        properties["INFERENCE_NUM_THREADS"] = str(threads)
    return properties


def float_type(requested_type: str, precision: Precision) -> str:
    """What kernels are to compute floats in, in OpenVINO's words."""
    if requested_type != "graph":
        return requested_type
    return {"fp16": "f16", "bf16": "bf16"}.get(precision, "f32")


def refuse_type(device: str, type_name: str, computes_in: tuple[str, ...]) -> None:
    """Unsupported for float32 on a device that does not compute in it, as an NPU, and for bfloat16.

    float16 that it lacks it replaces by a wider type, which the row tells.
    """
    required_capability = {"f32": "FP32", "bf16": "BF16"}.get(type_name)
    if required_capability is not None and required_capability not in computes_in:
        capability_list = ", ".join(computes_in)
        another = "f16 or device" if type_name == "f32" else "f32, and --precision fp32"
        raise Unsupported(
            f"OpenVINO's {device} does not compute in {type_name} here, it can {capability_list}",
            f"set inference_precision={another}",
        )


def _provider(session: OpenVinoSession) -> str:
    return "+".join(session.executed_on)


def _refuse_fewer_streams(count: int, streams: int) -> None:
    """Unsupported where the engine gives fewer streams than asked for, which it does silently."""
    if count < streams:
        raise Unsupported(
            f"OpenVINO makes {count} stream{'s' * (count > 1)} of its threads and not {streams}",
            "give at least one thread for each stream",
        )


def _node_placement(
    trial: OpenVinoSession, request: Request
) -> tuple[tuple[NodePlacement, ...], tuple[Diagnostic, ...]]:
    """The kernels of one run on the reference's inputs, or a warning why there are none."""
    lane = trial.lanes[0]
    try:
        lane.bind(request.reference().inputs)
        lane.run()
    except Exception as error:
        return (), (diagnostic("precision_unreadable", error=type(error).__name__),)
    return tuple(_placements(lane.kernels(), _provider(trial))), ()


def _stated_precision(
    placement: Iterable[NodePlacement], outputs: Iterable[TensorSpec]
) -> tuple[str, tuple[Diagnostic, ...]]:
    """What the kernels say; unknown where floats come out of a graph that shows none.

    The engine tells nothing of what runs inside a Loop, and constants are folded before it runs.
    """
    precision, warnings = of_graph(placement)
    if precision == INTEGER and any(spec.dtype.startswith("float") for spec in outputs):
        return UNKNOWN, (diagnostic("precision_not_reported", "OpenVINO"),)
    return precision, warnings


def _placements(kernels: Iterable[Kernel], provider: str) -> Iterable[NodePlacement]:
    """Kernels end with the type that they compute in, as in `brgemm_avx512_f32`."""
    for kernel in kernels:
        kind = kernel.executed_as.rpartition("_")[2].lower()
        eight_bits = kind in ("i8", "u8") and is_matrix_op(kernel.op)
        precision = "int8" if eight_bits else _FLOATS.get(kind, INTEGER)
        yield NodePlacement(kernel.node, kernel.op, provider, precision)


_DEVICE = re.compile(r"[A-Z]+(\.\d+)?")
_NEEDS_NAMES = frozenset({"HETERO", "MULTI"})
_CHOOSES = _NEEDS_NAMES | {"AUTO"}
_CHOSEN_FROM_THE_START = {"ENABLE_STARTUP_FALLBACK": "NO"}
"""AUTO would begin on the CPU while it still compiles for the device that it has chosen."""


class OpenVino(OpenVinoCpu):
    """`openvino:DEVICE`, as `CPU`, `GPU.1`, `AUTO`, `AUTO:GPU+CPU` or `GPU.0+GPU.1`."""

    name = "openvino"
    summary = "OpenVINO on its own devices: CPU, GPU, NPU, AUTO"
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "inference_precision",
            "graph",
            "the float type that kernels use: the graph's, one of these, or the device's own",
            ("graph", "f32", "f16", "bf16", "device"),
        ),
        STREAMS,
        EXECUTION_MODE,
        CALL,
        SESSIONS,
    )
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16", "bf16", "int8")
    only_when_named = True
    default_device = "AUTO"

    def loaded_devices(self) -> tuple[Device, ...]:
        from runtimes.openvino.library import library

        engine = library()
        devices = (Device(key, engine.device_name(key)) for key in engine.devices())
        return (*devices, Device("AUTO", "what OpenVINO chooses of them"))

    def devices_in(self, device: str) -> tuple[str, ...]:
        """`GPU.0+GPU.1` are two with sessions of their own; behind a colon, as in `MULTI:GPU+CPU`,
        are those that OpenVINO itself divides one session's work among."""
        return (device,) if ":" in device else super().devices_in(device)

    def refuse_device(self, device: str, release: str) -> None:
        if release:
            raise NotAvailable(f"{self.name} has no @{release}", f"write {self.name}:{device}")
        if not device:
            return
        kind, names = _parts(device)
        if kind in _NEEDS_NAMES and not names:
            raise NotAvailable(
                f"{kind} needs the devices that it divides the work among",
                f"write {self.name}:{kind}:GPU+CPU",
            )
        if (names and kind not in _CHOOSES) or not all(map(_DEVICE.fullmatch, (kind, *names))):
            raise NotAvailable(
                f"OpenVINO calls no device {device!r}",
                f"write {self.name}:CPU, GPU, GPU.1, NPU, AUTO, AUTO:GPU+CPU or HETERO:GPU+CPU",
            )

    def _device_properties(self, engine: Library, request: Request) -> tuple[str, dict[str, str]]:
        options, settings = request.options, request.settings
        kind, names = _parts(settings.device)
        here = engine.devices()
        used = names or (here if kind == "AUTO" else (kind,))
        for name in used:
            _refuse_absent(name, here)
        properties = {
            "NUM_STREAMS": str(options["streams"]),
            "EXECUTION_MODE_HINT": str(options["execution_mode"]).upper(),
            **(_CHOSEN_FROM_THE_START if kind == "AUTO" else {}),
        }
        asked = str(options["inference_precision"])
        if asked != "device":
            wanted = float_type(asked, settings.precision)
            for name in used:
                refuse_type(name, wanted, engine.computes_in(name))
            properties["INFERENCE_PRECISION_HINT"] = wanted
        if settings.threads and "CPU" in used:
            properties["INFERENCE_NUM_THREADS"] = str(settings.threads)
        return f"{kind}:{','.join(names)}" if names else kind, properties


def _parts(device: str) -> tuple[str, tuple[str, ...]]:
    """`HETERO:GPU+CPU` as HETERO and its devices; a comma would begin another runtime."""
    kind, colon, names = device.partition(":")
    return kind, tuple(names.split("+")) if colon else ()


def _refuse_absent(name: str, device_names: tuple[str, ...]) -> None:
    """OpenVINO lists a device that is alone of its kind without a number, and takes both."""
    accepted_names = {
        *device_names,
        *(f"{device_name}.0" for device_name in device_names),
        *(device_name.partition(".")[0] for device_name in device_names),
    }
    if name not in accepted_names:
        raise NotAvailable(
            f"OpenVINO finds no {name} on this machine",
            f"its devices here are {', '.join(device_names)}",
        )
