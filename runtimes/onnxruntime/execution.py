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

from exporters.diagnostics import Diagnostic, diagnostic
from exporters.engine_values import has_narrow, input_values
from exporters.plain_arrays import values_of
from runtimes.errors import tells_of_no_memory
from runtimes.execution import NodePlacement, OpTime
from runtimes.options import Request
from runtimes.session.precision import INTEGER, NARROWEST_FIRST, UNKNOWN, is_matrix_op, of_graph

if TYPE_CHECKING:
    import onnxruntime

    Open = Callable[[Path], onnxruntime.InferenceSession]

LAUNCHES_WAIT = {"CUDA_LAUNCH_BLOCKING": "1"}
"""What the environment must say when the CUDA driver is loaded, for launches to wait."""

_KERNEL, _RUN = "_kernel_time", "model_run"
_DEVICE = "Kernel"
_MEMORY = ("mem_bytes_in_use", "mem_in_use_peak", "mem_arena_held")

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

    def of_pool(self, word: str) -> float | None:
        """Microseconds that the calling thread spent so, `Run` or `Wait`, of a kernel that was
        given to a pool of threads; a session of one thread has none."""
        statistics = self.event["args"].get("thread_scheduling_stats")
        if not isinstance(statistics, dict):
            return None
        value = statistics.get("main_thread", {}).get(word)
        return None if value is None else float(value)


def op_times(path: Path, runs: int) -> tuple[OpTime, ...]:
    """The median time of each kernel in the last `runs` runs, in the order of execution, and the
    memory in all runs: of the first one too, before activations are laid out in one block.

    The profiler counts whole microseconds: within the one that holds the median its place is
    interpolated. The time of a node with a body, such as a loop, contains that of the nodes in it.
    """
    events = json.loads(path.read_text("utf-8"))
    begin_times = sorted(event["ts"] for event in events if event["name"] == _RUN)[-runs:]
    kernels: dict[tuple[str, str, str, str], _Kernel] = {}
    peaks_before: dict[str, int] = {}
    for call in sorted(_calls(events), key=lambda call: call.event["ts"]):
        facts, name = call.event["args"], call.event["name"].removesuffix(_KERNEL)
        provider = facts["provider"]
        key = (name, facts["node_index"], facts["op_name"], provider)
        kernel = kernels.setdefault(key, _Kernel())
        memory = _Memory.of(facts)
        if memory is not None:
            kernel.use(memory, peaks_before.get(provider))
            peaks_before[provider] = memory.peak_bytes
        if run := bisect_right(begin_times, call.event["ts"]):
            kernel.add(run, call)
    return tuple(
        kernel.op_time(name or f"node {index}", op)
        for (name, index, op, _), kernel in kernels.items()
        if kernel.spent_us
    )


@dataclass(frozen=True, slots=True)
class _Memory:
    """What the allocator of a provider says at the end of a kernel; `peak_bytes` is its most since
    the session was opened. Earlier releases and sessions without an arena say nothing."""

    in_use_bytes: int
    peak_bytes: int
    arena_bytes: int

    @staticmethod
    def of(facts: Mapping[str, Any]) -> _Memory | None:
        values = [facts.get(name) for name in _MEMORY]
        byte_counts = [int(value) for value in values if value is not None]
        return _Memory(*byte_counts) if len(byte_counts) == len(_MEMORY) else None


