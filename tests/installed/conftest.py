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


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources in a checkout that was built before, when `app` was a package of its own."""
    folder = copy_sources(tmp_path_factory.mktemp("sources"))
    library_folder = f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    old = folder / "build" / library_folder / "app" / "__init__.py"
    old.parent.mkdir(parents=True)
    old.touch()
    return folder


@pytest.fixture(scope="session")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(sources, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("installed")
    environment = Environment.create(folder / "venv")
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
