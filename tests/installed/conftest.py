"""One wheel and one environment for all tests here, beside a distribution with its own `app`."""

from __future__ import annotations

import fcntl
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.installed.environment import (
    Environment,
    build_wheel,
    copy_sources,
    write_hostile_folder,
    write_other_distribution,
)


@contextmanager
def once(folder: Path) -> Iterator[bool]:
    """Whether the folder is to be filled: by one of the processes that run tests, for all."""
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        yield is_new


@pytest.fixture(scope="session")
def sources(cache: Path) -> Path:
    """The sources in a checkout that was built before, when `app` was a package of its own."""
    folder = cache.parent / "sources"
    with once(folder) as is_new:
        if is_new:
            copy_sources(folder)
            library_folder = f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
            old = folder / "build" / library_folder / "app" / "__init__.py"
            old.parent.mkdir(parents=True)
            old.touch()
    return folder


@pytest.fixture(scope="session")
def wheel(sources: Path) -> Path:
    folder = sources.parent / "wheel"
    with once(folder) as is_new:
        if is_new:
            build_wheel(sources, folder)
    return next(folder.glob("graphlap-*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Environment:
    folder = wheel.parents[1] / "installed"
    environment = Environment(folder / "venv")
    with once(folder) as is_new:
        if is_new:
            Environment.create(environment.folder)
            environment.install(write_other_distribution(folder), wheel)
            environment.see_development_packages()
    return environment


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder to stand in, where nothing can be imported from."""
    return write_hostile_folder(tmp_path / "hostile")


@pytest.fixture
def pythonpath(tmp_path: Path) -> str:
    return str(write_hostile_folder(tmp_path / "named-by-pythonpath"))
