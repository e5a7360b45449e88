"""Runtime that follows a script: chosen latencies on the real clock, chosen failures, its session
and its lane.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from itertools import cycle
from typing import ClassVar, NoReturn

import numpy as np

from exporters.types import Reference, axes_key
from runtimes.base import Availability, Available, Device, Runtime, Session
from runtimes.errors import (
    CompileFault,
    NotAvailable,
    OutOfMemory,
    RunFault,
    RuntimeFault,
    Unsupported,
)
from runtimes.execution import Execution
from runtimes.options import SESSIONS, Option, OptionValue, Request, batch_size
from runtimes.session.host import HostLane, aligned_empty, input_buffers

_DRAW_COUNT = 4096
_SECOND_MODE_SHARE = 0.2
_PAUSE_NS = 5_000_000
_NOISE, _NOISE_BYTES = b"?" * (1 << 16), 1 << 24


class FakeLane(HostLane):
    """Each run passes its time, then fails or copies the reference's outputs out."""

    def __init__(
        self, request: Request, reference: Reference, script: Mapping[str, OptionValue]
    ) -> None:
        outputs = {name: aligned_empty(a.shape, a.dtype) for name, a in reference.outputs.items()}
        super().__init__(input_buffers(request), outputs, request.model.states)
        self.run = self._run_script(
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

    def _run_script(
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
        is_disturbed, factor = disturbances(script), float(script["disturbed"])
        begun_ns = ended_ns = time.perf_counter_ns()
        buffers = self.output_buffers

        def run() -> None:
            nonlocal left, ended_ns, runs
            now = time.perf_counter_ns()
            slower = factor if is_disturbed(now) else 1.0
            until = now + int(next(latencies) * slower * (1.0 + slowing_per_ns * (now - begun_ns)))
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


def disturbances(script: Mapping[str, OptionValue]) -> Callable[[int], bool]:
    """Whether the machine is disturbed at a time of the performance counter, in spells drawn half
    and half: the same for all processes, or each its own."""
    spell_ns = int(float(script["spell_ms"]) * 1e6)
    process = str(os.getpid()) if script["spells"] == "own" else ""
    if not spell_ns:
        return lambda now: False

    def is_disturbed(now: int) -> bool:
        spell = f"{now // spell_ns} {process}".encode()
        return bool(blake2b(spell, digest_size=1).digest()[0] & 1)

    return is_disturbed


def latencies_ns(script: Mapping[str, OptionValue]) -> np.ndarray:
    """4,096 int64 latencies that the runs go through in turn, without what an input adds."""
    typical, spread = float(script["latency_us"]), float(script["spread_us"])
    rng = np.random.default_rng(int(script["seed"]))
    latencies = np.full(_DRAW_COUNT, typical)
    if script["distribution"] == "normal":
        latencies += rng.normal(0.0, spread, _DRAW_COUNT)
    elif script["distribution"] == "bimodal":
        latencies += spread * (rng.random(_DRAW_COUNT) < _SECOND_MODE_SHARE)
    elif script["distribution"] == "exponential":
        latencies = rng.exponential(typical, _DRAW_COUNT)
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


DEVICES = {"0": "fake", "1": "fake", "2": "another fake"}
"""By key what each calls itself: two are alike. All of them are this machine's cores."""


class FakeSession(Session):
    """`open` counts those that are not closed."""

    open: ClassVar[int] = 0

    def __init__(
        self, request: Request, reference: Reference, script: Mapping[str, OptionValue]
    ) -> None:
        self._lane = FakeLane(request, reference, script)
        self._crashes = script["fail"] == "close_crash"
        self._is_closed = False
        self.lanes = (self._lane,)
        self.execution = Execution(
            provider="fake",
            precision=request.settings.precision,
            device_name=DEVICES[request.settings.device or "0"],
            call_path="a Python function that waits",
        )
        FakeSession.open += 1

    def fault(self, error: Exception) -> RuntimeFault:
        return error if isinstance(error, RuntimeFault) else super().fault(error)

    def close(self) -> None:
        if self._crashes:
            crash()
        self._lane.close()
        FakeSession.open -= not self._is_closed
        self._is_closed = True


MOST_US = 1e9
"""Beyond a quarter of an hour no round would see a run end."""
_amount = partial(Option, minimum=0)
_untuned = partial(Option, tuned=False)
OPTIONS = (
    _amount("latency_us", 100.0, "the typical time of a run"),
    _amount("per_input_us", 0.0, "how much longer a run takes for each input of it"),
    _untuned(
        "distribution",
        "constant",
        "how runs differ: not at all, normally, a fifth of them in a second mode, or exponentially",
        ("constant", "normal", "bimodal", "exponential"),
    ),
    _untuned(
        "spread_us", 10.0, "the standard deviation, or how much later the second mode is", minimum=0
    ),
    _amount("slowing", 0.0, "by what share of its time a run grows each second"),
    _amount(
        "after_pause_us",
        0.0,
        "how much longer a run takes that begins over 5 ms after the last one ended",
    ),
    _amount("stall_us", 0.0, "how much longer a run takes that stalls"),
    _amount("stall_every", 0, "of how many runs the last one stalls, again and again; 0 is never"),
    _untuned(
        "disturbed",
        1.0,
        "how many times as long a run takes while the machine is disturbed",
        minimum=1,
    ),
    _untuned(
        "spell_ms",
        0.0,
        "how long the machine stays disturbed or undisturbed before that is drawn anew; 0 is "
        "undisturbed throughout",
        minimum=0,
    ),
    _untuned("spells", "shared", "whether all processes meet the same spells", ("shared", "own")),
    _untuned("queue", False, "runs can be queued, as on a GPU, and take their time one by one"),
    _untuned("wait", "spin", "how a run passes its time", ("spin", "sleep")),
    _untuned(
        "fail",
        "none",
        "what goes wrong: before a session, in compiling, in a run, or when it is closed; noise is "
        "megabytes on standard error, and nothing else",
        (
            *("none", "unavailable", "unsupported", "compile", "run", "oom", "wrong", "nan"),
            *("crash", "abort", "exit", "hang", "noise", "compile_crash", "compile_hang"),
            "close_crash",
        ),
    ),
    _amount("fail_after", 0, "how many runs succeed before the one that fails"),
    _untuned(
        "fail_session",
        -1,
        "which of several sessions fails, counted from 0; -1 is all of them",
        minimum=-1,
    ),
    _amount("seed", 0, "draws the latencies"),
    SESSIONS,
)


class Fake(Runtime):
    """Scripted by its options; every other word of the contract it keeps."""

    name = "fake"
    summary = "scripted latencies and failures, for tests and demonstrations"
    options = OPTIONS
    precisions = ("fp32", "fp16", "int8")
    only_when_named = True

    def availability(self) -> Availability:
        return Available("1")

    def devices(self) -> tuple[Device, ...]:
        return tuple(Device(key, name) for key, name in DEVICES.items())

    def _refuse(self, request: Request) -> None:
        if request.options["fail"] == "unsupported":
            raise Unsupported("fake was set to refuse the graph", "use fail=none")
        for name, value in request.options.items():
            if name.endswith("_us") and float(value) > MOST_US:
                raise Unsupported(
                    f"fake.{name}={value:g} is longer than any round", f"give at most {MOST_US:g}"
                )

    def _compile(self, request: Request) -> Session:
        script = dict(request.options)
        if int(script["fail_session"]) not in (-1, FakeSession.open):
            script["fail"] = "none"
        if script["fail"] == "unavailable":
            raise NotAvailable("fake was set not to be there", "use fail=none")
        if script["fail"] == "compile":
            raise CompileFault("fake was set not to compile", "use fail=none")
        if script["fail"] == "compile_crash":
            crash()
        if script["fail"] == "compile_hang":
            hang()
        if script["fail"] == "noise":
            be_noisy()
        try:
            reference = request.reference()
        except (KeyError, OSError, ValueError) as error:
            raise CompileFault(
                f"fake has no reference outputs of {request.model.name} "
                f"at {axes_key(request.axes)}",
                "export the model for these axes",
            ) from error
        return FakeSession(request, reference, script)
