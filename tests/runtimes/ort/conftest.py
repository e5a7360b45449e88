"""Both boundaries of a GPU session, and GPU runtimes whose checks say that all is well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtimes.base import Available, Device
from runtimes.cuda import libraries, tf32
from runtimes.execution import Boundary
from runtimes.ort import tensorrt_runtime
from runtimes.ort.cuda_runtime import OrtCuda
from runtimes.ort.tensorrt_runtime import OrtTensorRt
from tests.runtimes.stand_ins.fixtures import Driver


@pytest.fixture(params=["host", "device"])
def boundary(request: pytest.FixtureRequest) -> Boundary:
    boundary: Boundary = request.param
    return boundary


@pytest.fixture
def pretended(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The checks before the session say that all is well, and a driver is there."""
    for runtime in (OrtCuda, OrtTensorRt):
        monkeypatch.setattr(runtime, "availability", lambda self: Available("1"))
        monkeypatch.setattr(runtime, "devices", lambda self: (Device("0", "GPU"),))
    monkeypatch.setattr(libraries, "infer_version", lambda soname: "10.16.1")
    monkeypatch.setattr(tf32, "_when_loaded", [])
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    tensorrt_runtime._tf32_of_process.clear()
    yield
    tensorrt_runtime._tf32_of_process.clear()
