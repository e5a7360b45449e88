"""Base of the runtimes on a GPU: their devices, and whether this machine has the libraries and the
driver of a CUDA engine.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from ctypes import byref, c_int
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from exporters.diagnostics import diagnostic
from runtimes.base import Device, DeviceEviction, DevicePeak, Runtime, Session, Unavailable
from runtimes.cuda import driver, options
from runtimes.cuda.options import HOST_MEMORY, SYNC
from runtimes.options import Request, Settings, all_options

CUDA_REMEDY = "pip install 'graphlap[gpu]'"
TENSORRT_REMEDY = "pip install 'graphlap[tensorrt]'"
_CUDA_OF_EXTRA = 13
_DRIVER_REMEDY = "install the NVIDIA driver of this machine's GPU"

# The oldest Linux driver of each major release: docs.nvidia.com/cuda/cuda-toolkit-release-notes.
_OLDEST_DRIVER = {11: "450.80", 12: "525.60", 13: "580"}


@dataclass(frozen=True, slots=True)
class Libraries:
    """Sonames that belong together, in the order in which they need one another.

    `late` are those that an engine opens only where a graph needs them: they are opened from where
    they are, and not missed.
    """

    sonames: tuple[str, ...]
    remedy: str
    late: tuple[str, ...] = ()


def of_cuda(major: int) -> Libraries:
    """What an engine that is built for a CUDA release links, and what it opens late.

    cuFFT's number is one behind: docs.nvidia.com/cuda/cuda-toolkit-release-notes.
    """
    remedy = CUDA_REMEDY if major == _CUDA_OF_EXTRA else f"install the libraries of CUDA {major}"
    return Libraries(
        (
            f"libcublasLt.so.{major}",
            f"libcublas.so.{major}",
            f"libcudart.so.{major}",
            "libcurand.so.10",
        ),
        remedy,
        (f"libnvrtc.so.{major}", f"libcufft.so.{major - 1}", "libcudnn.so.9"),
    )


def why_not(
    library_groups: Iterable[Libraries], cuda_major: int, engine: str
) -> Unavailable | None:
    """The first reason why `engine`, built for CUDA `cuda_major`, can't run; None if it can.

    The driver is asked before the libraries: without one no package helps.
    """
    try:
        version, names = driver.version(), driver.device_names()
    except driver.DriverTooOld as error:
        return Unavailable(f"the NVIDIA driver is too old ({error})", _update_of(cuda_major))
    except OSError as error:
        return Unavailable(f"no NVIDIA driver is installed ({error})", _DRIVER_REMEDY)
    except driver.CudaError as error:
        return Unavailable(
            f"the NVIDIA driver does not start ({error})",
            "see the output of nvidia-smi and the value of CUDA_VISIBLE_DEVICES",
        )
    if not names:
        return Unavailable(
            "the NVIDIA driver finds no device",
            "see the output of nvidia-smi and the value of CUDA_VISIBLE_DEVICES",
        )
    if version[0] < cuda_major:
        return Unavailable(
            f"the NVIDIA driver knows CUDA {version[0]}.{version[1]}, "
            f"and {engine} is built for CUDA {cuda_major}",
            _update_of(cuda_major),
        )
    for group in library_groups:
        missing = open_libraries(group.sonames)
        if missing:
            names_missing = ", ".join(missing)
            words = next(iter(missing.values()))
            return Unavailable(f"{engine} does not find {names_missing} ({words})", group.remedy)
        open_libraries(group.late)
    return None


def _update_of(cuda_major: int) -> str:
    """The step that brings a driver which knows a CUDA release."""
    oldest = _OLDEST_DRIVER.get(cuda_major)
    return f"update the driver to {oldest} or newer" if oldest else "update the driver"


def open_libraries(sonames: Iterable[str]) -> dict[str, str]:
    """Open each library for the whole process; what failed, with the loader's words."""
    missing = {}
    options.loading()
    for soname in sonames:
        try:
            _open(soname)
        except OSError as error:
            missing[soname] = str(error)
    return missing


