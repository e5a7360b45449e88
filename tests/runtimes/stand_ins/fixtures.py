"""Fixtures that put the stand-ins in the place of a driver and of TensorRT."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from runtimes.base import Session
from runtimes.cuda import driver as cuda_driver
from runtimes.cuda.driver import Gpu
from runtimes.options import OptionValue, Settings
from runtimes.tensorrt.build import TENSORRT, TENSORRT_RTX, Package
from runtimes.tensorrt.runtime import TensorRt
from tests.runtimes.graphs import Graphs
from tests.runtimes.stand_ins import tensorrt as stand_in
from tests.runtimes.stand_ins import tensorrt_rtx as rtx_stand_in

TESTED_RELEASE = ("10.16.1.11", 13)
TESTED_RTX_RELEASE = ("1.7.1.116", 12)


@dataclass(frozen=True)
class Driver:
    """The stand-in driver: `set` says what it tells, `live` counts what was not given back."""

    library: ctypes.CDLL

    def set(self, version: int = 13000, devices: int = 2, init: int = 0, alloc: int = 0) -> None:
        self.library.stand_in_set(version, devices, init, alloc)

    def told(self) -> str:
        """What was asked of it since it was last asked, as `driver.c` has it."""
        self.library.stand_in_told.restype = ctypes.c_char_p
        message: bytes = self.library.stand_in_told()
        return message.decode()

    def refuse_host(self, code: int) -> None:
        """Let page-locked memory be refused with this code."""
        self.library.stand_in_refuse_host(code)

    def fail(self, code: int) -> None:
        """Let the next work that is done fail so, and from then on every call."""
        self.library.stand_in_fail(code)

    def memory(self, size: int) -> None:
        """Let a device have so many bytes."""
        self.library.stand_in_memory(ctypes.c_size_t(size))

    def cache(self, size: int) -> None:
        """Let the cache that all multiprocessors of a device share have so many bytes."""
        self.library.stand_in_cache(size)

    @property
    def used(self) -> int:
        """How many bytes of devices are held."""
        return int(self.library.stand_in_used())

    @property
    def live(self) -> int:
        return int(self.library.stand_in_live())


def shared_library(
    path: Path, source: str, options: Sequence[str] = (), libraries: Sequence[Path] = ()
) -> Path:
    """A library of this C source, linked against others."""
    command = ["cc", "-shared", "-fPIC", *options, "-o", str(path), "-xc", "-", "-xnone"]
    subprocess.run([*command, *map(str, libraries)], input=source, text=True, check=True)
    return path


@pytest.fixture(scope="session")
def driver_library(tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    source = Path(__file__).with_name("driver.c").read_text("utf-8")
    return str(shared_library(library, source, ["-O1"]))


@pytest.fixture
def driver(driver_library: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.setattr(cuda_driver, "SONAME", driver_library)
    cuda_driver.library.cache_clear()
    driver = Driver(ctypes.CDLL(driver_library))
    driver.library.stand_in_used.restype = ctypes.c_size_t
    driver.library.stand_in_begin()
    driver.set()
    yield driver
    cuda_driver.library.cache_clear()


@pytest.fixture
def gpu(driver: Driver) -> Iterator[Gpu]:
    gpu = Gpu(0)
    yield gpu
    gpu.close()


@pytest.fixture
def tensorrt(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The stand-in TensorRT, on the stand-in driver, found by the adapter's own import."""
    return _in_place_of(TENSORRT, stand_in, TESTED_RELEASE, monkeypatch)


@pytest.fixture
def tensorrt_rtx(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The stand-in TensorRT for RTX, in the same way."""
    monkeypatch.setattr(rtx_stand_in, "strategies", [])
    return _in_place_of(TENSORRT_RTX, rtx_stand_in, TESTED_RTX_RELEASE, monkeypatch)


def _in_place_of(
    package: Package, module: ModuleType, release: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.setitem(sys.modules, package.module, module)
    monkeypatch.setattr(module, "__spec__", ModuleSpec(package.module, None))
    monkeypatch.setattr(stand_in, "built", [])
    installed(package, release, monkeypatch)
    return module


def installed(
    package: Package, release: tuple[str, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Have a package tell this (version, CUDA major) as its own; None for one that is not there."""
    read_installed = Package.installed

    def installed_release(self: Package) -> tuple[str, int] | None:
        return release if self is package else read_installed(self)

    monkeypatch.setattr(Package, "installed", installed_release)


def compiled(
    graphs: Graphs,
    cache: Path | str = "",
    name: str = "dense",
    operator_times: bool = False,
    **options: OptionValue,
) -> Session:
    settings = Settings(options=options, cache_dir=str(cache), operator_times=operator_times)
    return TensorRt().compile(getattr(graphs, name), {"batch": 1}, settings)
