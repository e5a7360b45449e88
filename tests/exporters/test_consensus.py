"""References that agree are one, those that do not are all kept, with what parts them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from exporters.agreement import TOLERANCE, Bound, Computed, Node, reconciled
from exporters.types import (
    EVALUATED,
    PACKAGED,
    UNOPTIMISED,
    Disagreement,
    Reference,
    load_reference,
    repeat_reference,
    save_reference,
)

X: Mapping[str, np.ndarray] = {"x": np.ones((1, 4), np.float32)}
Y = np.array([[1.0, -2.0, 4.0, 0.0]], np.float32)
FP32 = Bound(TOLERANCE["fp32"])
NODE: Node = ("pool", "MaxPool")


def _reconcile(
    outputs: Mapping[str, np.ndarray], bound: Bound = FP32, node: Node | None = NODE
) -> Reference:
    return reconciled(X, Computed({n: {"y": y} for n, y in outputs.items()}), bound, lambda: node)


def test_references_within_a_tenth_of_the_tolerance_are_one() -> None:
    result = _reconcile({PACKAGED: Y, EVALUATED: Y * np.float32(1.000001), UNOPTIMISED: Y.copy()})
    assert result.by == (PACKAGED, EVALUATED, UNOPTIMISED)
    assert (dict(result.others), result.disagreements) == ({}, ())
    assert np.array_equal(result.outputs["y"], Y)


def test_one_that_is_apart_within_the_tolerance_is_kept_and_no_disagreement() -> None:
    result = _reconcile({EVALUATED: Y, UNOPTIMISED: Y * np.float32(1.00005)})
    assert (result.by, list(result.others), result.disagreements) == (
        (EVALUATED,),
        [UNOPTIMISED],
        (),
    )


def test_each_pair_that_disagrees_is_named_with_its_output_and_its_node() -> None:
    result = _reconcile({PACKAGED: Y, EVALUATED: Y + 1, UNOPTIMISED: Y.copy()})
    assert (result.by, list(result.others)) == ((PACKAGED, UNOPTIMISED), [EVALUATED])
    data, runtime = result.disagreements
    assert data == Disagreement(PACKAGED, EVALUATED, "y", data.relative)
    assert data.relative == pytest.approx(0.2)
    assert (runtime.first, runtime.second, runtime.output) == (EVALUATED, UNOPTIMISED, "y")
    assert runtime.relative == pytest.approx(0.25)
    assert (runtime.node, runtime.operator) == NODE


@pytest.mark.parametrize("other", [Y[:, :2], np.full_like(Y, np.nan)])
def test_another_shape_and_a_nan_have_no_measure(other: np.ndarray) -> None:
    (disagreement,) = _reconcile({EVALUATED: Y, UNOPTIMISED: other}).disagreements
    assert (disagreement.relative, disagreement.unequal) == (None, None)


def test_integers_must_be_equal_unless_they_are_steps_of_a_quantised_graph() -> None:
    classes = np.array([7, 8], np.int64)
    (disagreement,) = _reconcile({EVALUATED: classes, UNOPTIMISED: np.array([7, 9])}).disagreements
    assert disagreement.unequal == 0.5
    step_outputs = {
        EVALUATED: np.array([200, 100], np.uint8),
        UNOPTIMISED: np.array([201, 100], np.uint8),
    }
    result = _reconcile(step_outputs, Bound(0.1, steps=True))
    assert (result.disagreements, list(result.others)) == ((), [UNOPTIMISED])


def test_a_node_that_is_not_found_has_a_reason() -> None:
    (disagreement,) = _reconcile({EVALUATED: Y, UNOPTIMISED: Y + 1}, node=None).disagreements
    assert disagreement.node == ""
    assert disagreement.no_node

    def fails() -> Node | None:
        raise MemoryError("too much")

    results = Computed({EVALUATED: {"y": Y}, UNOPTIMISED: {"y": Y + 1}})
    (other,) = reconciled(X, results, FP32, fails).disagreements
    assert (other.node, other.no_node) == ("", "too much")


def test_a_file_gives_back_what_was_saved(tmp_path: Path) -> None:
    path = str(tmp_path / "reference.npz")
    reference = _reconcile({PACKAGED: Y, EVALUATED: Y + 1, UNOPTIMISED: Y.copy()})
    save_reference(path, reference)
    again = load_reference(path)
    assert (again.by, again.missing, again.disagreements) == (
        reference.by,
        reference.missing,
        reference.disagreements,
    )
    assert np.array_equal(again.others[EVALUATED]["y"], Y + 1)


def test_all_references_are_repeated_along_the_batch(tmp_path: Path) -> None:
    small, large = str(tmp_path / "small.npz"), str(tmp_path / "large.npz")
    save_reference(small, _reconcile({EVALUATED: Y, UNOPTIMISED: Y + 1}))
    repeat_reference(small, large, {"input:x": 0, "output:y": 0}, 3)
    reference = load_reference(large)
    assert np.array_equal(reference.outputs["y"], np.repeat(Y, 3, 0))
    assert np.array_equal(reference.others[UNOPTIMISED]["y"], np.repeat(Y + 1, 3, 0))