def _open(soname: str) -> ctypes.CDLL:
    for folder in wheel_folders():
        if (folder / soname).is_file():
            return ctypes.CDLL(str(folder / soname), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(soname, mode=ctypes.RTLD_GLOBAL)


def open_first(sonames: Iterable[str]) -> ctypes.CDLL | None:
    """The first of the libraries that can be opened; None if none can."""
    for soname in sonames:
        try:
            return _open(soname)
        except OSError:
            continue
    return None


def wheel_folders() -> list[Path]:
    """Where the nvidia and TensorRT wheels keep their libraries; empty without them."""
    nvidia = [folder for root in _roots("nvidia") for folder in sorted(root.glob("*/lib"))]
    return nvidia + _roots("tensorrt_libs") + _roots("tensorrt_rtx_libs")


def _roots(package: str) -> list[Path]:
    spec = find_spec(package)
    return [Path(root) for root in (spec.submodule_search_locations if spec else None) or ()]


def infer_version(soname: str) -> str:
    """The version of an opened TensorRT library, as `10.16.1`."""
    library = _open(soname)
    # Major, minor and patch in decimal places, two for each of the last two.
    number = int(library.getInferLibVersion())
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def devices() -> tuple[Device, ...]:
    """One for each GPU that the driver lets this process see."""
    try:
        names = driver.device_names()
    except (OSError, driver.CudaError):
        return ()
    return tuple(Device(str(index), name) for index, name in enumerate(names))


@dataclass(slots=True)
class Captured:
    """What C code wrote to the standard error stream; empty until the block has ended."""

    text: str = field(default="")

    def release(self) -> None:
        """Write it where it would have gone."""
        os.write(2, self.text.encode())


@contextmanager
def standard_error_captured() -> Iterator[Captured]:
    """Take what engines and the loader print to file descriptor 2, which Python can't see."""
    capture = Captured()
    with tempfile.TemporaryFile() as file:
        original_stderr = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield capture
        finally:
            os.dup2(original_stderr, 2)
            os.close(original_stderr)
            file.seek(0)
            capture.text = file.read().decode(errors="replace")


_L2_PASSES = 2
"""So many times its size replaces what a cache held, whichever line it gives up first."""
_Opened = TypeVar("_Opened", bound=Session)


# Of the driver's cuDeviceGetAttribute, as cuda.h numbers them.
_CLOCK_KHZ, _MULTIPROCESSORS, _MEMORY_CLOCK_KHZ, _MEMORY_BUS_BITS = 13, 16, 36, 37
_MAJOR, _MINOR = 75, 76
# For each compute capability the fp32 lanes of a multiprocessor (CUDA C++ Programming Guide,
# "Arithmetic Instructions") and the most dense TF32 operations that it does in a clock (the data
# sheets' peaks over multiprocessors and boost clock; 0 for none).
_BY_CAPABILITY = {
    (7, 0): (64, 0),
    (7, 5): (64, 0),
    (8, 0): (64, 1024),
    (8, 6): (128, 512),
    (8, 9): (128, 512),
    (9, 0): (128, 2048),
    (10, 0): (128, 4096),
    (12, 0): (128, 1024),
}
_TF32_MULTIPLES: Mapping[str, int] = {"tf32": 1, "fp16": 2, "bf16": 2}
"""Where there are tensor cores for TF32, their rate in narrower types, by the data sheets."""


@dataclass(frozen=True, slots=True)
class Rates:
    """At the highest clocks; None where they are not known."""

    fp32_flop_per_s: float | None
    tf32_flop_per_s: float | None
    memory_bytes_per_s: float | None


def rates_of(index: int) -> Rates:
    """Of the device that the driver gives this number."""
    capability = (_attribute(index, _MAJOR), _attribute(index, _MINOR))
    lanes, tf32 = _BY_CAPABILITY.get(capability, (None, None))
    clocks_per_s = _attribute(index, _MULTIPROCESSORS) * _attribute(index, _CLOCK_KHZ) * 1e3
    # Both edges of the memory's clock carry data.
    memory_clock = 2e3 * _attribute(index, _MEMORY_CLOCK_KHZ)
    return Rates(
        None if lanes is None else 2 * lanes * clocks_per_s,
        tf32 * clocks_per_s if tf32 else None,
        memory_clock * _attribute(index, _MEMORY_BUS_BITS) / 8 or None,
    )


def device_peak(index: int, precision: str) -> DevicePeak | None:
    """The most that a device computes in one precision; None where that is not known."""
    rates = rates_of(index)
    flop_per_s = rates.fp32_flop_per_s if precision == "fp32" else None
    if precision in _TF32_MULTIPLES and rates.tf32_flop_per_s:
        flop_per_s = _TF32_MULTIPLES[precision] * rates.tf32_flop_per_s
    if not flop_per_s or not rates.memory_bytes_per_s:
        return None
    how = f"the highest clocks of {driver.device_names()[index]}, {precision}"
    return DevicePeak(flop_per_s, rates.memory_bytes_per_s, how)


def _attribute(index: int, number: int) -> int:
    value = c_int()
    driver.library().cuDeviceGetAttribute(byref(value), number, driver.device_of(index))
    return value.value


class GpuRuntime(Runtime):
    """Runs on one GPU, which goes by the number that the driver gives it."""

    accelerator = "gpu"
    default_device = "0"

    def devices(self) -> tuple[Device, ...]:
        return devices()

    def device_uuid(self, device: str) -> str:
        number = device or self.default_device
        return driver.uuid_of(int(number)) if number.isdecimal() else ""

    def cores_near(self, device: str) -> str:
        number = device or self.default_device
        return driver.cores_near(int(number)) if number.isdecimal() else ""

    def limited(
        self, device: str, settings: Settings, limit_bytes: int
    ) -> AbstractContextManager[None]:
        if not limit_bytes:
            return nullcontext()
        number = int(device or self.default_device)
        # The context is made here already.
        driver.wait_by(number, str(all_options(self.options, settings.options)[SYNC.name]))
        return driver.leaving(number, limit_bytes)

    def device_eviction(self, device: str) -> DeviceEviction | None:
        gpu = driver.Gpu(int(device or self.default_device))
        size = _L2_PASSES * gpu.l2_bytes()
        if not size:
            gpu.close()
            return None
        address, stream = gpu.device_buffer(size), gpu.stream().value or 0
        cuda = driver.library()

        def clear() -> None:
            cuda.cuMemsetD8Async(address, 0, size, stream)
            cuda.cuStreamSynchronize(stream)

        calls = (
            driver.calling("cuMemsetD8Async", address, 0, size, stream),
            driver.calling("cuStreamSynchronize", stream),
        )
        return DeviceEviction(size, clear, calls, gpu.close)

    def device_peak(self, device: str, precision: str) -> DevicePeak | None:
        number = device or self.default_device
        return device_peak(int(number), precision) if number.isdecimal() else None

    def _before(self, request: Request) -> None:
        """What must be so before an engine makes the context that all share."""
        driver.wait_by(int(request.settings.device), str(request.options[SYNC.name]))

    def _told(self, request: Request, session: _Opened) -> _Opened:
        """The session, which says how the host waits for its runs and what they copy from."""
        execution, requested_sync = session.execution, request.options[SYNC.name]
        actual_sync = driver.waits_by(int(request.settings.device))
        facts, path = {"sync": actual_sync}, execution.call_path
        if execution.boundary == "host":
            facts["host_memory"] = str(request.options[HOST_MEMORY.name])
            path = f"{path}, {facts['host_memory']} host memory"
        warning = diagnostic("sync_not_granted", requested=str(requested_sync), actual=actual_sync)
        session.execution = replace(
            execution,
            call_path=path,
            facts={**execution.facts, **facts},
            warnings=execution.warnings + ((warning,) if actual_sync != requested_sync else ()),
        )
        return session
