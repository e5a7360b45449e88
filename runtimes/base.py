"""The contract of a runtime: what it can do, what it needs, and a session that runs.

A runtime compiles one exported model for fixed shapes, or for several where its engine takes them
in one session, and gives a session; the measuring process binds the inputs of its lanes once and
then times `lane.run()`, which takes no argument. Nothing here imports an engine: adapters import
theirs inside the functions that need it.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np

from exporters.plain_arrays import is_plain
from exporters.types import ONNX_ENDING, TEXT, ExportedModel, Precision
from runtimes.calls import Call, Copy
from runtimes.errors import NotAvailable, OneShapeOnly, RunFault, RuntimeFault, Unsupported
from runtimes.execution import Arrivals, Clock, Execution, Memory, OpTime, Samples, Spans
from runtimes.options import (
    SESSIONS,
    Option,
    Request,
    Settings,
    Usage,
    Used,
    checked_options,
    input_shapes,
)

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
CheckedAs = Literal["opened", "built"]
"""How far a check came: a session was opened here, or an engine was built that can't be loaded."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What compiling without running told.

    `execution` and `memory` are of the session that was opened. Of an engine that was only built
    `execution` is what its builder said, None where it said nothing. `plan_bytes` is the size of
    the engine as a file, None where the engine has none.
    """

    checked_as: CheckedAs
    execution: Execution | None = None
    memory: Memory = Memory()  # noqa: RUF009 - frozen
    plan_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a runtime: `key` is what follows the colon (`v80` in `fpga:v80`)."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class DeviceEviction:
    """What overwrites `bytes` of a device's memory, so that its cache holds nothing of a run:
    as a call that waits for it, and as calls of the loop in C. `close` gives the memory back."""

    bytes: int
    clear: Callable[[], object]
    calls: tuple[Call, ...]
    close: Callable[[], object]


@dataclass(frozen=True, slots=True)
class DevicePeak:
    """The most that a device computes and moves; `how` names the source of the figures."""

    flops_per_s: float
    bytes_per_s: float
    how: str


class Lane(ABC):
    """One of the runs of a session that may be in flight at once, with buffers of its own.

    `run` is an attribute, not a method, so that an adapter can put the engine's own C entry
    point there and the clock sees no Python frame of ours. It returns when the outputs are
    complete at the stated boundary; adapters allocate nothing in it.
    """

    run: Callable[[], object]
    calls: tuple[Call, ...] = ()
    """The same run as calls for the loop in C; empty where the engine offers none. Of a lane with a
    queue the last of them waits, and those before it put the run into the queue."""
    enqueue: Callable[[], object] | None = None
    """Puts a run into the device's queue and returns; None where a run is waited for by itself."""
    synchronize: Callable[[], object] | None = None
    """Waits until all that was queued is complete; None where nothing is."""
    first_run_alone: bool = False
    """Whether the first run of each thread must have the device for itself."""

    @abstractmethod
    def bind(self, inputs: Arrays) -> None:
        """Copy the inputs into the lane's buffers; Unsupported names a bad one."""

    @abstractmethod
    def outputs(self) -> dict[str, np.ndarray]:
        """Copies of the outputs on the host, by name; complete after `run`."""

    @abstractmethod
    def poison(self) -> None:
        """Overwrite the output buffers, so that a run that writes nothing shows."""

    @abstractmethod
    def advance(self) -> None:
        """Make the last run's state outputs the next run's state inputs; never timed."""

    def feed(self, inputs: Arrays) -> None:
        """Copy some inputs of the shapes that are bound into the lane's buffers; never timed."""
        raise Unsupported(
            f"{type(self).__name__} takes no other inputs from run to run",
            "remove --rotate-inputs, or give --inputs one set",
        )

    def advancing(self) -> tuple[Copy, ...] | None:
        """What `advance` copies, for the loop in C; None where it does more than that."""
        return None

    def feeding(self, inputs: Arrays) -> tuple[Copy, ...] | None:
        """What `feed` copies, in the same way."""
        return None

    def enter(self) -> None:  # noqa: B027 - most engines run in any thread
        """Make the calling thread able to run the lane, until it enters another.

        The thread that compiled has entered the first lane of its session.
        """


