"""Models of public shapes run with the sizes and values that are chosen for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.shapes.net import Shape
from tests.shapes.table import SHAPES, drawn, session


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_public_shape_is_fed_with_what_it_takes(shape: Shape, tmp_path: Path) -> None:
    found = drawn(shape, tmp_path)
    outputs = session(found.path).run(None, found.inputs)
    assert all(output.size for output in outputs)
    assert not found.model.unfit


def test_a_threshold_that_no_score_reaches_is_lowered_and_said(tmp_path: Path) -> None:
    shape = next(shape for shape in SHAPES if "limits as inputs" in shape.name)
    found = drawn(shape, tmp_path)
    assert found.inputs["score_threshold"] == np.float32(0.05)
    (said,) = (spec for spec in found.model.inputs if spec.name == "score_threshold")
    assert said.fill == ((0.05,),)
    assert said.assumed == "threshold"
