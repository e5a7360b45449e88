"""Both boundaries of a GPU session, and GPU runtimes whose checks say that all is well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtimes.base import Available, Device
from runtimes.cuda import libraries
from runtimes.execution import Boundary
from runtimes.ort import tensorrt_runtime
from runtimes.ort.cuda_runtime import OrtCuda
from runtimes.ort.tensorrt_runtime import OrtTensorRt


@pytest.fixture(params=["host", "device"])
def boundary(request: pytest.FixtureRequest) -> Boundary:
    boundary: Boundary = request.param
    return boundary


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The checks before the session say that all is well."""
    for runtime in (OrtCuda, OrtTensorRt):
        monkeypatch.setattr(runtime, "availability", lambda self: Available("1"))
        monkeypatch.setattr(runtime, "devices", lambda self: (Device("0", "GPU"),))
    monkeypatch.setattr(libraries, "infer_version", lambda soname: "10.16.1")
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    tensorrt_runtime._tf32_of_process.clear()
    yield
    tensorrt_runtime._tf32_of_process.clear()
