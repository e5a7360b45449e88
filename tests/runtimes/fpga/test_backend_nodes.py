"""ONNX's own node tests through the provider: every float32 case of an operator it claims.

Parameters and shapes become constants, as they are in an exported model, since the card
holds them; what a case calls its data still arrives at run time. The packaged outputs are
compared at bf16's tolerance.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from runtimes.fpga.numerics import emulation  # noqa: F401  (fills OPERATORS)
from runtimes.fpga.numerics.operator import NEWEST_OPSET, OPERATORS, round_bf16
from tests.runtimes.fpga.ort_sessions import card_session, cpu_session, disagreement, taken

_MASK = "it asks for the mask of what was kept, and nothing is dropped"
_TRAINING = "it trains"
NOT_CLAIMED = {
    "test_batchnorm_epsilon_training_mode": _TRAINING,
    "test_batchnorm_example_training_mode": _TRAINING,
    "test_dropout_default_mask": _MASK,
    "test_dropout_default_mask_ratio": _MASK,
    "test_training_dropout": _TRAINING,
    "test_training_dropout_default": _TRAINING,
    "test_training_dropout_default_mask": _TRAINING,
    "test_training_dropout_mask": _TRAINING,
    "test_training_dropout_zero_ratio": _TRAINING,
    "test_training_dropout_zero_ratio_mask": _TRAINING,
    "test_maxpool_with_argmax_2d_precomputed_pads": "it asks for indices, which are integers",
    "test_maxpool_with_argmax_2d_precomputed_strides": "it asks for indices, which are integers",
}
"""Float32 cases of claimed operators that the card leaves to others, and why."""

_NEIGHBOURS = "10000 to 10003 are one number in bf16"
TOO_COARSE = {
    "test_softmax_large_number": _NEIGHBOURS,
    "test_softmax_large_number_expanded": _NEIGHBOURS,
    "test_softmax_large_number_expanded_ver18": _NEIGHBOURS,
    "test_logsoftmax_large_number": _NEIGHBOURS,
    "test_logsoftmax_large_number_expanded": _NEIGHBOURS,
    "test_logsoftmax_large_number_expanded_ver18": _NEIGHBOURS,
    "test_matmul_1d_3d": "the products cancel, and what is left is 3 % of rounded operands",
    "test_tan": "an operand lies beside a pole",
}
"""Cases whose inputs, rounded to bf16, no longer are the inputs of the packaged outputs."""

REFUSED_BY_ONNXRUNTIME = (
    "Could not find an implementation",
    "Input to 'Range' op should be scalars",
    "Batchwise recurrent operations",
)

_HELD_ON_THE_CARD = {
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "LSTM": (1, 2, 3, 7),
    "GRU": (1, 2, 3),
}
"""Parameters by input position, of the operators that keep them on the card."""


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    model: onnx.ModelProto
    feeds: Mapping[str, np.ndarray]
    outputs: tuple[np.ndarray, ...]

    @property
    def ops(self) -> list[str]:
        return [node.op_type for node in self.model.graph.node]

    @property
    def is_float32(self) -> bool:
        """Whether all that is computed with is float32, from the data to the result."""

        def kinds(arrays: Iterable[np.ndarray]) -> set[str]:
            return {a.dtype.name for a in arrays if a.dtype.kind == "f"}

        return kinds(self.feeds.values()) == kinds(self.outputs) == {"float32"}


@pytest.fixture(scope="module")
def cases() -> Mapping[str, list[Case]]:
    """Every usable case by operator; those of several nodes under ""."""
    with warnings.catch_warnings():
        # Making the cases overflows and divides by zero on purpose.
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        node_tests = load_model_tests(kind="node")
    cases_by_operator: dict[str, list[Case]] = defaultdict(list)
    for each in node_tests:
        assert each.model is not None and each.data_sets
        model = onnx.ModelProto()
        model.CopyFrom(each.model)
        opsets = {opset.domain: opset.version for opset in each.model.opset_import}
        values = (*each.model.graph.input, *each.model.graph.output)
        if opsets.get("", 0) > NEWEST_OPSET:
            continue
        if not all(value.type.HasField("tensor_type") for value in values):
            continue
        inputs, outputs = each.data_sets[0]
        if any(np.asarray(a).dtype == object for a in (*inputs, *outputs)):
            continue  # texts, and element types that numpy lacks
        case = _case(each.name, model, inputs, outputs)
        cases_by_operator[case.ops[0] if len(case.ops) == 1 else ""].append(case)
    return cases_by_operator


def _case(
    name: str,
    model: onnx.ModelProto,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
) -> Case:
    model.ir_version = min(model.ir_version, 13)
    arrays = {i.name: np.asarray(a) for i, a in zip(model.graph.input, inputs, strict=False)}
    weights = {
        node.input[position]
        for node in model.graph.node
        for position in _HELD_ON_THE_CARD.get(node.op_type, ())
        if position < len(node.input)
    }
    gathers = {n.input[1] for n in model.graph.node if n.op_type.startswith("Gather")}
    feeds = {
        tensor_name: array
        for tensor_name, array in arrays.items()
        if tensor_name not in weights and (array.dtype.kind == "f" or tensor_name in gathers)
    }
    fed_inputs = [value for value in model.graph.input if value.name in feeds]
    del model.graph.input[:]
    model.graph.input.extend(fed_inputs)
    model.graph.initializer.extend(
        numpy_helper.from_array(array, tensor_name)
        for tensor_name, array in arrays.items()
        if tensor_name not in feeds
    )
    return Case(name, model, feeds, tuple(map(np.asarray, outputs)))


def _fault(case: Case, session: onnxruntime.InferenceSession) -> str:
    """What is wrong with the outputs of a case; empty if nothing is."""
    outputs = session.run(None, dict(case.feeds))
    expected: list[np.ndarray] = list(case.outputs)
    if case.name in TOO_COARSE:
        evaluator = ReferenceEvaluator(case.model)
        rounded_feeds = {name: round_bf16(array) for name, array in case.feeds.items()}
        if not any(map(disagreement, outputs, expected)):
            return f"{case.name}: needs no exception any more"
        expected = [np.asarray(array) for array in evaluator.run(None, rounded_feeds)]
    for actual, expected_output in zip(outputs, expected, strict=True):
        if actual.dtype == np.float32 and (why := disagreement(actual, expected_output)):
            return f"{case.name}: {why}"
    return ""


@pytest.mark.parametrize("op", sorted(OPERATORS))
def test_every_float32_case_of_a_claimed_operator_passes(
    op: str, cases: Mapping[str, list[Case]]
) -> None:
    faults = []
    for case in cases.get(op, ()):
        if not case.is_float32:
            continue
        session = card_session(case.model)
        if case.name in NOT_CLAIMED:
            faults += [f"{case.name} is claimed"] if taken(session) else []
        elif taken(session) != [op]:
            faults.append(f"{case.name} is not claimed")
        elif fault := _fault(case, session):
            faults.append(fault)
    assert faults == []


def test_every_exception_is_a_case_that_exists(cases: Mapping[str, list[Case]]) -> None:
    names = {case.name for group in cases.values() for case in group}
    assert set(NOT_CLAIMED) | set(TOO_COARSE) <= names


def test_graphs_of_several_nodes_pass_where_the_card_takes_a_part(
    cases: Mapping[str, list[Case]],
) -> None:
    """Functions written out as nodes: mostly split between the card and the CPU."""
    faults, computed_count = [], 0
    for case in cases[""]:
        if not OPERATORS.keys() & set(case.ops):
            continue
        try:
            session = card_session(case.model)
        except Exception as error:
            if not any(words in str(error) for words in REFUSED_BY_ONNXRUNTIME):
                faults.append(f"{case.name}: {error}")
            else:
                with pytest.raises(type(error)):
                    cpu_session(case.model)
            continue
        if taken(session) and case.is_float32:
            computed_count += 1
            faults += [fault] if (fault := _fault(case, session)) else []
    assert faults == []
    assert computed_count > 100
