"""The contract of every runtime, kept on a GPU."""

from __future__ import annotations

import subprocess

import pytest

from runtimes import registry
from runtimes.base import Runtime
from runtimes.cuda.driver import Gpu
from runtimes.errors import Unsupported
from runtimes.tensorrt.runtime import COMPUTE_CAPABILITIES
from tests.gpu.conftest import available
from tests.runtimes.contract import ONE_THREAD, RuntimeContract
from tests.runtimes.graphs import Graphs


class _OnGpu(RuntimeContract):
    @pytest.fixture
    def runtime(self) -> Runtime:
        return available(self.name)

    def test_availability_and_devices_are_told_without_the_engine(self) -> None:
        available(self.name)
        super().test_availability_and_devices_are_told_without_the_engine()

    def test_the_device_is_the_one_that_the_driver_names(self, runtime: Runtime) -> None:
        process = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
        )
        names = process.stdout.strip().splitlines()
        gpu_devices = (gpu for gpu in registry.load(self.name).devices() if gpu.key.isdigit())
        assert {device.name for device in gpu_devices} <= set(names)


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


class TestTensorRtRtx(_OnGpu):
    name = "tensorrt-rtx"

    @pytest.fixture
    def runtime(self) -> Runtime:
        runtime = available(self.name)
        if _capability() not in COMPUTE_CAPABILITIES:
            pytest.skip("TensorRT for RTX does not know the GPU that is here")
        return runtime

    def test_a_gpu_that_it_does_not_know_is_unsupported_in_its_own_words(
        self, graphs: Graphs
    ) -> None:
        runtime = available(self.name)
        if _capability() in COMPUTE_CAPABILITIES:
            pytest.skip("TensorRT for RTX knows the GPU that is here")
        with pytest.raises(Unsupported, match="not supported"):
            runtime.compile(graphs.dense, {"batch": 1}, ONE_THREAD)


def _capability() -> tuple[int, int]:
    gpu = Gpu(0)
    gpu.close()
    return gpu.compute_capability


class TestTorchCuda(_OnGpu):
    name = "torch-cuda"
    untried = frozenset({"mode=compile"})
