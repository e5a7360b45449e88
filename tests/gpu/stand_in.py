"""A host stand-in for a GPU and its runtime, correct or with one defect.

Outputs are real: ONNX Runtime computes them on the host. Times are those of a device that is
simulated on a clock of its own, which only its work and its waits move: they are the same on any
machine under any load. Each of the others in `STAND_INS` has what one of the
checks exists to find.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from runtimes import registry
from runtimes.base import Arrays, Availability, Available, Lane, Runtime, Session, Unavailable
from runtimes.cuda.options import GPU_OPTIONS
from runtimes.errors import OutOfMemory
from runtimes.execution import Execution, Spans
from runtimes.options import SESSIONS, Option, Request, Settings
from tests.gpu.models import FLOAT_BYTES, Sizes
from tests.gpu.subject import CudaDevice, Limits

STAND_IN_SIZES = Sizes(
    rows=64,
    width=64,
    layers=4,
    copied_rows=64,
    copied_width=1024,
    large_rows=512,
    limit_bytes=2**20,
)
LIMITS = Limits(
    fp32_flop_per_s=1e8, tf32_flop_per_s=8e8, memory_bytes_per_s=1e8, link_bytes_per_s=4e6
)
_CALL_NS, _LAUNCH_NS = 50, 2_000
_WATTS = 300.0
_ALL_MEMORY = 2**40

CORRECT = "correct"
STAND_INS = {
    CORRECT: "no defect",
    "missing": "the runtime is not there",
    "early-return": "a run returns before the device is done",
    "impossible-speed": "a run is faster than the device's arithmetic",
    "short-events": "events tell half of the time",
    "always-tf32": "products are rounded though TF32 is not allowed",
    "unstated-tf32": "TF32 is used and called fp32",
    "unwritten-outputs": "outputs are written by the first run alone",
    "frozen-inputs": "a recorded graph computes on the inputs that it was recorded with",
    "free-copies": "copies at the host's boundary take no time",
    "hidden-copies": "copies are within a run at the device's boundary",
    "mixed-threads": "all sessions compute on the inputs of the last",
    "unnamed-memory-error": "too little memory is an error of another kind",
    "broken-after-memory-error": "no run is right after too little memory",
    "spin-only": "the host spins, whatever was set",
    "blocking-queue": "queueing a run waits for it",
    "uneven-sessions": "every second session is a tenth slower",
    "double-energy": "the energy counter counts twice",
    "slow-torch": "torch.utils.benchmark tells a tenth more",
    "error": "a run raises an error",
    "crash": "a run ends the process",
    "hang": "a run never returns",
}


class StandInDevice(CudaDevice):
    """The simulated device: a queue of work on a clock of its own."""

    def __init__(self, defect: str = CORRECT) -> None:  # without the driver
        self.name = f"host stand-in, {STAND_INS[defect]}"
        self.defect = defect
        self.free_bytes = _ALL_MEMORY
        self.memory_failed = False
        self.sessions = 0
        self._lock = threading.Lock()
        self._now_ns = self._busy_until_ns = self._cpu_ns = 0

    def now_ns(self) -> int:
        with self._lock:
            self._now_ns += _CALL_NS
            return self._now_ns

    def cpu_ns(self) -> int:
        return self._cpu_ns

    def queue(self, duration_ns: float) -> None:
        """Put work behind what is there."""
        with self._lock:
            self._now_ns += _LAUNCH_NS
            self._cpu_ns += _LAUNCH_NS
            self._busy_until_ns = max(self._busy_until_ns, self._now_ns) + round(duration_ns)

    def wait(self, spin: bool) -> None:
        with self._lock:
            left_ns = max(self._busy_until_ns - self._now_ns, 0)
            self._now_ns += left_ns
            self._cpu_ns += left_ns if spin else 0

    def synchronize(self) -> None:
        self.wait(spin=True)

    def limits(self) -> Limits:
        return LIMITS

    def energy_j(self) -> float:
        factor = 2 if self.defect == "double-energy" else 1
        return self._now_ns / 1e9 * _WATTS * factor

    def power_log(self) -> Callable[[], list[float]]:
        begin_ns = self._now_ns
        return lambda: [_WATTS] * round((self._now_ns - begin_ns) / 50e6)

    def torch_chain_ns(self, rows: int, width: int, layers: int) -> float:
        assert LIMITS.fp32_flop_per_s is not None
        factor = 1.1 if self.defect == "slow-torch" else 1.0
        return 2e9 * rows * width * width * layers / LIMITS.fp32_flop_per_s * factor

    def close(self) -> None:
        """There is nothing to give back."""


class StandInRuntime(Runtime):
    """Has the options of every GPU runtime, and computes through `ort-cpu`."""

    name = "stand-in"
    summary = "the host in the place of a GPU"
    options = (*GPU_OPTIONS, Option("mode", "eager", "ignored"), SESSIONS)

    def __init__(self, device: StandInDevice) -> None:
        self.device = device

    def availability(self) -> Availability:
        if self.device.defect == "missing":
            return Unavailable("the stand-in is missing", "name another defect")
        return Available("1")

    def limited(
        self, device: str, settings: Settings, limit_bytes: int
    ) -> AbstractContextManager[None]:
        return self._leaving(limit_bytes)

    @contextmanager
    def _leaving(self, limit_bytes: int) -> Iterator[None]:
        self.device.free_bytes = limit_bytes
        yield
        self.device.free_bytes = _ALL_MEMORY

    def _compile(self, request: Request) -> Session:
        needed_bytes = sum(int(np.prod(shape)) * FLOAT_BYTES for shape in request.shapes.values())
        if needed_bytes > self.device.free_bytes:
            self.device.memory_failed = True
            if self.device.defect == "unnamed-memory-error":
                raise RuntimeError("the device failed")
            raise OutOfMemory("the stand-in has too little memory", "use a smaller batch")
        return StandInSession(request, self.device)


class StandInSession(Session):
    def __init__(self, request: Request, device: StandInDevice) -> None:
        self._engine = registry.load("ort-cpu").compile(
            request.model, request.axes, Settings(threads=1)
        )
        device.sessions += 1
        self._device = device
        self._durations = durations(request, device)
        self.lanes = (StandInLane(self._engine.lanes[0], request, device, sum(self._durations)),)
        defect, options = device.defect, request.options
        tf32 = bool(options["tf32"]) and defect != "unstated-tf32"
        sync = "spin" if defect == "spin-only" else str(options["sync"])
        self.execution = Execution(
            provider="stand-in",
            precision="tf32" if tf32 else "fp32",
            device_name=device.name,
            call_path="stand-in",
            facts={"sync": sync},
        )

    def spans(self, runs: int) -> Spans:
        factor = 0.5 if self._device.defect == "short-events" else 1.0
        h2d, compute, d2h = (
            np.full(runs, round(part * factor), np.int64) for part in self._durations
        )
        return Spans(compute, h2d, d2h) if self._durations[0] else Spans(compute)

    def close(self) -> None:
        self._engine.close()


class StandInLane(Lane):
    """A lane of `ort-cpu` whose runs take the simulated device's time."""

    def __init__(
        self, engine: Lane, request: Request, device: StandInDevice, duration_ns: float
    ) -> None:
        self._engine, self._device, self._duration_ns = engine, device, duration_ns
        self._spins = request.options["sync"] == "spin" or device.defect == "spin-only"
        self._rounds = bool(request.options["tf32"]) or device.defect == "always-tf32"
        self._is_frozen = device.defect == "frozen-inputs" and bool(request.options["cuda_graph"])
        self._runs = 0
        self.run = self._run
        self.enqueue = self._enqueue
        self.synchronize = self._synchronize

    def bind(self, inputs: Arrays) -> None:
        if self._device.defect == "mixed-threads":
            _last_inputs[:] = [dict(inputs)]
        if not (self._is_frozen and self._runs):
            self._engine.bind(inputs)

    def outputs(self) -> dict[str, np.ndarray]:
        outputs = self._engine.outputs()
        if self._rounds:
            return {name: _round_tf32(array) for name, array in outputs.items()}
        return outputs

    def poison(self) -> None:
        self._engine.poison()

    def advance(self) -> None:
        self._engine.advance()

    def _run(self) -> None:
        self._enqueue()
        if self._device.defect != "early-return":
            self._device.wait(self._spins)

    def _enqueue(self) -> None:
        defect = self._device.defect
        _fail_as(defect)
        if defect == "mixed-threads":
            self._engine.bind(_last_inputs[0])
        if not (defect == "unwritten-outputs" and self._runs):
            self._engine.run()
        if defect == "broken-after-memory-error" and self._device.memory_failed:
            self._engine.poison()
        self._runs += 1
        self._device.queue(self._duration_ns)
        if defect == "blocking-queue":
            self._device.wait(self._spins)

    def _synchronize(self) -> None:
        self._device.wait(self._spins)


