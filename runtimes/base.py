"""The contract of a runtime: what it can do, what it needs, and a session that runs.

A runtime compiles one exported model for fixed shapes and gives a session; the measuring
process binds inputs once and then times `session.run()`, which takes no argument. Nothing
here imports an engine: adapters import theirs inside the functions that need it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import ClassVar, Literal, Self

import numpy as np

from exporters.types import ExportedModel, Precision
from runtimes.faults import NotAvailable, RunFault, RuntimeFault, Unsupported

Clock = Literal["wall", "device", "simulated"]
Boundary = Literal["host", "device"]
OptionValue = bool | int | float | str
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Available:
    """The runtime can be used; `version` is its engine's."""

    version: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why the runtime can't be used here, and the one step that would change it."""

    reason: str
    remedy: str


Availability = Available | Unavailable


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a runtime: `key` is what follows the colon (`v80` in `fpga:v80`)."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Option:
    """One setting of a runtime: it serves flags, forms, messages and tuning alike."""

    name: str
    default: OptionValue
    help: str
    choices: tuple[OptionValue, ...] = ()
    minimum: float | None = None
    maximum: float | None = None

    def parse(self, text: str) -> OptionValue:
        """The typed value of `text`; ValueError with one sentence if it is not one."""
        kind = type(self.default)
        value: OptionValue
        if kind is bool:
            if text.lower() not in _BOOLEANS:
                raise ValueError(f"{self.name}={text} is not a yes/no value; use 1 or 0")
            value = _BOOLEANS[text.lower()]
        else:
            what = "whole number" if kind is int else "number"
            try:
                value = kind(text)
            except ValueError:
                raise ValueError(f"{self.name}={text} is no {what}; give one") from None
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{self.name}={text} is no {what}; give one")
        if self.choices and value not in self.choices:
            known = ", ".join(map(str, self.choices))
            raise ValueError(f"{self.name}={text} is not known; use one of {known}")
        if not isinstance(value, str):
            if self.minimum is not None and value < self.minimum:
                raise ValueError(f"{self.name}={text} is too small; the least is {self.minimum:g}")
            if self.maximum is not None and value > self.maximum:
                raise ValueError(f"{self.name}={text} is too large; the most is {self.maximum:g}")
        return value