@dataclass(slots=True)
class _Kernel:
    """What one kernel took in each run, by the run's number, and of memory the most in any."""

    engine_name: str = ""
    spent_us: dict[int, float] = field(default_factory=dict)
    pool_run_us: dict[int, float] = field(default_factory=dict)
    pool_wait_us: dict[int, float] = field(default_factory=dict)
    on_device: bool = False
    memory: _Memory | None = None

    def add(self, run: int, call: _Call) -> None:
        self.engine_name = self.engine_name or call.engine_name
        self.spent_us[run] = self.spent_us.get(run, 0.0) + call.time_us
        self.on_device |= bool(call.on_device)
        for times_us, word in ((self.pool_run_us, "Run"), (self.pool_wait_us, "Wait")):
            time_us = call.of_pool(word)
            if time_us is not None:
                times_us[run] = times_us.get(run, 0.0) + time_us

    def use(self, memory: _Memory, peak_before: int | None) -> None:
        """The allocator's peak is this kernel's if it rose while the kernel ran."""
        rose = peak_before is not None and memory.peak_bytes > peak_before
        peak = memory.peak_bytes if rose else memory.in_use_bytes
        memory_before = self.memory or _Memory(0, 0, 0)
        self.memory = _Memory(
            max(memory_before.in_use_bytes, memory.in_use_bytes),
            max(memory_before.peak_bytes, peak),
            max(memory_before.arena_bytes, memory.arena_bytes),
        )

    def op_time(self, node: str, op: str) -> OpTime:
        memory = self.memory
        return OpTime(
            node,
            op,
            self._median_us,
            self.engine_name,
            in_use_bytes=memory.in_use_bytes if memory else None,
            peak_bytes=memory.peak_bytes if memory else None,
            arena_bytes=memory.arena_bytes if memory else None,
            pool_run_us=median(self.pool_run_us.values()) if self.pool_run_us else None,
            pool_wait_us=median(self.pool_wait_us.values()) if self.pool_wait_us else None,
        )

    @property
    def _median_us(self) -> float:
        times_us = list(self.spent_us.values())
        return median(times_us) if self.on_device else median_grouped(times_us, interval=1.0)


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


AssignedNode = tuple[str, str, str, str]
"""Name, operator, domain and provider."""
Values = dict[str, Any]
"""What an engine takes for each input."""
Record = Callable[[Path, Values], Path]
"""Runs once on some inputs with a profile whose name begins so; gives the profile's file."""

