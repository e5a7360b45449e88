"""Graphs of a user's own operators, and partitions of a graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.workers.output_check import check_lanes
from exporters.messages import ExportRequest
from exporters.types import ExportedModel, load_reference
from exporters.worker import export
from runtimes import registry
from runtimes.errors import Unsupported
from runtimes.execution import Execution, NodePlacement
from runtimes.options import Settings
from tests.operators.built import library, save_twice

POINT = {"batch": 3}


@pytest.fixture
def twice(tmp_path: Path) -> ExportedModel:
    path = save_twice(tmp_path / "twice.onnx")
    libraries = (library(tmp_path),)
    request = ExportRequest(
        str(path), points=(POINT,), custom_ops=libraries, cache_dir=str(tmp_path / "cache")
    )
    return export(request)[0]


def test_onnxruntime_runs_it_with_its_library_and_is_checked(twice: ExportedModel) -> None:
    reference = load_reference(twice.references["batch=3"])
    with registry.load("ort-cpu").compile(twice, POINT, Settings()) as session:
        check = check_lanes(session.lanes, session.execution.precision, reference, twice, None)
    assert check.output_ok
    assert not session.execution.elsewhere


def test_without_its_library_or_with_one_that_is_none_it_is_unsupported(
    twice: ExportedModel, tmp_path: Path
) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library", "ascii")
    for libraries, word in (((), "does not know the operator"), ((str(text),), "text.so")):
        with pytest.raises(Unsupported, match=word):
            registry.load("ort-cpu").compile(
                replace(twice, custom_ops=libraries), POINT, Settings()
            )


def executed(providers: str, shape_letters: str = "") -> Execution:
    """One node for each letter, in this order: A is the engine that was asked for."""
    placement = tuple(
        NodePlacement(f"n{place}", "Op", letter, "fp32", letter not in shape_letters, place)
        for place, letter in enumerate(providers)
    )
    return Execution("A", "fp32", "device", "run", placement=tuple(reversed(placement)))


@pytest.mark.parametrize(
    ("providers", "partitions", "splitting"),
    [
        ("AAA", ["AAA"], []),
        ("AAB", ["AA", "B"], []),
        ("BAA", ["B", "AA"], []),
        ("ABBA", ["A", "BB", "A"], ["n1", "n2"]),
        ("BACABB", ["B", "A", "C", "A", "BB"], ["n2"]),
        ("BB", ["BB"], []),
        ("", [], []),
    ],
)
def test_nodes_are_grouped_in_the_order_of_execution(
    providers: str, partitions: list[str], splitting: list[str]
) -> None:
    execution = executed(providers)
    groups = ["".join(node.provider for node in nodes) for nodes in execution.partitions]
    assert groups == partitions
    assert [node.node for node in execution.splitting] == splitting


def test_without_an_order_nothing_is_said() -> None:
    execution = Execution(
        "A", "fp32", "device", "run", placement=(NodePlacement("n", "Op", "B", "fp32"),)
    )
    assert execution.partitions == () and execution.splitting == ()
    assert execution.elsewhere == execution.placement
