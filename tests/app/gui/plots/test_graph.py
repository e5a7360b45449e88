"""The model graph: read without weights, laid out without overlaps, never freezing the window."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QThreadPool
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.gui.plots import graph as graph_view
from app.gui.plots.graph import NODE_HEIGHT, NODE_WIDTH, GraphItem, GraphView, LaidGraph
from app.gui.plots.graph_layout import ModelGraph, NoModel, lay_out, load_graph
from tests.app.gui.plots.views import residual_model


def test_nodes_edges_and_shapes_are_those_of_the_file(tmp_path: Path) -> None:
    graph = load_graph(residual_model(2, tmp_path / "net.onnx"))
    assert [node.op for node in graph.nodes] == ["input", "Relu", "Add", "Relu", "Add", "output"]
    assert {(a, b) for a, b, _ in graph.edges} == {
        (0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4), (4, 5)
    }  # fmt: skip
    assert graph.nodes[3].shapes == ("batch x 8",)


def test_a_file_with_weights_beside_it_is_read_without_them(tmp_path: Path) -> None:
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

    weight = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    x = helper.make_tensor_value_info("x", 1, ["batch", 64])
    y = helper.make_tensor_value_info("y", 1, ["batch", 64])
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = helper.make_model(helper.make_graph([node], "g", [x], [y], [weight]))
    onnx.save(model, tmp_path / "net.onnx", save_as_external_data=True, location="w.bin",
              size_threshold=0)  # fmt: skip
    (tmp_path / "w.bin").unlink()
    graph = load_graph(tmp_path / "net.onnx")
    assert [node.op for node in graph.nodes] == ["input", "MatMul", "output"]


@pytest.mark.parametrize("content", [b"", b"no model at all", b"\x08\x08"])
def test_what_is_no_model_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    with pytest.raises(NoModel, match=r"broken\.onnx"):
        load_graph(path)
    with pytest.raises(NoModel, match="can't be read"):
        load_graph(tmp_path / "missing.onnx")


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(2, 25))
    pairs = list(combinations(range(count), 2))
    return count, draw(st.lists(st.sampled_from(pairs), max_size=40, unique=True))


@settings(max_examples=60, deadline=None)
@given(_graphs())
def test_a_layout_points_down_and_no_two_nodes_overlap(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    count, edges = graph
    layout = lay_out(count, edges)
    for source, target in edges:
        assert layout.places[source][1] < layout.places[target][1]
    for (ax, ay), (bx, by) in combinations(layout.places, 2):
        assert abs(ax - bx) >= NODE_WIDTH or abs(ay - by) >= NODE_HEIGHT


def _open(
    qtbot: QtBot, path: Path, engine: str = "", node_engines: Mapping[str, str] | None = None
) -> GraphView:
    view = GraphView()
    qtbot.addWidget(view)
    view.resize(900, 700)
    view.show()
    view.open_model(path, engine, node_engines)
    return view


def _drawn(view: GraphView) -> tuple[LaidGraph, GraphItem]:
    """The graph that is shown, and its item on the plot."""
    assert view._laid is not None and view._item is not None
    return view._laid, view._item


def test_nodes_that_ran_elsewhere_are_told_by_colour_and_in_words(
    qtbot: QtBot, tmp_path: Path
) -> None:
    node_engines = {"/block1/Relu": "CPUExecutionProvider", "fused_7": "CPUExecutionProvider"}
    path = residual_model(3, tmp_path / "net.onnx")
    view = _open(qtbot, path, "CUDAExecutionProvider", node_engines)
    qtbot.waitUntil(lambda: bool(view.plots))
    engines = {row[0]: row[3] for row in view.table()[1]}
    assert engines["/block1/Relu"] == "CPUExecutionProvider"
    assert engines["/block0/Relu"] == "CUDAExecutionProvider"
    graph_layout, item = _drawn(view)
    assert item._colors[3] != item._colors[1]
    assert "not in the file" in view._note(graph_layout.graph)


def test_the_window_lives_on_while_a_file_is_read(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = residual_model(1000, tmp_path / "deep.onnx")
    may_go_on = threading.Event()

    def slow(path: Path) -> ModelGraph:
        assert may_go_on.wait(30.0)
        return load_graph(path)

    monkeypatch.setattr(graph_view, "load_graph", slow)
    view = _open(qtbot, path)
    QTest.keyClicks(view.find_box, "relu")
    assert view.find_box.text() == "relu"
    assert view._missing.text() == "Reading deep.onnx …"
    may_go_on.set()
    qtbot.waitUntil(lambda: bool(view.plots), timeout=20_000)
    graph_layout, item = _drawn(view)
    assert len(graph_layout.graph.nodes) == 2002
    assert len(item.found) == 1000


def test_finding_a_node_marks_and_shows_it(qtbot: QtBot, tmp_path: Path) -> None:
    view = _open(qtbot, residual_model(200, tmp_path / "net.onnx"))
    qtbot.waitUntil(lambda: bool(view.plots))
    QTest.keyClicks(view.find_box, "block150/relu")
    graph_layout, item = _drawn(view)
    node_index = next(
        k for k, n in enumerate(graph_layout.graph.nodes) if n.name == "/block150/Relu"
    )
    assert item.found == {node_index}
    (left, right), (top, bottom) = view.plots[0].viewRange()
    x, y = graph_layout.layout.places[node_index]
    assert left < x < right and min(top, bottom) < y < max(top, bottom)


def test_only_the_file_asked_for_last_is_shown(qtbot: QtBot, tmp_path: Path) -> None:
    first = residual_model(300, tmp_path / "first.onnx")
    second = residual_model(1, tmp_path / "second.onnx")
    view = _open(qtbot, first)
    view.open_model(second)
    QThreadPool.globalInstance().waitForDone()
    qtbot.waitUntil(lambda: bool(view.plots))
    qtbot.wait(50)
    assert _drawn(view)[0].graph.name == "second"


def test_a_broken_file_is_told_in_the_view(qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"no model at all")
    view = _open(qtbot, path)
    qtbot.waitUntil(lambda: "broken.onnx" in view._missing.text())
    qtbot.waitUntil(lambda: "Reading" not in view._missing.text())
    assert "export it again" in view._missing.text()


def test_closing_the_view_while_it_reads_is_no_crash(qtbot: QtBot, tmp_path: Path) -> None:
    view = _open(qtbot, residual_model(500, tmp_path / "net.onnx"))
    view.close()
    view.deleteLater()
    QThreadPool.globalInstance().waitForDone()
    qtbot.wait(50)