_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True} | {
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How a case wants to be compiled: all that is not the model or its shapes.

    `threads` 0 leaves the number to the engine. `options` holds the values that differ
    from the runtime's defaults. `device` and `release` are the parts of
    `name[:device][@release]`, empty where not given. `cache_dir` is where an engine may
    keep what it compiled, empty for nowhere. `profile` asks for a session that can tell the
    times of its operators; it is never timed itself.
    """

    precision: Precision = "fp32"
    threads: int = 1
    device: str = ""
    release: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    cache_dir: str = ""
    profile: bool = False


@dataclass(frozen=True, slots=True)
class NodePlacement:
    """Where the engine put one node of the graph that it executes.

    `counts` is False for the integer shape arithmetic that may stay on the host
    without making the row partial.
    """

    node: str
    op: str
    provider: str
    precision: str
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Execution:
    """What really runs, read from the compiled session, not from what was asked.

    `elsewhere` names the counted nodes that the asked-for engine did not take: a row
    with any is `partial`. `facts` are figures the runtime knows (`cycles`, `io_us`,
    `weight_tiles_used`, `weight_tiles_total`, `fidelity`, `engine_cache`), by column name.
    `inspection_ms` is the part of `compile` that went into finding this out, not into the
    engine's own work.
    """

    provider: str
    precision: str
    device_name: str
    call_path: str
    clock: Clock = "wall"
    boundary: Boundary = "host"
    placement: tuple[NodePlacement, ...] = ()
    facts: Mapping[str, float | int | str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    inspection_ms: float = 0.0

    @property
    def elsewhere(self) -> tuple[NodePlacement, ...]:
        return tuple(n for n in self.placement if n.counts and n.provider != self.provider)


@dataclass(frozen=True, slots=True)
class Memory:
    """Peak bytes that the engine itself accounts for; None where it does not say.

    `of_process` where the engine counts all of its sessions in this process together.
    """

    device_peak_bytes: int | None = None
    host_peak_bytes: int | None = None
    of_process: bool = False


@dataclass(frozen=True, slots=True)
class OpTime:
    """What one node of the executed graph takes in one run, a mean of several.

    `node` is its name in the graph, or where it stands if it has none; `op` its kind;
    `engine_name` what the engine itself calls the work: a kernel, a layer, an instruction.
    """

    node: str
    op: str
    time_us: float
    engine_name: str


@dataclass(frozen=True, slots=True)
class Spans:
    """Parts of runs on the device's own clock, int64 nanoseconds [n] each.

    `h2d_ns` and `d2h_ns` are the copies in and out, None where they lie outside a run.
    """

    device_ns: np.ndarray
    h2d_ns: np.ndarray | None = None
    d2h_ns: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class AfterCompletion:
    """Arrivals of a closed loop: the next request `gap_ns` after the last one finished."""

    count: int
    gap_ns: int = 0


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Arrivals fixed beforehand: int64 nanoseconds [n], ascending."""

    times_ns: np.ndarray


Arrivals = AfterCompletion | Scheduled


@dataclass(frozen=True, slots=True)
class Samples:
    """One round's raw timings, int64 nanoseconds [n] each, on the clock that is named."""

    scheduled_ns: np.ndarray
    started_ns: np.ndarray
    finished_ns: np.ndarray
    clock: Clock

    @property
    def latency_ns(self) -> np.ndarray:
        """finished - started [n]."""
        latency: np.ndarray = self.finished_ns - self.started_ns
        return latency


class Session(ABC):
    """One graph compiled for fixed shapes, with `slots` independent sets of buffers.

    The measuring process calls `bind` for each slot, then times `run`. `run` is an
    attribute, not a method, so that an adapter can put the engine's own C entry point
    there and the clock sees no Python frame of ours. It runs slot 0 and returns when the
    outputs are complete at the stated boundary; adapters allocate nothing in it.
    """

    run: Callable[[], object]
    execution: Execution
    slots: int = 1

    @abstractmethod
    def bind(self, inputs: Arrays, slot: int = 0) -> None:
        """Copy the inputs into the slot's own buffers; Unsupported names a bad one."""

    @abstractmethod
    def outputs(self, slot: int = 0) -> dict[str, np.ndarray]:
        """Copies of the slot's outputs on the host, by name; complete after `run`."""

    @abstractmethod
    def poison(self, slot: int = 0) -> None:
        """Overwrite the slot's output buffers, so that a run that writes nothing shows."""

    @abstractmethod
    def advance_state(self, slot: int = 0) -> None:
        """Make the last run's state outputs the next run's state inputs; never timed."""

    def run_of(self, slot: int) -> Callable[[], object]:
        """The timed call of one slot. Calls of different slots may be in flight at once."""
        if slot:
            raise NotImplementedError("this session has one slot")
        return self.run

    def enter(self, slot: int = 0) -> None:  # noqa: B027 - most engines run in any thread
        """Make the calling thread able to run the slot, until it enters another.

        The thread that compiled has entered slot 0.
        """

    def fault(self, error: Exception) -> RuntimeFault:
        """What `run` raised, in our words: it is the engine's own call and raises its errors."""
        return RunFault(f"a run failed with {type(error).__name__}: {error}")

    def simulate(self, arrivals: Arrivals, rng: np.random.Generator) -> Samples:
        """Timings of a simulated device (`execution.clock == "simulated"`)."""
        raise NotImplementedError("this session is measured, not simulated")

    def profile_ops(self, runs: int) -> tuple[OpTime, ...]:
        """Run slot 0 so many times and tell the mean time of each operator, in graph order.

        The times are on `execution.clock`, which may be the device's where a run's are not.
        Only for sessions compiled with `Settings.profile`; Unsupported where the engine
        does not tell.
        """
        raise Unsupported(
            f"{self.execution.provider} does not tell the times of its operators",
            "profile another runtime",
        )

    def spans(self, runs: int) -> Spans | None:
        """`runs` more runs of slot 0, marked by the device's clock; None where there is none.

        They are not the timed runs: the marks themselves take time.
        """
        return None

    def memory(self) -> Memory:
        """What the engine accounts for; all None where it does not say."""
        return Memory()

    @abstractmethod
    def close(self) -> None:
        """Give back all memory; idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Runtime(ABC):
    """One engine. Instances hold no state and are cheap to make.

    `summary` is one line for lists and forms, `options` the one table of settings.
    `only_when_named` keeps a runtime out of sweeps that name none. `accelerator` is the
    kind of device that a case has for itself beside the host (`gpu`), empty for none; its
    number is the case's device, 0 where that is not given. `profile_environment` is what the
    environment of a profiling process must say before anything is asked of the runtime.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[tuple[Option, ...]] = ()
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32",)
    only_when_named: ClassVar[bool] = False
    accelerator: ClassVar[str] = ""
    profile_environment: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def availability(self) -> Availability:
        """Cheap; imports no engine where the answer can be had without."""

    @abstractmethod
    def devices(self) -> tuple[Device, ...]:
        """The devices that `name:key` may name; empty where there is no choice."""

    def refuse(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> None:
        """Raise Unsupported for what is known not to work, without creating a session."""
        self.refuse_precision(settings.precision)

    def refuse_precision(self, precision: Precision) -> None:
        """Raise Unsupported for a precision that this runtime never executes."""
        if precision not in self.precisions:
            known = " or ".join(self.precisions)
            raise Unsupported(f"{self.name} does not execute {precision}", f"use {known}")

    def refuse_device(self, device: str, release: str) -> None:
        """Raise NotAvailable for a device or a release that is not there; empty ones always are."""
        if release:
            raise NotAvailable(f"{self.name} has no @{release}", f"write {self.name} alone")
        known = {choice.key: choice.name for choice in self.devices()} if device else {}
        if device and device not in known:
            listed = ", ".join(f"{self.name}:{key} ({name})" for key, name in known.items())
            raise NotAvailable(
                f"{self.name} has no device {device!r}",
                f"its devices are {listed}" if known else f"write {self.name} alone",
            )

    def load(self) -> None:  # noqa: B027 - an engine without an import has nothing to do
        """Import the engine, so that the time of `compile` is compilation alone."""

    @abstractmethod
    def compile(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> Session:
        """A session for the fixed shapes that `axes` gives.

        Raises Unsupported, NotAvailable, CompileFault or OutOfMemory. A session that the
        asked-for engine did not take whole is returned and says so in `execution`.
        """
