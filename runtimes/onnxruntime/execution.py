"""Execution of a graph by ONNX Runtime: providers and types of its nodes, and operator times from
its profiler's file.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median, median_grouped
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.structured import values_of
from runtimes.errors import tells_of_no_memory
from runtimes.execution import NodePlacement, NodeResources, OpTime
from runtimes.options import Request
from runtimes.session.precision import INTEGER, NARROWEST_FIRST, UNKNOWN, is_matrix_op, of_graph

if TYPE_CHECKING:
    import onnxruntime

    Open = Callable[[Path], onnxruntime.InferenceSession]

LAUNCHES_WAIT = {"CUDA_LAUNCH_BLOCKING": "1"}
"""What the environment must say when the CUDA driver is loaded, for launches to wait."""

_KERNEL, _RUN = "_kernel_time", "model_run"
_DEVICE = "Kernel"

Event = Mapping[str, Any]


class Recording:
    """The folder that a session which was opened with profiling writes to, until `close`."""

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="graphlap-"))
        # A compilation that fails leaves nobody to close this.
        self._remove = finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @property
    def prefix(self) -> Path:
        """What the file's name begins with."""
        return self.folder / "kernels"

    @property
    def graph(self) -> Path:
        """Where the engine may write the graph as it runs it."""
        return self.folder / "executed.onnx"

    def op_times(
        self, engine: onnxruntime.InferenceSession, run: Callable[[], object], runs: int
    ) -> tuple[OpTime, ...]:
        """The median time of each operator over `runs` calls of `run`; ends the recording."""
        for _ in range(runs):
            run()
        return op_times(Path(engine.end_profiling()), runs)

    def close(self) -> None:
        """Remove the folder; idempotent."""
        self._remove()


@dataclass(slots=True)
class _Call:
    """One call of a kernel, and what the device itself recorded of it, if it did."""

    event: Event
    on_device: list[Event] = field(default_factory=list)

    @property
    def time_us(self) -> float:
        """The host's durations are cut to whole microseconds, so half of one is missing."""
        return sum(event["dur"] for event in self.on_device) or self.event["dur"] + 0.5

    @property
    def engine_name(self) -> str:
        if self.on_device:
            return str(max(self.on_device, key=lambda event: event["dur"])["name"])
        return f"{self.event['args']['op_name']} of {self.event['args']['provider']}"


def op_times(path: Path, runs: int) -> tuple[OpTime, ...]:
    """The median time of each kernel in the last `runs` runs, in the order of execution.

    The profiler counts whole microseconds: within the one that holds the median its place is
    interpolated. The time of a node with a body, such as a loop, contains that of the nodes in it.
    """
    events = json.loads(path.read_text("utf-8"))
    begun = sorted(event["ts"] for event in events if event["name"] == _RUN)[-runs:]
    kernels: dict[tuple[str, str, str, str], _Kernel] = {}
    for call in sorted(_calls(events), key=lambda call: call.event["ts"]):
        run = bisect_right(begun, call.event["ts"])
        if run == 0:
            continue
        facts, name = call.event["args"], call.event["name"].removesuffix(_KERNEL)
        key = (name, facts["node_index"], facts["op_name"], facts["provider"])
        kernels.setdefault(key, _Kernel(call.engine_name)).add(run, call)
    return tuple(
        OpTime(
            name or f"node {index}",
            op,
            kernel.median_us,
            kernel.engine_name,
            resources=_resources(kernel.facts),
        )
        for (name, index, op, _), kernel in kernels.items()
    )


@dataclass(slots=True)
class _Kernel:
    """What one kernel took in each run, by the run's number."""

    engine_name: str
    spent_us: dict[int, float] = field(default_factory=dict)
    on_device: bool = False
    facts: list[Event] = field(default_factory=list)

    def add(self, run: int, call: _Call) -> None:
        self.spent_us[run] = self.spent_us.get(run, 0.0) + call.time_us
        self.on_device |= bool(call.on_device)
        self.facts.append(call.event["args"])

    @property
    def median_us(self) -> float:
        told = list(self.spent_us.values())
        return median(told) if self.on_device else median_grouped(told, interval=1.0)


