"""GPU runtimes whose checks say that all is well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtimes.base import Available, Device
from runtimes.cuda import options
from runtimes.cuda import runtime as libraries
from runtimes.onnxruntime import gpu_runtimes
from runtimes.onnxruntime.gpu_runtimes import OrtCuda, OrtTensorRt
from tests.runtimes.stand_ins.fixtures import Driver


@pytest.fixture
def pretended(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The checks before the session say that all is well, and a driver is there."""
    for runtime in (OrtCuda, OrtTensorRt):
        monkeypatch.setattr(runtime, "availability", lambda self: Available("1"))
        monkeypatch.setattr(runtime, "devices", lambda self: (Device("0", "GPU"),))
    monkeypatch.setattr(libraries, "infer_version", lambda soname: "10.16.1")
    monkeypatch.setattr(options, "_when_loaded", [])
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    gpu_runtimes._tf32_of_process.clear()
    yield
    gpu_runtimes._tf32_of_process.clear()
