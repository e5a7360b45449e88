"""What the driver is asked, over a stand-in that captures, fails and runs out as CUDA's does."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from runtimes.cuda import driver as identity
from runtimes.cuda import driver as waiting
from runtimes.cuda.driver import CudaError, Gpu, compile_fault
from runtimes.errors import CompileFault, OutOfMemory
from tests.runtimes.stand_ins.fixtures import Driver

UNSUPPORTED, ILLEGAL_ADDRESS = 900, 700
MIB = 2**20


@pytest.fixture
def gpu(driver: Driver) -> Iterator[Gpu]:
    gpu = Gpu(0)
    yield gpu
    gpu.close()


def test_a_call_that_may_wait_ends_the_capture_of_its_own_thread(gpu: Gpu, driver: Driver) -> None:
    stream = gpu.stream()
    with pytest.raises(CudaError) as exc_info:
        gpu.graph(stream, lambda: gpu.device_buffer(8))
    assert exc_info.value.code == UNSUPPORTED, "the cause, and not that there is no graph"
    gpu.synchronizing(stream)()
    live = driver.live
    gpu.graph(stream, lambda: None)
    assert driver.live == live + 1, "what could not be recorded has left nothing"


def test_ours_is_not_ended_by_what_other_threads_do(gpu: Gpu) -> None:
    """As a session opens while another one runs: our graphs are recorded for one thread."""

    def run_in_thread() -> None:
        gpu.make_current()
        gpu.device_buffer(8)

    with ThreadPoolExecutor(1) as thread:
        gpu.graph(gpu.stream(), lambda: thread.submit(run_in_thread).result())


def test_work_that_fails_is_told_when_it_is_waited_for_and_by_every_call_after(
    gpu: Gpu, driver: Driver
) -> None:
    array, stream = gpu.pinned((4,), np.dtype(np.float32)), gpu.stream()
    address = gpu.device_buffer(array.nbytes)
    driver.fail(ILLEGAL_ADDRESS)
    gpu.upload(address, array, stream)()
    for call in (gpu.synchronizing(stream), gpu.synchronizing(stream), gpu.free_bytes):
        with pytest.raises(CudaError) as exc_info:
            call()
        assert exc_info.value.code == ILLEGAL_ADDRESS
    gpu.finish()
    gpu.close()
    gpu.close()


def test_closing_waits_on_its_own_device_whichever_is_current(driver: Driver) -> None:
    first = Gpu(0)
    array, stream = first.pinned((4,), np.dtype(np.float32)), first.stream()
    array[:] = 3
    back, address = first.pinned((4,), np.dtype(np.float32)), first.device_buffer(16)
    other = Gpu(1)
    first.make_current()
    first.upload(address, array, stream)()
    first.download(back, address, stream)()
    other.make_current()
    first.finish()
    assert back.tolist() == [3] * 4
    first.close()
    other.close()
    assert driver.live == 0
    assert driver.used == 0


@pytest.mark.parametrize(
    ("full", "memory"), [("device", "the GPU's memory"), ("host", "the host's page-locked memory")]
)
def test_a_lack_of_memory_names_which(gpu: Gpu, driver: Driver, full: str, memory: str) -> None:
    if full == "device":
        driver.memory(0)
    else:
        driver.refuse_host(2)
    with pytest.raises(CudaError) as exc_info:
        gpu.pinned((4,), np.dtype(np.float32)) if full == "host" else gpu.device_buffer(16)
    fault = compile_fault(exc_info.value)
    assert isinstance(fault, OutOfMemory)
    assert str(fault).startswith(memory)


def test_another_error_of_the_driver_is_no_lack_of_memory(gpu: Gpu, driver: Driver) -> None:
    driver.refuse_host(ILLEGAL_ADDRESS)
    with pytest.raises(CudaError) as exc_info:
        gpu.pinned((4,), np.dtype(np.float32))
    assert isinstance(compile_fault(exc_info.value), CompileFault)


@pytest.mark.parametrize("sync", ["spin", "block"])
def test_how_the_host_waits_is_set_before_the_context_and_read_back(
    driver: Driver, sync: str
) -> None:
    waiting.wait_by(1, sync)
    gpu = Gpu(1)
    assert waiting.waits_by(1) == sync
    other = "spin" if sync == "block" else "block"
    waiting.wait_by(1, other)
    assert waiting.waits_by(1) == sync, "a context that is there keeps its own"
    gpu.close()
    waiting.wait_by(1, other)
    assert waiting.waits_by(1) == other


def test_a_device_tells_its_own_name_and_the_cores_near_it(driver: Driver, tmp_path: Path) -> None:
    first, other = identity.uuid_of(0), identity.uuid_of(1)
    assert first == "10101010-1010-1010-1010-101010101010"
    assert other != first
    bus = tmp_path / "sys/bus/pci/devices/0000:c1:00.0"
    bus.mkdir(parents=True)
    (bus / "local_cpulist").write_text("32-63\n")
    assert identity.cores_near(1, tmp_path) == "32-63"
    assert identity.cores_near(0, tmp_path) == ""
    assert identity.uuid_of(9) == ""
