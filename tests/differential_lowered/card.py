"""One draw on the simulated card beside ONNX Runtime's CPU provider.

The CPU is given operands that are rounded to bf16 as the card rounds them. What may then differ
is the rounding of each output to bf16 and the order in which float32 values were put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from exporters.onnx_evaluator.evaluator import Evaluator
from runtimes.errors import Unsupported
from runtimes.fpga import provider
from runtimes.fpga.card.compiler import compile_graph
from runtimes.fpga.cards import load_card
from runtimes.fpga.graph.importer import import_model
from runtimes.fpga.numerics.operator import LARGEST, round_bf16
from runtimes.fpga.provider.abi import PROVIDER_NAME
from tests.differential_lowered.draw import Draw

EMPTY = ", of an input without elements"
Verdict = Literal["agrees", "left to the CPU", "not comparable", "ill-conditioned", "disagrees"]

_ORDER = 1e-5
"""What the order of float32 sums may change, relative to the largest value of the output."""
_FLOOR = 1e-6
"""What cancellation leaves of values near 1, where all of the output should be 0."""
_UNIT = 2.0**-8
"""Half a unit of bf16 is at most this part of a value; twice as much at a power of two."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a draw; `cause` says what is wrong, in one line."""

    verdict: Verdict
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """Outputs of a graph, and whether ONNX Runtime's CPU provider computed them."""

    outputs: list[np.ndarray]
    by_provider: bool


def compare(draw: Draw, optimised: bool) -> Outcome:
    """Run the draw on the card and on the CPU; the card's session with or without ONNX Runtime's
    own optimisations before it."""
    reference = expected_outputs(draw.proto, draw.feeds)
    if reference is None:
        return Outcome("not comparable")
    try:
        session = _card_session(draw.proto, optimised)
    except Exception as error:
        if not reference.by_provider:
            return Outcome("left to the CPU")
        return Outcome("disagrees", f"no session: {_line(error)}")
    lowered_nodes = {
        node.name
        for part in session.get_provider_graph_assignment_info()
        if part.ep_name == PROVIDER_NAME
        for node in part.get_nodes()
    }
    if not lowered_nodes:
        return Outcome("left to the CPU")
    try:
        actual_outputs = session.run(None, dict(draw.feeds))
    except Exception as error:
        return Outcome("disagrees", f"failed in a run: {_line(error)}")
    for actual, expected in zip(actual_outputs, reference.outputs, strict=True):
        cause = apart(np.asarray(actual), expected, draw.roundings)
        if cause:
            return Outcome("disagrees", cause + EMPTY * _is_empty(draw))
    cause = _timing(draw.proto)
    return Outcome("disagrees", cause) if cause else Outcome("agrees")


def _is_empty(draw: Draw) -> bool:
    weights = map(numpy_helper.to_array, draw.proto.graph.initializer)
    return any(not array.size for array in (*draw.feeds.values(), *weights))


def expected_outputs(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> Expected | None:
    """What the CPU provider gives for operands rounded to bf16, or the evaluator where the
    provider has no kernel; None where neither takes the graph."""
    rounded_model = onnx.ModelProto()
    rounded_model.CopyFrom(proto)
    for tensor in rounded_model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float32:
            tensor.CopyFrom(numpy_helper.from_array(as_held(array), tensor.name))
    held_feeds = {name: as_held(array) for name, array in feeds.items()}
    options = quiet_options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            rounded_model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        if "NOT_IMPLEMENTED" not in str(error):
            return None
        try:
            with np.errstate(all="ignore"):
                return Expected(
                    [np.asarray(a) for a in Evaluator(rounded_model).run(None, held_feeds)], False
                )
        except Exception:
            return None
    try:
        return Expected([np.asarray(array) for array in session.run(None, held_feeds)], True)
    except Exception:
        return None


def as_held(array: np.ndarray) -> np.ndarray:
    """Float32 values as the card holds them: rounded to bf16, what is finite stays finite."""
    if array.dtype != np.float32:
        return array
    return np.where(np.isfinite(array), round_bf16(array).clip(-LARGEST, LARGEST), array)


def quiet_options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def _card_session(proto: onnx.ModelProto, optimised: bool) -> onnxruntime.InferenceSession:
    options = quiet_options()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_provider_for_devices([provider.device()], {})
    return onnxruntime.InferenceSession(proto.SerializeToString(), options)


def apart(actual: np.ndarray, expected: np.ndarray, deep: int = 1) -> str:
    """Why `actual` is not `expected` after `deep` roundings to bf16; empty if it may be."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype} {actual.shape} instead of {expected.dtype} {expected.shape}"
    if expected.dtype.kind != "f":
        return "" if np.array_equal(actual, expected) else "other masks or whole numbers"
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    overflows = np.abs(b) >= float(LARGEST) * (1 - _UNIT)
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (overflows & np.isinf(a) & (a * b > 0))
    finite = np.isfinite(a) & np.isfinite(b)
    if not (same | finite).all():
        place = np.argwhere(~(same | finite))[0]
        return f"{a[tuple(place)]} instead of {b[tuple(place)]} at {place.tolist()}"
    # Where values are rounded on the way, those in between may be larger than the output.
    scale = np.abs(b[finite]).max(initial=1 if deep > 1 else 0)
    room = deep * (_UNIT * (np.abs(b) + (scale if deep > 1 else 0)) + _ORDER * scale) + _FLOOR
    with np.errstate(invalid="ignore"):
        far = finite & ~same & ~(np.abs(a - b) <= room)
    if not far.any():
        return ""
    place = np.argwhere(far)[0]
    return f"{a[tuple(place)]} instead of {b[tuple(place)]} at {place.tolist()}"


def _timing(proto: onnx.ModelProto) -> str:
    """Why the card's compiler, which reads the file itself, fails on the graph, with and without
    its first input as held state; empty if it compiles it or names what it can't run."""
    held_inputs = tuple((value.name, "held") for value in proto.graph.input[:1])
    for states in ((), held_inputs):
        try:
            compile_graph(import_model(proto, {}, states), load_card("v80"))
        except Unsupported:
            continue
        except Exception as error:
            return f"its compiler fails{' beside a state' * bool(states)}: {_line(error)}"
    return ""


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