_last_inputs: list[Any] = []


def durations(request: Request, device: StandInDevice) -> tuple[float, float, float]:
    """Nanoseconds of the copy in, the work and the copy out of a run, by sizes and limits."""
    defect, options, limits = device.defect, request.options, LIMITS
    assert limits.fp32_flop_per_s and limits.tf32_flop_per_s
    assert limits.memory_bytes_per_s and limits.link_bytes_per_s
    size = sum(int(np.prod(shape)) * FLOAT_BYTES for shape in request.shapes.values())
    sizes = STAND_IN_SIZES
    is_chain = request.model.name == "chain"
    flop = 2.0 * sizes.rows * sizes.width * sizes.width * sizes.layers if is_chain else 0.0
    tf32 = bool(options["tf32"]) or defect == "always-tf32"
    peak = limits.tf32_flop_per_s if tf32 else limits.fp32_flop_per_s
    compute = max(flop / peak, 2 * size / limits.memory_bytes_per_s) * 1e9
    if defect == "impossible-speed":
        compute /= 10
    if defect == "uneven-sessions" and device.sessions % 2:
        compute *= 1.1
    has_copies = options["boundary"] == "host" and defect != "free-copies"
    copy = size / limits.link_bytes_per_s * 1e9 if has_copies or defect == "hidden-copies" else 0.0
    return copy, compute, copy


def _fail_as(defect: str) -> None:
    match defect:
        case "error":
            raise RuntimeError("CUDA failure 700: an illegal memory access was encountered")
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            time.sleep(3600)


def _round_tf32(array: np.ndarray) -> np.ndarray:
    """To 10 bits of mantissa."""
    bits = array.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    return np.asarray(bits).view(np.float32)
