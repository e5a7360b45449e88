"""One wheel and one environment for all tests here, beside a distribution with its own `app`."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from tests.installed.environment import (
    Environment,
    build_wheel,
    copy_sources,
    write_hostile_folder,
    write_other_distribution,
)
from tests.parallel import once


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