class Session(ABC):
    """One graph compiled for fixed shapes; each of its `lanes` is bound and run by itself."""

    lanes: tuple[Lane, ...]
    by_shape: tuple[Lane, ...] = ()
    """Of a session for several shapes a lane for each, in their order, of which one runs at a time;
    `lanes` is the first of them."""
    execution: Execution
    executed_graph: Path | None = None
    """An .onnx file of the graph as the engine runs it, while the session is open, if it wrote
    one for operator times."""

    def fault(self, error: Exception) -> RuntimeFault:
        """What a run raised, in our words: it is the engine's own call and raises its errors."""
        return RunFault(f"a run failed with {type(error).__name__}: {error}")

    def simulate(self, arrivals: Arrivals, rng: np.random.Generator) -> Samples:
        """Timings of a simulated device (`execution.clock == "simulated"`)."""
        raise NotImplementedError("this session is measured, not simulated")

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        """Run the first lane so many times; the median time of each operator, in graph order.

        The times are on `execution.clock`, which may be the device's where a run's are not.
        Only for sessions compiled with `Settings.operator_times`; Unsupported where the engine
        does not tell.
        """
        raise Unsupported(
            f"{self.execution.provider} does not report operator times",
            "profile another runtime",
        )

    def spans(self, runs: int) -> Spans | None:
        """`runs` more runs of the first lane by the device's clock; None where there is none.

        They are not the timed runs: the marks themselves take time.
        """
        return None

    def memory(self) -> Memory:
        """What the engine accounts for; all None where it does not say."""
        return Memory()

    @abstractmethod
    def close(self) -> None:
        """Give back all memory; idempotent. A lane that is run afterwards raises RunFault."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Runtime(ABC):
    """One engine. Instances hold no state and are cheap to make.

    `summary` is one line for lists and forms, `options` the one table of settings, beside which
    with `any_option` the engine is handed every other that is given, `patterns` what lists show of
    options that `options_for` knows by the beginning of their names, `clock` what times its runs.
    `unexecuted` is what hinders precisions that it lacks, after the word "which". `only_when_named`
    keeps a runtime out of sweeps that name none. `default_device` is the device of a case that
    names none, empty where there is no choice. `accelerator` is the kind of device that a case has
    for itself beside the host (`gpu`), empty for none; its number is the case's device.
    `operator_environment` is what the environment of a process for operator times must say before
    anything is asked of the runtime. `engine` is the Python module of the engine, empty for one
    that is part of us; `distribution` is the package that installs it, of an engine that needs no
    more than a wheel of some release. What follows `@` is a release where a runtime `has_releases`
    of its own, and an environment everywhere else. One that `builds_module` needs the torch module
    behind a graph, and so the file that makes it. Where `device_is_package`, what follows the colon
    is a library or the package that brings one. With `only_numeric` all inputs and outputs must be
    arrays of numbers; `formats` are the endings of the files that it reads. Loading one that
    `loads_alone` starts no thread, so that a process can be forked after it.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[tuple[Option, ...]] = ()
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32",)
    unexecuted: ClassVar[Mapping[Precision, str]] = {"fp8": "TensorRT alone multiplies"}
    clock: ClassVar[Clock] = "wall"
    any_option: ClassVar[bool] = False
    patterns: ClassVar[tuple[Option, ...]] = ()
    only_when_named: ClassVar[bool] = False
    default_device: ClassVar[str] = ""
    accelerator: ClassVar[str] = ""
    operator_environment: ClassVar[Mapping[str, str]] = {}
    engine: ClassVar[str] = ""
    distribution: ClassVar[str] = ""
    has_releases: ClassVar[bool] = False
    builds_module: ClassVar[bool] = False
    loads_alone: ClassVar[bool] = False
    device_is_package: ClassVar[bool] = False
    only_numeric: ClassVar[bool] = True
    formats: ClassVar[tuple[str, ...]] = (ONNX_ENDING,)

    @abstractmethod
    def availability(self) -> Availability:
        """Cheap; imports no engine where the answer can be had without."""

    def check_availability(self, device: str) -> Availability:
        """Whether cases can be checked here, which may take less than running them."""
        return self.availability()

    def devices(self) -> tuple[Device, ...]:
        """The devices that `name:key` may name; empty where there is no choice, and where only
        the loaded engine knows them."""
        return ()

    def devices_in(self, device: str) -> tuple[str, ...]:
        """The devices that what follows the colon names, over which sessions are dealt in turn:
        `0+1` are two. One for a runtime that can't run several sessions."""
        if "+" not in device or SESSIONS not in self.options:
            return (device,)
        return tuple(device.split("+"))

    def device_uuid(self, device: str) -> str:
        """The device's own identifier, by which tools of the machine know it too; "" for none."""
        return ""

    def device_library(self, device: str) -> str:
        """The path of the library that a device stands for, "" where it stands for none. It imports
        the package that brings it, and so is for a child."""
        return ""

    def cores_near(self, device: str) -> str:
        """The cores of the device's own node, as `0-31`; "" where all are alike."""
        return ""

    def limited(
        self, device: str, settings: Settings, limit_bytes: int
    ) -> AbstractContextManager[None]:
        """While it is entered, sessions find so much of the device's memory free, 0 for all of it.

        A device that has no memory of its own has no such limit.
        """
        return nullcontext()

    def device_eviction(self, device: str) -> DeviceEviction | None:
        """What evicts a device's own cache between two runs; None without one that can be."""
        return None

    def device_peak(self, device: str, precision: str) -> DevicePeak | None:
        """The peaks of a device in one precision; None where they are not known."""
        return None

    def loaded_devices(self) -> tuple[Device, ...]:
        """The same after `load`, which is for a process that an engine may end."""
        return self.devices()

    def options_for(self, option_names: Iterable[str]) -> tuple[Option, ...]:
        """The table, and what of `option_names` is handed to the engine without being in it."""
        known_names = {option.name for option in self.options}
        more = sorted({*option_names} - {*known_names, ""}) if self.any_option else ()
        return (*self.options, *(Option(n, "", "handed to the engine as it is") for n in more))

    def environment(self, settings: Settings) -> Mapping[str, str | None]:
        """What the environment of a process for such a case must say, None for what it must not,
        before anything is asked of the runtime there: engines read it once, as they are loaded."""
        return self.operator_environment if settings.operator_times else {}

    def load(self) -> None:  # noqa: B027 - an engine without an import has nothing to do
        """Import the engine, so that the time of `compile` is compilation alone."""

    def engine_file(self) -> Path | None:
        """What this process has loaded as the engine; None for one that is part of us."""
        origin = getattr(sys.modules.get(self.engine), "__file__", None)
        return Path(origin) if origin else None

    def request(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> Request:
        """The case as an adapter takes it, after the checks that all runtimes share.

        NotAvailable for a device or a release that is not there, Unsupported for an axis, an
        option or a precision that the model or the runtime does not have.
        """
        settings = replace(settings, device=settings.device or self.default_device)
        self.refuse_device(settings.device, settings.release)
        known_options = self.options_for(settings.options)
        options = checked_options(self.name, known_options, settings.options)
        request = Request(model, axes, settings, options, input_shapes(model, axes))
        self.refuse_precision(settings.precision)
        self._refuse_form(model)
        return request

    def refuse(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> None:
        """Raise Unsupported for what is known not to work, without creating a session."""
        self._refuse(self.request(model, axes, settings))

    def compile(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> Session:
        """A session for the fixed shapes that `axes` gives.

        Raises Unsupported, NotAvailable, CompileFault or OutOfMemory. A session that the
        asked-for engine did not take whole is returned and says so in `execution`.
        """
        request = self.request(model, axes, settings)
        self._refuse(request)
        return self._compile(request)

    def compile_shapes(
        self, model: ExportedModel, shapes: Sequence[Mapping[str, int]], settings: Settings
    ) -> Session:
        """One session for all of `shapes`, sizes of the model's axes, with a lane for each.

        Axes of one size are fixed, the others stay open. The first shape may have run in it, none
        of the others has. Raises what `compile` does, Unsupported where the runtime has no session
        of several shapes.
        """
        varying_axes = frozenset(
            name for name in shapes[0] if len({axes[name] for axes in shapes}) > 1
        )
        requests = [
            replace(self.request(model, axes, settings), varied=varying_axes) for axes in shapes
        ]
        for request in requests:
            self._refuse(request)
        return self._compile_shapes(requests)

    def check(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> Checked:
        """Compile as far as this machine allows and run nothing; raises what `compile` does."""
        request = self.request(model, axes, settings)
        self._refuse(request)
        return self._check(request)

    def usage(self, setup: Used) -> Usage:
        """How a program uses the runtime with these settings, as far as it can be told."""
        return Usage()

    def refuse_precision(self, precision: Precision) -> None:
        """Raise Unsupported for a precision that this runtime never executes."""
        if precision not in self.precisions:
            precision_list = " or ".join(self.precisions)
            why = f", which {self.unexecuted[precision]}" if precision in self.unexecuted else ""
            raise Unsupported(
                f"{self.name} does not execute {precision}{why}", f"use {precision_list}"
            )

    def _refuse_form(self, model: ExportedModel) -> None:
        """Raise Unsupported for a file format, or for inputs and outputs, that the runtime lacks.

        A model without a file is a module alone.
        """
        if Path(model.path).suffix not in ("", *self.formats):
            raise Unsupported(
                f"{self.name} does not read {Path(model.path).suffix} files",
                f"give the {ONNX_ENDING} file, or use ort-cpu",
            )
        other = next((s for s in (*model.inputs, *model.outputs) if not is_plain(s)), None)
        if self.only_numeric and other is not None:
            other_kind = "texts" if other.dtype == TEXT else "a sequence or map"
            raise Unsupported(
                f"{(other.owner or other.name)!r} holds {other.element or other_kind}, and "
                f"{self.name} is measured with arrays of numbers of numpy's types",
                "use ort-cpu",
            )

    def refuse_device(self, device: str, release: str) -> None:
        """Raise NotAvailable for a device or a release that is not there; empty ones always are."""
        if release:
            raise NotAvailable(f"{self.name} has no @{release}", f"write {self.name} alone")
        device_names = {choice.key: choice.name for choice in self.devices()} if device else {}
        if device and device not in device_names:
            device_list = ", ".join(
                f"{self.name}:{key} ({name})" for key, name in device_names.items()
            )
            raise NotAvailable(
                f"{self.name} has no device {device!r}",
                f"its devices are {device_list}" if device_names else f"write {self.name} alone",
            )

    def refuse_to_run(self, device: str) -> None:  # noqa: B027 - most run on all their devices
        """Raise NotAvailable for a device that is checked for and run on nowhere."""

    def _refuse(self, request: Request) -> None:  # noqa: B027 - most have nothing to add
        """What this engine alone is known not to take; it is not imported for it."""

    def _check(self, request: Request) -> Checked:
        """For engines that compile where they run; others build for a device that is not here."""
        with self._compile(request) as session:
            return Checked("opened", session.execution, session.memory())

    @abstractmethod
    def _compile(self, request: Request) -> Session:
        """The session; `request` has passed all checks."""

    def _compile_shapes(self, requests: Sequence[Request]) -> Session:
        """The session with a lane for each request, which differ in their shapes alone."""
        raise OneShapeOnly(
            f"{self.name} is measured in sessions of one shape each",
            "leave --condition shapes out and give each shape with --batch or --axis",
        )
