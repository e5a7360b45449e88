"""One export process for all tests, which imports torch once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exporters.graphs import save_affine
from tests.exporters.support import WorkerProcess


@pytest.fixture(scope="session")
def worker(cache: Path) -> Iterator[WorkerProcess]:
    process = WorkerProcess(cache)
    yield process
    process.close()


@pytest.fixture
def affine(tmp_path: Path) -> Path:
    """A user's file: y = x @ w with x [batch, 64]."""
    path = tmp_path / "affine.onnx"
    save_affine(path)
    return path
