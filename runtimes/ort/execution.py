"""Which node ONNX Runtime put where, and in which type it really computes.

From release 1.24 on, the engine's own node assignment comes with the session. It has no types, and
needs none when one provider took all, the floats at the graph's ends are float32 and no node can
change a type: it has float32 kernels for all it takes. Otherwise, and in earlier releases always,
one run of a throw-away session is recorded: its profile has the provider of every kernel, and the
types that it read and wrote.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.base import Arrays
from runtimes.execution import NodePlacement
from runtimes.memory_words import tells_of_no_memory
from runtimes.ort.operators import Event
from runtimes.request import Request
from runtimes.session.precision import INTEGER, NARROWEST_FIRST, UNKNOWN, is_matrix_op, of_graph

if TYPE_CHECKING:
    import onnxruntime

    Open = Callable[[Path], onnxruntime.InferenceSession]

AssignedNode = tuple[str, str, str, str]
"""Name, operator, domain and provider."""

Record = Callable[[Path, Arrays], Path]
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
    nodes = None
    if hasattr(session, "get_provider_graph_assignment_info"):
        nodes = tuple(
            (node.name, node.op_type, node.domain, part.ep_name)
            for part in session.get_provider_graph_assignment_info()
            for node in part.get_nodes()
        )
    types = {value.type for value in (*session.get_inputs(), *session.get_outputs())}
    return Told(nodes, frozenset(name for name in FLOAT_NAMES if f"tensor({name})" in types))


def _record(open_recording: Open, prefix: Path, inputs: Arrays) -> Path:
    recording = open_recording(prefix)
    recording.run(None, dict(inputs))
    return Path(recording.end_profiling())


def executed(told: Told, record: Record, request: Request) -> Executed:
    """The same of any interface; `record` runs a second session once, and gives its file."""
    if told.nodes is not None and told.floats <= {"float"} and _is_of_one_type(told.nodes):
        precision = "fp32" if told.floats else INTEGER
        return Executed(precision, _placed(told.nodes, precision))
    begun = time.perf_counter()
    try:
        kernels = _recorded(record, request.reference().inputs)
    except Exception as error:
        unreadable = diagnostic("precision_unreadable", error=type(error).__name__)
        nodes = _placed(told.nodes or (), UNKNOWN)
        return Executed(UNKNOWN, nodes, (unreadable,), no_room=tells_of_no_memory(error))
    placement = tuple(_placement(kernel, place) for place, kernel in enumerate(kernels))
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


def _placed(assigned: Iterable[AssignedNode], precision: str) -> tuple[NodePlacement, ...]:
    return tuple(NodePlacement(name, op, ep, precision) for name, op, _, ep in assigned)


def _is_of_one_type(nodes: Sequence[AssignedNode]) -> bool:
    """Whether one provider has all nodes, and none of them can change a type."""
    whole = len({provider for *_, provider in nodes}) <= 1
    return whole and all(_keeps_type(op, domain) for _, op, domain, _ in nodes)


def _keeps_type(op: str, domain: str) -> bool:
    return domain in _KEEPS_TYPE_DOMAINS and op not in _CHANGES_TYPE


def _recorded(record: Record, inputs: Arrays) -> list[Event]:
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
        precision=_of_kernel(op, types),
        position=position,
    )


def _of_kernel(op: str, types: Iterable[str]) -> str:
    """int8 for a matrix kernel that reads 8-bit operands, else its widest float, if any."""
    found = set(types)
    if is_matrix_op(op) and found & {"int8", "uint8"} and "NBits" not in op:
        return "int8"
    floats = [FLOAT_NAMES[name] for name in found & FLOAT_NAMES.keys()]
    return max(floats, key=NARROWEST_FIRST.index, default=INTEGER)
