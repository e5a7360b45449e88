"""The contract of every runtime, kept on a GPU."""

from __future__ import annotations

import subprocess

import pytest

from runtimes import registry
from runtimes.base import Runtime
from tests.gpu.conftest import available
from tests.runtimes.contract import RuntimeContract


class _OnGpu(RuntimeContract):
    @pytest.fixture
    def runtime(self) -> Runtime:
        return available(self.name)

    def test_availability_and_devices_are_told_without_the_engine(self) -> None:
        available(self.name)
        super().test_availability_and_devices_are_told_without_the_engine()

    def test_the_device_is_the_one_that_the_driver_names(self, runtime: Runtime) -> None:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
        )
        names = done.stdout.strip().splitlines()
        assert {device.name for device in registry.load(self.name).devices()} <= set(names)


class TestOrtCuda(_OnGpu):
    name = "ort-cuda"
    # A CUDA graph needs boundary=device, which `test_engines` gives it.
    untried = frozenset({"cuda_graph=True"})


class TestOrtTensorRt(_OnGpu):
    name = "ort-tensorrt"
    # TF32 is fixed for a process once the first session is there.
    untried = frozenset({"cuda_graph=True", "tf32=True"})


class TestTensorRt(_OnGpu):
    name = "tensorrt"
    untried = frozenset({"typing=flags"})


class TestTorchCuda(_OnGpu):
    name = "torch-cuda"
    untried = frozenset({"mode=compile"})
