"""A user's graph in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exporters.support import save_affine


@pytest.fixture
def affine(tmp_path: Path) -> Path:
    """A user's file: y = x @ w with x [batch, 64]."""
    path = tmp_path / "affine.onnx"
    save_affine(path)
    return path
