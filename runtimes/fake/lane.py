"""A lane whose runs last as long as their script says, then answer or fail as it says."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import NoReturn

import numpy as np

from exporters.types import Reference
from runtimes.faults import OutOfMemory, RunFault
from runtimes.options import OptionValue
from runtimes.request import Request, batch_size
from runtimes.session.host import HostLane, aligned_empty, input_buffers

_DRAWN = 4096
_SECOND_MODE_SHARE = 0.2
_PAUSE_NS = 5_000_000
_NOISE, _NOISE_BYTES = b"?" * (1 << 16), 1 << 24


class FakeLane(HostLane):
    """Each run passes its time, then fails or copies the reference's outputs out."""

    def __init__(
        self, request: Request, reference: Reference, script: Mapping[str, OptionValue]
    ) -> None:
        outputs = {
            name: aligned_empty(array.shape, array.dtype)
            for name, array in reference.outputs.items()
        }
        super().__init__(input_buffers(request), outputs, request.model.states)
        self.run = self._scripted(
            reference.outputs, script, batch_size(request.model, request.axes)
        )
        if script["queue"]:
            self._queued = 0
            self.enqueue, self.synchronize = self._enqueue, self._synchronize

    def _enqueue(self) -> None:
        self._queued += 1

    def _synchronize(self) -> None:
        while self._queued:
            self._queued -= 1
            self.run()

    def _scripted(
        self, expected: Mapping[str, np.ndarray], script: Mapping[str, OptionValue], inputs: int
    ) -> Callable[[], None]:
        per_run_ns = round(float(script["per_input_us"]) * 1e3) * inputs
        latencies = cycle((latencies_ns(script) + per_run_ns).tolist())
        failure = _FAILURES.get(str(script["fail"]))
        spin = script["wait"] == "spin"
        spoil = _SPOILING.get(str(script["fail"]))
        left, runs = int(script["fail_after"]), 0
        slowing_per_ns = float(script["slowing"]) * 1e-9
        after_pause_ns = int(float(script["after_pause_us"]) * 1e3)
        stall_ns, stall_every = int(float(script["stall_us"]) * 1e3), int(script["stall_every"])
        begun_ns = ended_ns = time.perf_counter_ns()
        buffers = self.output_buffers

        def run() -> None:
            nonlocal left, ended_ns, runs
            now = time.perf_counter_ns()
            until = now + int(next(latencies) * (1.0 + slowing_per_ns * (now - begun_ns)))
            until += after_pause_ns * (now - ended_ns > _PAUSE_NS)
            runs += 1
            if stall_every and runs % stall_every == 0:
                until += stall_ns
            failing = left <= 0
            left -= 1
            if failing and failure is not None:
                failure()
            for name, buffer in buffers.items():
                np.copyto(buffer, expected[name])
                if spoil is not None and failing:
                    spoil(buffer)
            if not spin:
                time.sleep(max(0, until - time.perf_counter_ns()) * 1e-9)
            while (ended_ns := time.perf_counter_ns()) < until:
                pass

        return run


def latencies_ns(script: Mapping[str, OptionValue]) -> np.ndarray:
    """4,096 int64 latencies that the runs go through in turn, without what an input adds."""
    typical, spread = float(script["latency_us"]), float(script["spread_us"])
    rng = np.random.default_rng(int(script["seed"]))
    latencies = np.full(_DRAWN, typical)
    if script["distribution"] == "normal":
        latencies += rng.normal(0.0, spread, _DRAWN)
    elif script["distribution"] == "bimodal":
        latencies += spread * (rng.random(_DRAWN) < _SECOND_MODE_SHARE)
    elif script["distribution"] == "exponential":
        latencies = rng.exponential(typical, _DRAWN)
    return np.rint(np.maximum(latencies, 0.0) * 1e3).astype(np.int64)


def _spoil(buffer: np.ndarray) -> None:
    """Change every element, by more than any tolerance."""
    if buffer.dtype.kind == "b":
        np.logical_not(buffer, out=buffer)
    else:
        np.add(buffer, 1 + np.abs(buffer), out=buffer, casting="unsafe")


def _fill_with_nan(buffer: np.ndarray) -> None:
    """Where the type has it; all else is spoiled."""
    if buffer.dtype.kind == "f":
        buffer.fill(np.nan)
    else:
        _spoil(buffer)


def _fail_run() -> NoReturn:
    raise RunFault("fake was set to fail this run", "use fail=none")


def _run_out_of_memory() -> NoReturn:
    raise OutOfMemory("fake was set to run out of memory", "use fail=none")


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def abort() -> None:
    """As an engine's failed assertion does."""
    os.abort()


def leave() -> NoReturn:
    """End the process as if all were well, without a word."""
    os._exit(0)


def be_noisy() -> None:
    """Sixteen megabytes on standard error, in one line without an end."""
    for _ in range(_NOISE_BYTES // len(_NOISE)):
        os.write(2, _NOISE)


def hang() -> NoReturn:
    while True:
        time.sleep(3600)


_FAILURES: dict[str, Callable[[], None]] = {
    "run": _fail_run,
    "oom": _run_out_of_memory,
    "crash": crash,
    "abort": abort,
    "exit": leave,
    "hang": hang,
}
_SPOILING: dict[str, Callable[[np.ndarray], None]] = {"wrong": _spoil, "nan": _fill_with_nan}
