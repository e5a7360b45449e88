"""An LSTM of a user's, and a guard against sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnxruntime
import pytest
from onnx import helper

from tests.exporters.precision.conversions import normal, save


@pytest.fixture
def lstm(tmp_path: Path) -> Path:
    path = tmp_path / "recurrent.onnx"
    node = helper.make_node("LSTM", ["x", "w", "r"], ["", "y"], name="memory", hidden_size=4)
    weights = {"w": normal(1, 16, 3), "r": normal(1, 16, 4)}
    save(path, [node], weights, x=["time", 1, 3], y=[1, 1, 4])
    return path


@pytest.fixture
def no_sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a session was created")

    monkeypatch.setattr(onnxruntime, "InferenceSession", refuse)
    yield