FLOAT_NAMES = {"float16": "fp16", "bfloat16": "bf16", "float": "fp32", "double": "fp64"}
_KEEPS_TYPE_DOMAINS = frozenset({"", "ai.onnx"})
_READ_NO_NUMBERS = frozenset({"Shape", "Size"})
# Operators that read one element type and write another, or hide their nodes in a body.
_CHANGES_TYPE = frozenset(
    (
        *("BitCast", "Cast", "CastLike", "ConvInteger", "DequantizeLinear"),
        *("DynamicQuantizeLinear", "If", "Loop", "MatMulInteger", "QLinearConv"),
        *("QLinearMatMul", "QuantizeLinear", "Scan", "SequenceMap"),
    )
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
    """What a session tells of itself: its nodes, None from a release that does not report them,
    and which types of floats are at the graph's ends, in the engine's words."""

    nodes: tuple[AssignedNode, ...] | None
    floats: frozenset[str]


def read(session: onnxruntime.InferenceSession, open_recording: Open, request: Request) -> Executed:
    """What a session of the Python interface executes.

    `open_recording(prefix)` opens a second session like it that records its kernels in files that
    begin with `prefix`, which is run with the inputs of the reference. A graph of one type
    needs none.
    """
    return executed(_read_report(session), partial(_record, open_recording), request)


def opened_and_read(
    open_it: Callable[[], onnxruntime.InferenceSession], open_recording: Open, request: Request
) -> tuple[onnxruntime.InferenceSession, Executed]:
    """A session and what it executes, where memory may hold one at a time alone: a device's."""
    session = open_it()
    report, record = _read_report(session), partial(_record, open_recording)
    precision_facts = executed(report, record, request)
    if not precision_facts.no_room:
        return session, precision_facts
    del session
    precision_facts = executed(report, record, request)
    return open_it(), precision_facts


def _read_report(session: onnxruntime.InferenceSession) -> Told:
    nodes = None
    if hasattr(session, "get_provider_graph_assignment_info"):
        nodes = tuple(
            (node.name, node.op_type, node.domain, part.ep_name)
            for part in session.get_provider_graph_assignment_info()
            for node in part.get_nodes()
        )
    types = {value.type for value in (*session.get_inputs(), *session.get_outputs())}
    return Told(nodes, frozenset(name for name in FLOAT_NAMES if f"tensor({name})" in types))


def _record(open_recording: Open, prefix: Path, inputs: Values) -> Path:
    recording = open_recording(prefix)
    if inputs and all(hasattr(value, "data_ptr") for value in inputs.values()):
        recording.run_with_ort_values([end.name for end in recording.get_outputs()], inputs)
    else:
        recording.run(None, inputs)
    return Path(recording.end_profiling())


def executed(report: Told, record: Record, request: Request) -> Executed:
    """The same of any interface; `record` runs a second session once, and gives its file."""
    if report.nodes is not None and report.floats <= {"float"} and _is_of_one_type(report.nodes):
        precision = "fp32" if report.floats else INTEGER
        return Executed(precision, _node_placements(report.nodes, precision))
    start_time = time.perf_counter()
    try:
        model, arrays = request.model, request.reference().inputs
        values: Values
        if has_narrow((*model.inputs, *model.outputs)):
            values = dict(input_values(model.inputs, arrays))
        else:
            values = values_of(model.inputs, arrays)
        kernels = _record_events(record, values)
    except Exception as error:
        unreadable = diagnostic("precision_unreadable", error=type(error).__name__)
        nodes = _node_placements(report.nodes or (), UNKNOWN)
        return Executed(UNKNOWN, nodes, (unreadable,), no_room=tells_of_no_memory(error))
    placement = tuple(_placement(kernel, place) for place, kernel in enumerate(kernels))
    precision, warnings = of_graph(placement)
    return Executed(precision, placement, warnings, (time.perf_counter() - start_time) * 1e3)


def mark_shape_arithmetic(
    placement: tuple[NodePlacement, ...], provider: str
) -> tuple[NodePlacement, ...]:
    """The placement, integer arithmetic that was left elsewhere being listed uncounted.

    What asks a float tensor for its shape reads none of its numbers.
    """

    def counts(node: NodePlacement) -> bool:
        has_no_floats = node.precision == INTEGER or node.op in _READ_NO_NUMBERS
        return node.provider == provider or not has_no_floats

    return tuple(replace(node, counts=counts(node)) for node in placement)


def _node_placements(assigned: Iterable[AssignedNode], precision: str) -> tuple[NodePlacement, ...]:
    return tuple(NodePlacement(name, op, ep, precision) for name, op, _, ep in assigned)


def _is_of_one_type(nodes: Sequence[AssignedNode]) -> bool:
    """Whether one provider has all nodes, and none of them can change a type."""
    whole = len({provider for *_, provider in nodes}) <= 1
    return whole and all(_keeps_type(op, domain) for _, op, domain, _ in nodes)


def _keeps_type(op: str, domain: str) -> bool:
    return domain in _KEEPS_TYPE_DOMAINS and op not in _CHANGES_TYPE


def _record_events(record: Record, inputs: Values) -> list[Event]:
    """One record for each kernel that one run executed, in their order and the engine's format."""
    with tempfile.TemporaryDirectory(prefix="graphlap-") as folder:
        path = record(Path(folder) / "kernels", inputs)
        events = json.loads(path.read_text("utf-8"))
    return [event for event in events if "input_type_shape" in event.get("args", {})]


def _placement(kernel: Event, position: int) -> NodePlacement:
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
        precision=_kernel_precision(op, types),
        position=position,
    )


def _kernel_precision(op: str, types: Iterable[str]) -> str:
    """int8 for a matrix kernel that reads 8-bit operands, else its widest float, if any."""
    found = set(types)
    if is_matrix_op(op) and found & {"int8", "uint8"} and "NBits" not in op:
        return "int8"
    floats = [FLOAT_NAMES[name] for name in found & FLOAT_NAMES.keys()]
    return max(floats, key=NARROWEST_FIRST.index, default=INTEGER)
