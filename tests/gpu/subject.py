"""One runtime on one GPU as the checks use it: sessions, times of runs, and what the GPU reads."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from runtimes.base import Lane, Runtime, Session
from runtimes.cuda import driver
from runtimes.cuda.runtime import rates_of
from runtimes.options import OptionValue, Settings
from runtimes.session.session_group import compile_sessions
from tests.gpu.models import Model, Models


class NotRun(Exception):
    """Why a check could not be made here; it neither passes nor fails."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What no run can exceed; None where the machine does not say it."""

    fp32_flop_per_s: float | None
    tf32_flop_per_s: float | None
    memory_bytes_per_s: float | None
    link_bytes_per_s: float | None
    """Through the bus, one way."""


# Bytes per second and lane of each PCIe generation, after its line code.
_PCIE_LANE = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9}


class CudaDevice:
    """The first GPU that the process may use, by the driver alone; its clock times the runs."""

    def __init__(self) -> None:
        self.name = driver.device_names()[0]
        self._uuid = driver.uuid_of(0)
        self._gpu: driver.Gpu | None = None

    def now_ns(self) -> int:
        return time.perf_counter_ns()

    def cpu_ns(self) -> int:
        """The calling thread's time on a core."""
        return time.thread_time_ns()

    def synchronize(self) -> None:
        """Wait for all work of the process on the device, whoever queued it."""
        # Not made before it is needed: how a context waits is set before an engine makes it.
        self._gpu = self._gpu or driver.Gpu(0)
        self._gpu.make_current()
        driver.library().cuCtxSynchronize()

    def limits(self) -> Limits:
        rates = rates_of(0)
        return Limits(
            rates.fp32_flop_per_s,
            rates.tf32_flop_per_s,
            rates.memory_bytes_per_s,
            self._link_bytes_per_s(),
        )

    def energy_j(self) -> float:
        """The device's energy counter as the product reads it; NotRun without one."""
        try:
            import pynvml
        except ImportError:
            raise NotRun("nvidia-ml-py is not installed") from None
        from app.machine.telemetry import Nvml

        try:
            reading = Nvml(pynvml).read(0, self._uuid, os.getpid())
        except pynvml.NVMLError as error:
            raise NotRun(f"NVML does not answer: {error}") from None
        if reading is None or reading.energy_mj is None:
            raise NotRun("this GPU has no energy counter")
        return reading.energy_mj / 1e3

    def power_log(self) -> Callable[[], list[float]]:
        """Begin to note the device's power by another program; the call ends it, in watts."""
        command = [*self._smi("power.draw.instant"), "-lms", "50"]
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        except OSError as error:
            raise NotRun(f"nvidia-smi does not start: {error}") from None

        def finish() -> list[float]:
            process.terminate()
            lines = process.communicate(timeout=10)[0].split()
            return [float(line) for line in lines if _is_number(line)]

        return finish

    def torch_chain_ns(self, rows: int, width: int, layers: int) -> float:
        """The chain of products by torch.utils.benchmark; NotRun where torch has no GPU."""
        import torch
        from torch.utils import benchmark

        if not torch.cuda.is_available():
            raise NotRun("torch finds no GPU")
        torch.backends.cuda.matmul.allow_tf32 = False
        x, w = (torch.randn(n, width, device="cuda") / width**0.5 for n in (rows, width))

        def run() -> None:
            y = x
            for _ in range(layers):
                y = y @ w

        timer = benchmark.Timer("run()", globals={"run": run})
        with torch.inference_mode():
            return float(timer.blocked_autorange(min_run_time=2).median) * 1e9

    def close(self) -> None:
        if self._gpu is not None:
            self._gpu.close()

    def _smi(self, fields: str) -> list[str]:
        # CUDA's number of a GPU may be another than nvidia-smi's.
        id_flag = f"--id=GPU-{self._uuid}"
        return ["nvidia-smi", id_flag, f"--query-gpu={fields}", "--format=csv,noheader,nounits"]

    def _link_bytes_per_s(self) -> float | None:
        command = self._smi("pcie.link.gen.max,pcie.link.width.max")
        try:
            process = subprocess.run(
                command, capture_output=True, text=True, timeout=20, check=True
            )
            generation, width = map(int, process.stdout.split(","))
        except (OSError, subprocess.SubprocessError, ValueError):
            return None
        lane = _PCIE_LANE.get(generation)
        return None if lane is None else lane * width


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


Options = Mapping[str, OptionValue]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check got and wanted."""

    got: str
    wanted: str
    passed: bool


class Subject:
    """Keeps the last session open, so that checks of one configuration share it."""

    def __init__(
        self, runtime: Runtime, device: CudaDevice, models: Models, cache_dir: str
    ) -> None:
        self.runtime, self.device, self.models = runtime, device, models
        self._cache_dir = cache_dir
        self._key: object = None
        self._session: Session | None = None

    def compile(self, model: Model, options: Options) -> Session:
        """A new session, which the caller closes."""
        settings = Settings(options=dict(options), cache_dir=self._cache_dir)
        return compile_sessions(self.runtime, model.exported, model.axes, settings)

    def session(self, model: Model, options: Options) -> Session:
        """A session with the model's inputs in its first lane, open until another is asked for."""
        key = (model.exported.name, tuple(sorted(options.items())))
        if self._session is None or key != self._key:
            self.close()
            self._session, self._key = self.compile(model, options), key
        self._session.lanes[0].enter()
        self._session.lanes[0].bind(model.inputs)
        return self._session

    def lane(self, model: Model, options: Options) -> Lane:
        return self.session(model, options).lanes[0]

    def times_ns(self, call: Callable[[], object], runs: int = 15, warm: int = 5) -> list[int]:
        """How long each of several calls takes on the host's clock."""
        for _ in range(warm):
            call()
        times = []
        for _ in range(runs):
            begin = self.device.now_ns()
            call()
            times.append(self.device.now_ns() - begin)
        return times

    def median_ns(self, call: Callable[[], object], runs: int = 15, warm: int = 5) -> float:
        return statistics.median(self.times_ns(call, runs, warm))

    def left_us(self, call: Callable[[], object], tries: int = 5) -> float:
        """How long the device still works after a call; the median of several tries."""
        times = []
        for _ in range(tries):
            call()
            begin = self.device.now_ns()
            self.device.synchronize()
            times.append(self.device.now_ns() - begin)
        return statistics.median(times) / 1e3

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


def largest_difference(
    actual: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]
) -> float:
    """The largest difference of any element over the largest element; infinite for what is not a
    number, and for other names or shapes."""
    if actual.keys() != expected.keys():
        return np.inf
    largest = 0.0
    for name, expected_output in expected.items():
        if actual[name].shape != expected_output.shape:
            return np.inf
        difference = float(
            np.max(np.abs(actual[name] - expected_output)) / np.max(np.abs(expected_output))
        )
        largest = max(largest, np.inf if np.isnan(difference) else difference)
    return largest
