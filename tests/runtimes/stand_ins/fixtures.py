"""Fixtures that put the stand-ins in the place of a driver and of TensorRT."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from exporters import own
from runtimes.cuda import driver as cuda_driver
from runtimes.trt import runtime
from tests.runtimes.stand_ins import tensorrt as stand_in

TESTED_RELEASE = ("10.16.1.11", 13)
_OURS = tuple(
    own.module_name(f"runtimes.trt.{name}") for name in ("build", "faults", "lane", "session")
)


@dataclass(frozen=True)
class Driver:
    """The stand-in driver: `set` says what it tells, `live` counts what was not given back."""

    library: ctypes.CDLL

    def set(self, version: int = 13000, devices: int = 2, init: int = 0, alloc: int = 0) -> None:
        self.library.stand_in_set(version, devices, init, alloc)

    @property
    def live(self) -> int:
        return int(self.library.stand_in_live())


@pytest.fixture(scope="session")
def driver_library(tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    source = Path(__file__).with_name("driver.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return str(library)


@pytest.fixture
def driver(driver_library: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.setattr(cuda_driver, "SONAME", driver_library)
    cuda_driver.library.cache_clear()
    driver = Driver(ctypes.CDLL(driver_library))
    driver.set()
    yield driver
    cuda_driver.library.cache_clear()


@pytest.fixture
def tensorrt(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The stand-in TensorRT, on the stand-in driver, found by the adapter's own import."""
    monkeypatch.setitem(sys.modules, "tensorrt", stand_in)
    monkeypatch.setattr(stand_in, "__spec__", ModuleSpec("tensorrt", None))
    monkeypatch.setattr(runtime, "installed_release", lambda: TESTED_RELEASE)
    monkeypatch.setattr(stand_in, "built", [])
    for name in _OURS:
        sys.modules.pop(name, None)
    yield stand_in
    for name in _OURS:
        sys.modules.pop(name, None)
