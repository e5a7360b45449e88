"""What the driver is asked, over a stand-in that fails as CUDA does, and what a machine lacks."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from runtimes import registry
from runtimes.base import Unavailable
from runtimes.cuda import driver as cuda_driver
from runtimes.cuda import driver as identity
from runtimes.cuda import driver as waiting
from runtimes.cuda import runtime as libraries
from runtimes.cuda.driver import CudaError, Gpu, compile_fault
from runtimes.cuda.runtime import CUDA_REMEDY, Libraries, why_not
from runtimes.errors import CompileFault, NotAvailable, OutOfMemory
from runtimes.onnxruntime.gpu_runtimes import OrtCuda
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings
from tests.runtimes.graphs import Graphs
from tests.runtimes.stand_ins.fixtures import Driver, shared_library

UNSUPPORTED, ILLEGAL_ADDRESS = 900, 700


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
    ("host_code", "kind", "told"),
    [
        (0, OutOfMemory, "the GPU's memory"),
        (2, OutOfMemory, "the host's page-locked memory"),
        (ILLEGAL_ADDRESS, CompileFault, ""),
    ],
)
def test_a_lack_of_memory_names_which(
    gpu: Gpu, driver: Driver, host_code: int, kind: type[Exception], told: str
) -> None:
    driver.memory(0)
    driver.refuse_host(host_code)
    with pytest.raises(CudaError) as exc_info:
        gpu.pinned((4,), np.dtype(np.float32)) if host_code else gpu.device_buffer(16)
    fault = compile_fault(exc_info.value)
    assert type(fault) is kind
    assert str(fault).startswith(told)


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


GPU_RUNTIMES = ("ort-cuda", "ort-tensorrt", "tensorrt", "tensorrt-rtx", "torch-cuda")
ABSENT = Libraries(("libgraphlap_absent.so.1", "libgraphlap_absent.so.2"), CUDA_REMEDY)


def reason(*libraries_needed: Libraries, cuda_major: int = 13) -> Unavailable:
    refusal = why_not(libraries_needed, cuda_major, "the engine")
    assert refusal is not None
    return refusal


def test_what_a_machine_lacks_is_told(driver: Driver) -> None:
    for state in ({"devices": 0}, {"init": 100}):
        driver.set(**state)
        assert "finds no device" in reason().reason
        assert libraries.devices() == ()
    for version, parts, remedy in (
        (12040, ("CUDA 12.4", "CUDA 13"), "update the driver to 580 or newer"),
        (13000, (*ABSENT.sonames, "cannot open shared object file"), CUDA_REMEDY),
    ):
        driver.set(version=version)
        refusal = reason(ABSENT)
        assert all(part in refusal.reason for part in parts)
        assert refusal.remedy == remedy


@pytest.mark.parametrize("place", ["nvidia/cu13/lib", "nvidia/thing/lib", "tensorrt_libs"])
def test_libraries_are_found_in_wheels_and_opened_for_the_process(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    source = "int graphlap_thing(void) { return 7; }"
    # Once opened it stays so: each place has a name of its own.
    soname = f"libgraphlap_{place.replace('/', '_')}.so.13"
    shared_library(folder / soname, source, [f"-Wl,-soname,{soname}"])
    assert why_not([Libraries((soname,), "")], 13, "the engine") is not None
    monkeypatch.syspath_prepend(str(tmp_path))
    assert why_not([Libraries((soname,), "")], 13, "the engine") is None
    # An engine that is linked to the soname finds what is already open.
    assert ctypes.CDLL(soname).graphlap_thing() == 7


@pytest.mark.parametrize("name", GPU_RUNTIMES)
def test_the_device_defaults_to_the_first(name: str, driver: Driver, graphs: Graphs) -> None:
    runtime = registry.load(name)
    for device_option, device in (("", "0"), ("1", "1")):
        request = runtime.request(graphs.dense, {"batch": 1}, Settings(device=device_option))
        assert request.settings.device == device
    driver.set(devices=0)
    with pytest.raises(NotAvailable, match="'0'"):
        runtime.request(graphs.dense, {"batch": 1}, Settings())


def test_a_driver_that_lacks_a_function_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for its version before all that newer ones have."""
    library = shared_library(tmp_path / "libcuda.so.1", "int cuInit(unsigned f) { return 0; }")
    monkeypatch.setattr(cuda_driver, "SONAME", str(library))
    cuda_driver.library.cache_clear()
    try:
        refusal = reason()
        assert "lacks cu" in refusal.reason and "update the driver to 580" in refusal.remedy
        assert "update the driver" in reason(cuda_major=0).remedy
        assert libraries.devices() == ()
        for name in GPU_RUNTIMES:
            state = registry.load(name).availability()
            assert isinstance(state, Unavailable)
    finally:
        cuda_driver.library.cache_clear()


@pytest.mark.parametrize(
    ("precision", "tera_flop_per_s"),
    # The data sheet's dense figures at 1830 MHz; fp32 at the highest clock, 1980 MHz.
    [("fp32", 67.0), ("tf32", 494 * 1980 / 1830), ("bf16", 989 * 1980 / 1830)],
)
def test_the_peak_is_the_precisions(driver: Driver, precision: str, tera_flop_per_s: float) -> None:
    peak = OrtCuda().device_peak("0", precision)
    assert peak is not None
    assert peak.flops_per_s == pytest.approx(tera_flop_per_s * 1e12, rel=0.01)
    assert peak.bytes_per_s == pytest.approx(3.35e12, rel=0.01)
    assert "Stand-in GPU" in peak.how


def test_what_is_not_known_has_no_peak(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    assert OrtCuda().device_peak("0", "int8+fp16") is None
    assert OrtCpu().device_peak("", "fp32") is None
    monkeypatch.setattr(libraries, "_BY_CAPABILITY", {})
    assert OrtCuda().device_peak("0", "fp32") is None
