"""A precision that an engine does not execute ends as a row without a latency; outputs that no run
writes are found."""

from __future__ import annotations

import numpy as np
import pytest

from app.contract.graphs import node
from app.workers.output_check import check_lanes
from exporters.types import PACKAGED, Precision, Reference, TensorSpec
from runtimes.errors import Unsupported
from runtimes.session.host import HostLane, aligned_zeros, poison
from runtimes.session.precision import refuse_wider
from tests.runtimes.graphs import Graphs, vector


@pytest.mark.parametrize(
    ("asked", "executed"), [("int8", "fp32"), ("int8", "fp16"), ("fp16", "fp32"), ("fp16", "bf16")]
)
def test_what_runs_in_a_wider_type_than_asked_is_refused(asked: Precision, executed: str) -> None:
    with pytest.raises(Unsupported, match=f"of this {asked} graph in {executed}.*another runtime"):
        refuse_wider(asked, executed, "an engine")


@pytest.mark.parametrize(
    ("asked", "executed"),
    [
        ("int8", "int8"),
        ("fp16", "fp16"),
        ("fp32", "fp32"),
        ("fp32", "int8"),  # a user's quantised graph, taken as it is
        ("fp32", "fp64"),  # a user's graph in doubles
        ("fp32", "tf32"),
        ("int8", "unknown"),
    ],
)
def test_what_runs_as_asked_or_is_the_graphs_own_type_is_measured(
    asked: Precision, executed: str
) -> None:
    refuse_wider(asked, executed, "an engine")


TYPES = ["bool", "uint8", "int8", "uint16", "int32", "uint64", "int64", "float16", "float32",
         "float64", "complex64"]  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("value", [0, 1, -1, np.nan])
def test_each_element_gets_another_value_each_time(dtype: str, value: float) -> None:
    if np.isnan(value) and np.dtype(dtype).kind not in "fc":
        return
    array = np.full((2, 3), abs(value) if dtype in ("bool", "uint8") else value).astype(dtype)
    seen_arrays = [array.copy()]
    for _ in range(2):
        poison(array)
        assert not np.equal(array, seen_arrays[-1]).any()
        assert not (np.isnan(array) & np.isnan(seen_arrays[-1])).any()
        seen_arrays.append(array.copy())


def filled(number: float, dtype: str) -> np.ndarray:
    return np.full(4, number, "float64").astype(dtype)


class Idle(HostLane):
    """A lane whose runs write nothing."""

    def __init__(self, output: np.ndarray) -> None:
        super().__init__({"x": aligned_zeros((1,), np.dtype(np.float32))}, {"y": output}, ())
        self.run = lambda: None


@pytest.mark.parametrize("dtype", TYPES[:-1])
@pytest.mark.parametrize("value", [0, 1, 255, np.nan])
@pytest.mark.parametrize("left", [0, 1, 255])
def test_one_of_two_checks_finds_an_output_that_is_never_written(
    dtype: str, value: float, left: int, graphs: Graphs
) -> None:
    """`left` is what happens to lie in its memory."""
    if np.isnan(value) and np.dtype(dtype).kind not in "fc":
        return
    if dtype in ("bool", "int8"):
        value, left = min(value, 1), min(left, 1)
    model = graphs.save(
        f"never_{dtype}", [node("Relu", ["x"], ["y"])], [vector("x")], [vector("y")]
    )
    assert isinstance(model.outputs[0], TensorSpec)
    reference = Reference({"x": np.zeros(1, np.float32)}, {"y": filled(value, dtype)}, (PACKAGED,))
    lane = Idle(filled(left, dtype))
    right = [check_lanes([lane], "fp32", reference, model, None).output_ok for _ in range(2)]
    assert not all(right)