def _resources(facts: Sequence[Event]) -> NodeResources:
    """Of the calls of one kernel; a release before 1.31 records no memory, one thread no pool."""

    def middle(name: str) -> int | None:
        values = [int(one[name]) for one in facts if name in one]
        return round(median(values)) if values else None

    def of_thread(name: str) -> float | None:
        pools = (one.get("thread_scheduling_stats") or {} for one in facts)
        threads = (pool.get("main_thread") or {} for pool in pools)
        values = [float(thread[name]) for thread in threads if name in thread]
        return median(values) if values else None

    return NodeResources(
        middle("mem_bytes_in_use"),
        middle("mem_in_use_peak"),
        middle("mem_arena_held"),
        of_thread("Run"),
        of_thread("Wait"),
    )


def _calls(events: Iterable[Event]) -> list[_Call]:
    """The calls of kernels; the file has the device's events of a call right after it."""
    calls: list[_Call] = []
    for event in events:
        if event.get("cat") == _DEVICE:
            if calls:
                calls[-1].on_device.append(event)
        elif event["name"].endswith(_KERNEL):
            calls.append(_Call(event))
    return calls


Values = dict[str, Any]
"""What an engine takes for each input."""
Record = Callable[[Path, Values], Path]
"""Runs once on some inputs with a profile whose name begins so; gives the profile's file."""

FLOAT_NAMES = {"float16": "fp16", "bfloat16": "bf16", "float": "fp32", "double": "fp64"}
_KEEPS_TYPE_DOMAINS = frozenset({"", "ai.onnx"})
_READ_NO_NUMBERS = frozenset({"Shape", "Size"})
# Operators that read one element type and write another, or hide their nodes in a body.
_CHANGES_TYPE = frozenset(
    {
        "BitCast",
        "Cast",
        "CastLike",
        "ConvInteger",
        "DequantizeLinear",
        "DynamicQuantizeLinear",
        "If",
        "Loop",
        "MatMulInteger",
        "QLinearConv",
        "QLinearMatMul",
        "QuantizeLinear",
        "Scan",
        "SequenceMap",
    }
)


@dataclass(frozen=True, slots=True)
class Executed:
    """`precision` may be `integer` or, where it could not be read, `unknown`.

    `no_room`: it could not, because memory was too small for a second session beside the first.
    """

    precision: str
    placement: tuple[NodePlacement, ...]
    warnings: tuple[Diagnostic, ...] = ()
    inspection_ms: float = 0.0
    no_room: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What a session tells of itself: (name, operator, domain, provider) of its nodes, and which
    types of floats are at the graph's ends, in the engine's words."""

    nodes: tuple[tuple[str, str, str, str], ...]
    floats: frozenset[str]


def read(session: onnxruntime.InferenceSession, open_recording: Open, request: Request) -> Executed:
    """What a session of the Python interface executes.

    `open_recording(prefix)` opens a second session like it that records its kernels in files that
    begin with `prefix`, which is run with the inputs of the reference. A graph of one type
    needs none.
    """
    return executed(_told(session), partial(_record, open_recording), request)


def opened_and_read(
    open_it: Callable[[], onnxruntime.InferenceSession], open_recording: Open, request: Request
) -> tuple[onnxruntime.InferenceSession, Executed]:
    """A session and what it executes, where memory may hold one at a time alone: a device's."""
    session = open_it()
    told, record = _told(session), partial(_record, open_recording)
    found = executed(told, record, request)
    if not found.no_room:
        return session, found
    del session
    found = executed(told, record, request)
    return open_it(), found


