"""`graphlap.run` compares, fails as a job does and exports, as the command does."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import onnx
import pytest

from app.cases.errors import PlanError, ResultsError
from app.comparison import judge
from app.interface.run import run

OK, SLOWER = 0, 3
FEW, MANY = 1, 3000
"""Nodes of a graph: milliseconds apart, which no noise of a machine is."""


@pytest.fixture(autouse=True)
def _work(brief: None, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))
    monkeypatch.setenv("GRAPHLAP_CONFIG", "none")
    monkeypatch.chdir(tmp_path)


def _measure(nodes: int, out: str, **more: Any) -> Any:
    """A run of a chain of so many nodes, always in the same file."""
    names = ["x", *(f"t{number}" for number in range(nodes - 1)), "y"]
    chain = [
        onnx.helper.make_node("Floor", [first], [second])
        for first, second in itertools.pairwise(names)
    ]
    ends = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [64]) for n in "xy"]
    graph = onnx.helper.make_graph(chain, "chain", ends[:1], ends[1:])
    opset = onnx.helper.make_opsetid("", 17)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), "chain.onnx")
    return run("chain.onnx", runtimes="ort-cpu", rounds=4, out=out, **more)


def test_a_slower_run_fails_and_its_files_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests on the other cores are load, of which two runs that were measured apart tell nothing.
    monkeypatch.setattr(judge, "loads_obstruct", lambda *_: False)
    baseline = _measure(FEW, "before")
    assert baseline.exit_code == OK
    slower_run = _measure(MANY, "after", against=baseline, fail_on="slower", export=["json", "csv"])
    assert slower_run.exit_code == SLOWER
    assert Path("after", "results.json").is_file()
    same = _measure(MANY, "again", against="before")
    assert same.exit_code == OK, "slower, and nobody asked to fail by it"
    assert not Path("again", "results.json").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"fail_on": "slower"},
        {"history": "runs"},
        {"fail_on": "faster"},
        {"export": "pdf"},
        {"against": 3},
        {"against": "before", "baseline": "ort-cpu"},
    ],
)
def test_what_can_not_be_compared_is_refused_before_anything_is_written(
    settings: dict[str, Any],
) -> None:
    with pytest.raises(PlanError):
        _measure(FEW, "run", **settings)
    assert not Path("run").exists()


def test_a_run_that_is_not_there_is_refused() -> None:
    with pytest.raises(ResultsError):
        _measure(FEW, "run", against="nowhere")
    assert not Path("run").exists()
