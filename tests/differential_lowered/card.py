"""Random nodes of the card's operators, and a draw on the simulated card beside ONNX Runtime's CPU.

The generators of `tests.differential` draw the nodes; what the card refuses is left to the CPU.

The CPU is given operands that are rounded to bf16 as the card rounds them. What may then differ
is the rounding of each output to bf16 and the order in which float32 values were put together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
from runtimes.fpga.numerics import emulation  # noqa: F401  (with all operators)
from runtimes.fpga.numerics.operator import LARGEST, NEWEST_OPSET, OPERATORS, finite_bf16
from runtimes.fpga.provider.abi import PROVIDER_NAME
from tests.differential import nodes
from tests.differential.draft import Draft, Undrawable
from tests.differential_lowered.graphs import LOWEST, Draw

NODES = tuple(sorted(OPERATORS))
"""What the card computes; each has a generator."""
_SUMS = re.compile(
    r".*(Conv|Pool|MatMul|Gemm|LSTM|GRU|Reduce|Norm|LRN|Softmax|Sum|Mean|Attention).*"
)
"""Operators of which sums of values at the ends of the formats depend on the order."""
_PLAIN = re.compile("Hardmax|LpPool|LSTM|GRU|.*Normalization")
"""Operators that engines extend differently to infinities and NaN: it is no question here."""
_SPECIAL = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-6)
_LARGE = (LOWEST, -LOWEST, 1e30, -1e30, 65504, 70000)
_STEPS = 8
"""How often a value is rounded: a state in drawn sequences, or in a function's nodes between
casts."""
_EMPTY = ", of an input without elements"
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
class Known:
    """A disagreement that is understood; `kinds` and `cause` are patterns of a draw's kind and of
    its whole disagreement."""

    kinds: str
    cause: str
    reason: str
    source: str


KNOWN = (
    Known(
        "card (MaxPool|GlobalMaxPool|ReduceMax|ReduceMin|ReduceLogSumExp)",
        "nan instead of .*",
        "ONNX Runtime passes over NaN in a maximum; numpy and torch do not, nor does the card",
        "onnx/reference/ops/op_reduce_max.py",
    ),
    Known(
        r"card Reduce\w+",
        rf"(\w+) \(.*\) instead of \1 \(.*\){_EMPTY}",
        "ONNX Runtime 1.31.1 keeps axes of a tensor without elements that are to be reduced",
        "ONNX operator text: the reduced dimension has size 1 or is pruned, and each reduction but "
        "ReduceMean has a value for an empty set, which test_claims.py holds the card to",
    ),
    Known(
        "card LRN",
        ".* instead of nan at .*",
        "ONNX Runtime moves its sum of squares from channel to channel, and a NaN stays in it",
        "onnxruntime/core/providers/cpu/nn/lrn.cc",
    ),
    Known(
        "card MeanVarianceNormalization",
        ".* instead of nan at .*",
        "ONNX's function takes E[x]^2 from E[x^2], which may be less by rounding; the card centres",
        "onnx/defs/nn/defs.cc, MeanVarianceNormalization",
    ),
)


def reason_for(kind: str, cause: str) -> str:
    """Why this disagreement is known; empty if it is not."""
    for rule in KNOWN:
        if re.fullmatch(rule.kinds, kind) and re.fullmatch(rule.cause, cause):
            return rule.reason
    return ""


class _CardDraft(Draft):
    """A draft as the card takes it: mostly float32, and mostly constants behind the first input.
    Some have values at the ends of the formats."""

    def dtype_of(self, names: Sequence[str], kinds: str = "fiubO") -> np.dtype:
        if "float" in names and "f" in kinds and self.chance(0.9):
            return np.dtype(np.float32)
        return super().dtype_of(names, kinds)

    def model(self) -> tuple[onnx.ModelProto, dict[str, Any]]:
        ends = _SPECIAL if _SUMS.fullmatch(self.operator) else (*_SPECIAL, *_LARGE)
        if not _PLAIN.fullmatch(self.operator) and self.chance(0.15):
            for array in self.inputs:
                if isinstance(array, np.ndarray) and array.dtype == np.float32:
                    extreme_mask = np.asarray(self.rng.random(array.shape) < 0.2)
                    array[extreme_mask] = self.rng.choice(ends, int(np.count_nonzero(extreme_mask)))
        for place, value in enumerate(self.inputs):
            if isinstance(value, np.ndarray) and self.chance(0.8 if place else 0.2):
                self._constants.add(place)
        return super().model()


def node(operator: str, rng: np.random.Generator) -> Draw | None:
    """One node in an opset that has it; None where the generator has none for these choices."""
    versions = nodes.opsets(operator, NEWEST_OPSET)
    opset = rng.choice(versions[rng.integers(len(versions))])
    try:
        proto, feeds = nodes.draw(operator, int(opset), rng, _CardDraft)
    except Undrawable:
        return None
    types = {value.type.tensor_type.elem_type for value in proto.graph.input}
    is_rounded_often = operator in ("LSTM", "GRU") or onnx.TensorProto.FLOAT16 in types
    return Draw(operator, proto, feeds, _STEPS if is_rounded_often else 1)


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
            return Outcome("disagrees", cause + _EMPTY * _is_empty(draw))
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
            tensor.CopyFrom(numpy_helper.from_array(finite_bf16(array), tensor.name))
    held_feeds = {n: finite_bf16(a) if a.dtype == np.float32 else a for n, a in feeds.items()}
    options = quiet_options()
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


def quiet_options(optimised: bool = False) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def _card_session(proto: onnx.ModelProto, optimised: bool) -> onnxruntime.InferenceSession:
    options = quiet_options(optimised)
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
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
