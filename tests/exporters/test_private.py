"""What a run and the cache hold is nobody else's on a machine that several people use."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.machine import installed_runtimes
from app.run_folder.folder import RunFolder
from exporters.cache import Store
from tests.app.run_folder.runs import manifest_of


@pytest.fixture
def usual_umask() -> Iterator[None]:
    umask_before = os.umask(0o022)
    yield
    os.umask(umask_before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("usual_umask")
def test_a_run_folder_is_its_owners_alone(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "runs" / "one", manifest_of()):
        assert mode_of(tmp_path / "runs" / "one") == 0o700
    assert mode_of(tmp_path / "runs") == 0o755, "what is above it is none of ours"


@pytest.mark.usefixtures("usual_umask")
def test_a_folder_that_was_made_to_be_shared_stays_shared(tmp_path: Path) -> None:
    shared_folder = tmp_path / "shared"
    shared_folder.mkdir(mode=0o750)
    with RunFolder.create(shared_folder, manifest_of()):
        assert mode_of(shared_folder) == 0o750


@pytest.mark.usefixtures("usual_umask")
def test_the_cache_is_its_owners_alone_whoever_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path / "one")
    assert mode_of(tmp_path / "one") == 0o700
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "two"))
    installed_runtimes.refuse_unwritable()
    assert mode_of(tmp_path / "two") == 0o700
