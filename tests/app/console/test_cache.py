"""The cache as people see and empty it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.commands.cache import cache_text, clear_cache
from app.machine.release_environments import PINNED
from exporters.cache import Store


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with an export of 3 MiB that nobody needs, and an engine of 5 MiB."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path))
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", str(2**30))
    store = Store(tmp_path, holder=1)
    with store.scratch() as folder:
        (folder / "model.onnx").write_bytes(bytes(3 * 2**20))
        store.put("key", {}, {"model": folder / "model.onnx"})
    engine = tmp_path / "engines" / "tensorrt" / "kept.engine"
    engine.parent.mkdir(parents=True)
    engine.write_bytes(bytes(5 * 2**20))
    return tmp_path


def release(cache: Path) -> None:
    """As if the process that needs the export had ended."""
    for lease in (cache / "leases").iterdir():
        lease.unlink()


def test_engines_are_told_beside_the_exports_and_cleared_with_them(cache: Path) -> None:
    release(cache)
    text_before = cache_text(None)
    assert "engines   5.0 MiB" in text_before
    assert "exports   1 in 1 file\n" in text_before
    text = cache_text(clear_cache())
    assert "freed     8.0 MiB" in text
    assert "exports   0 in 0 files" in text
    assert not (cache / "engines").exists()


def test_while_a_plan_runs_no_engine_is_taken_from_it(cache: Path) -> None:
    assert "freed     0.0 MiB" in cache_text(clear_cache())
    assert (cache / "engines" / "tensorrt" / "kept.engine").exists()
    environment = cache / "environments" / "onnxruntime-1.20"
    environment.mkdir(parents=True)
    (environment / PINNED).write_bytes(bytes(2 * 2**20))
    clear_cache()
    assert environment.exists()


def test_environments_of_releases_are_listed_and_cleared_with_them(cache: Path) -> None:
    release(cache)
    environment = cache / "environments" / "onnxruntime-1.20"
    environment.mkdir(parents=True)
    (environment / PINNED).write_bytes(bytes(2 * 2**20))
    (cache / "environments" / ".aside-x").mkdir()
    text_before = cache_text(None)
    assert "2.0 MiB in 1 environment," in text_before and "onnxruntime-1.20\n" in text_before
    clear_cache()
    assert not environment.exists()
