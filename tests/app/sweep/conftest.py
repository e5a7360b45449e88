"""What the tests of sweeps begin with: a graph of one node, and a folder for samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporters.types import ExportedModel
from tests.app.sweep.sweeps import exported_add


@pytest.fixture
def model(tmp_path: Path) -> ExportedModel:
    return exported_add(tmp_path)


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """Where rounds write."""
    folder = tmp_path / "samples"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