def _told(session: onnxruntime.InferenceSession) -> Told:
    nodes = tuple(
        (node.name, node.op_type, node.domain, part.ep_name)
        for part in session.get_provider_graph_assignment_info()
        for node in part.get_nodes()
    )
    types = {value.type for value in (*session.get_inputs(), *session.get_outputs())}
    return Told(nodes, frozenset(name for name in FLOAT_NAMES if f"tensor({name})" in types))


def _record(open_recording: Open, prefix: Path, inputs: Values) -> Path:
    recording = open_recording(prefix)
    recording.run(None, inputs)
    return Path(recording.end_profiling())


def executed(told: Told, record: Record, request: Request) -> Executed:
    """The same of any interface; `record` runs a second session once, and gives its file."""
    whole = len({provider for *_, provider in told.nodes}) <= 1
    keeps_type = all(_keeps_type(op, domain) for _, op, domain, _ in told.nodes)
    if whole and keeps_type and told.floats <= {"float"}:
        precision = "fp32" if told.floats else INTEGER
        return Executed(precision, _placed(told.nodes, precision))
    begun = time.perf_counter()
    try:
        values = values_of(request.model.inputs, request.reference().inputs)
        kernels = _recorded(record, values)
    except Exception as error:
        unreadable = diagnostic("precision_unreadable", error=type(error).__name__)
        nodes = _placed(told.nodes, UNKNOWN)
        return Executed(UNKNOWN, nodes, (unreadable,), no_room=tells_of_no_memory(error))
    placement = tuple(_placement(kernel) for kernel in kernels)
    precision, warnings = of_graph(placement)
    return Executed(precision, placement, warnings, (time.perf_counter() - begun) * 1e3)


def mark_shape_arithmetic(
    placement: tuple[NodePlacement, ...], provider: str
) -> tuple[NodePlacement, ...]:
    """The placement, integer arithmetic that was left elsewhere being listed uncounted.

    What asks a float tensor for its shape reads none of its numbers.
    """

    def counts(node: NodePlacement) -> bool:
        of_shapes = node.precision == INTEGER or node.op in _READ_NO_NUMBERS
        return node.provider == provider or not of_shapes

    return tuple(replace(node, counts=counts(node)) for node in placement)


def _placed(
    assigned: Iterable[tuple[str, str, str, str]], precision: str
) -> tuple[NodePlacement, ...]:
    return tuple(NodePlacement(name, op, ep, precision) for name, op, _, ep in assigned)


def _keeps_type(op: str, domain: str) -> bool:
    return domain in _KEEPS_TYPE_DOMAINS and op not in _CHANGES_TYPE


def _recorded(record: Record, inputs: Values) -> list[Event]:
    """One record for each kernel that one run executed, in the engine's own format."""
    with tempfile.TemporaryDirectory(prefix="graphlap-") as folder:
        path = record(Path(folder) / "kernels", inputs)
        events = json.loads(path.read_text("utf-8"))
    return [event for event in events if "input_type_shape" in event.get("args", {})]


def _placement(kernel: Event) -> NodePlacement:
    facts = kernel["args"]
    types = [
        name
        for side in ("input_type_shape", "output_type_shape")
        for tensor in facts[side]
        for name in tensor
    ]
    op = facts["op_name"]
    return NodePlacement(
        node=kernel["name"].removesuffix("_kernel_time"),
        op=op,
        provider=facts["provider"],
        precision=_of_kernel(op, types),
    )


def _of_kernel(op: str, types: Iterable[str]) -> str:
    """int8 for a matrix kernel that reads 8-bit operands, else its widest float, if any."""
    found = set(types)
    if is_matrix_op(op) and found & {"int8", "uint8"} and "NBits" not in op:
        return "int8"
    floats = [FLOAT_NAMES[name] for name in found & FLOAT_NAMES.keys()]
    return max(floats, key=NARROWEST_FIRST.index, default=INTEGER)
