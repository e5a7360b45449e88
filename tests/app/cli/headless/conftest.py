"""A folder to start batch mode in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.sweep.sweeps import write_add_graph
from tests.checkout import ROOT


@pytest.fixture(scope="module", autouse=True)
def briefly(brief: None) -> None:
    """No test here is about how long a round lasts."""


@pytest.fixture
def work(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with one small graph in it."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))
    monkeypatch.setenv("COLUMNS", "400")  # so that no sentence is folded
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    write_add_graph(tmp_path / "add.onnx")
    return tmp_path
