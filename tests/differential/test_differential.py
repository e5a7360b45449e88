"""The evaluator beside ONNX Runtime on drawn nodes, and beside what ONNX's node tests expect."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from onnx.backend.test.case import base

from exporters.onnx_evaluator.evaluator import Evaluator
from exporters.onnx_files.engine import opened
from tests.differential import nodes
from tests.differential.agreement import agree

pytest.importorskip("onnxruntime")
_SEED, _DRAWS = 1, 6
NOT_COMPARED = {"GlobalLpPool"}
"""Neither has it."""
KNOWN_WRONG = {
    "test_quantizelinear_blocked_symmetric",
    "test_resize_downsample_scales_cubic_align_corners",
    "test_resize_downsample_scales_linear_align_corners",
}
"""ONNX Runtime gives for the latter two what our evaluator gives."""
SLOW = {f"export_{name}_3d_default" for name in ("averagepool", "lppool", "maxpool")}
"""ONNX takes ten seconds to make these; others have pools of three dimensions too."""


@pytest.mark.parametrize("operator", nodes.NAMES)
def test_the_evaluator_agrees_with_the_engine(operator: str) -> None:
    comparisons = 0
    for number in range(_DRAWS):
        rng = nodes.rng_of(_SEED, operator, number)
        opset = int(rng.choice([opset for group in nodes.opsets(operator) for opset in group]))
        try:
            model, feeds = nodes.draw(operator, opset, rng)
            ours = _evaluated(model, feeds)
            theirs = opened(model.SerializeToString(), ()).run(None, feeds)
        except Exception:
            continue
        assert agree(ours, theirs), (number, model, feeds)
        comparisons += 1
    assert comparisons or operator in NOT_COMPARED


def _evaluated(model: Any, feeds: dict[str, Any]) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Evaluator(model).run(None, dict(feeds))


def _examples(operator: type, name: str, bases: object, members: dict[str, Any]) -> None:
    """As ONNX makes them, without their texts and the slow ones."""
    for member in members:
        if member.startswith("export") and member not in SLOW:
            np.random.seed(0)
            getattr(operator, member)()


def test_the_evaluator_gives_what_node_tests_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base._Exporter, "__init__", _examples)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases: list[Any] = collect_testcases(None)
    wrong, right = set(), 0
    for case in cases:
        names = [end.name for end in case.model.graph.input]
        inputs, outputs = case.data_sets[0]
        try:
            actual = _evaluated(case.model, dict(zip(names, inputs, strict=True)))
        except Exception:
            continue
        if agree(actual, outputs):
            right += 1
        elif not re.match("test_(bernoulli|training_dropout)", case.name):
            wrong.add(case.name)
    assert wrong == KNOWN_WRONG
    assert right > 1600
