"""A round of several shapes: all in one session, the first run of each told from the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.cases.round import FIRST_OF_SHAPE, MEASURED
from app.cases.scenario import Condition, Shapes
from exporters.types import (
    PACKAGED,
    ExportedModel,
    Reference,
    TensorSpec,
    axes_key,
    save_reference,
)
from tests.app.sweep.sweeps import write_add_graph
from tests.app.workers.conftest import Measure

MIX = Condition("shapes", file="mix.csv", shapes=Shapes(("batch",), ((1,), (4,), (64,)), (6, 3, 1)))


def adding(folder: Path, wrong_at: int = 0) -> ExportedModel:
    """y = x + 1 at the sizes of the mix; the stored output of one size may be wrong."""
    references = {}
    for point in MIX.points:
        file, size = folder / f"{axes_key(point)}.npz", (point["batch"], 3)
        y = np.full(size, 9.0 if point["batch"] == wrong_at else 2.0, np.float32)
        save_reference(
            str(file), Reference({"x": np.ones(size, np.float32)}, {"y": y}, (PACKAGED,))
        )
        references[axes_key(point)] = str(file)
    return ExportedModel(
        name="add",
        suite="",
        family="",
        path=str(write_add_graph(folder / "add.onnx", ("batch", 3))),
        sha256="",
        opset=20,
        precision="fp32",
        inputs=(TensorSpec("x", "float32", ("batch", 3)),),
        outputs=(TensorSpec("y", "float32", ("batch", 3)),),
        axes={"batch": 1},
        references=references,
        reference="onnx",
        batch="batch",
    )


@pytest.mark.parametrize("call", ["c", "python"])
def test_every_shape_is_seen_first_once_and_then_as_often_as_its_weight_says(
    measure: Measure, tmp_path: Path, call: str
) -> None:
    result, records, _ = measure(condition=MIX, model=adding(tmp_path), options={"call": call})
    assert (result.status, result.concurrency) == ("ok", 1)
    assert result.call_path.endswith("timed in C" if call == "c" else "timed in Python")
    assert result.check is not None
    assert result.check.output_ok
    first = records[records["phase"] == FIRST_OF_SHAPE]
    assert len(first) == 2, "the process's own first run is no shape's"
    assert len({*first["lane"]}) == 2
    assert (
        first["finished_ns"] <= records[records["phase"] != FIRST_OF_SHAPE]["started_ns"][0]
    ).all()
    lanes = records[records["phase"] == MEASURED]["lane"]
    shares = np.bincount(lanes, minlength=3) / len(lanes)
    assert shares == pytest.approx([0.6, 0.3, 0.1], abs=4 * np.sqrt(0.24 / len(lanes)))
    assert len(str(result.facts["shapes_sha256"])) == 64


def test_a_wrong_output_of_one_shape_is_found_and_named(measure: Measure, tmp_path: Path) -> None:
    result, _, _ = measure(condition=MIX, model=adding(tmp_path, wrong_at=4))
    assert result.status == "wrong_output"
    assert "output 'y' at batch=4 differs from the packaged reference" in result.reason


def test_a_runtime_of_fixed_shapes_says_so(measure: Measure, tmp_path: Path) -> None:
    result, _, _ = measure("fake", condition=MIX, model=adding(tmp_path))
    assert result.status == "unsupported"
    assert "fake is measured in sessions of one shape each: leave --condition" in result.reason
