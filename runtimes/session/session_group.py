"""Groups of sessions of one case: over several devices, several at once, or one for each batch of
a batcher.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from exporters.diagnostics import diagnostic, distinct
from exporters.types import ExportedModel
from runtimes.base import Availability, Checked, Runtime, Session, Unavailable
from runtimes.errors import NotAvailable, RuntimeFault, Unsupported
from runtimes.execution import Execution, Memory
from runtimes.options import SESSIONS, Option, OptionValue, Settings, batch_size, sessions_of


def options_on(runtime: Runtime, device: str) -> tuple[Option, ...]:
    """The runtime's table as it is for what follows the colon: over several devices there is a
    session on each of them, unless more are asked for."""
    devices = len(runtime.devices_in(device))
    if devices == 1:
        return runtime.options
    sessions_option = replace(SESSIONS, default=devices, minimum=devices)
    return tuple(sessions_option if option == SESSIONS else option for option in runtime.options)


def each(runtime: Runtime, settings: Settings) -> tuple[Settings, ...]:
    """The settings of a session on each device that they name, in the order of the name.

    Raises what `refuse_devices` and `refuse_uneven` raise.
    """
    devices = runtime.devices_in(settings.device)
    if len(devices) == 1:
        return (settings,)
    refuse_devices(runtime, settings.device, settings.release)
    refuse_uneven(runtime, settings.device, settings.options)
    return tuple(replace(settings, device=device) for device in devices)


def uneven(runtime: Runtime, device: str, sessions: int) -> str:
    """That so many sessions are not equally many on each of these devices."""
    devices = len(runtime.devices_in(device))
    session_text = f"{sessions} session{'s' * (sessions != 1)}"
    return f"{runtime.name}:{device} is {devices} devices, and {session_text} can't be dealt evenly"


def refuse_uneven(runtime: Runtime, device: str, options: Mapping[str, OptionValue]) -> None:
    """Raise Unsupported for sessions that these devices can't have equally many of."""
    devices = len(runtime.devices_in(device))
    sessions = sessions_of(options_on(runtime, device), options)
    if sessions % devices:
        raise Unsupported(
            uneven(runtime, device, sessions),
            f"give sessions={devices} or a multiple of it, or remove it",
        )


def refuse_devices(runtime: Runtime, device: str, release: str) -> None:
    """Raise NotAvailable where one of the devices is not there, or is named twice."""
    devices = runtime.devices_in(device)
    if len(devices) > 1 and not all(devices):
        raise NotAvailable(
            f"{runtime.name}:{device} names no device next to a +", f"write {runtime.name}:0+1"
        )
    if len(set(devices)) < len(devices):
        raise NotAvailable(
            f"{runtime.name}:{device} names a device twice",
            "name each once; several sessions on one device are the option sessions",
        )
    for member_device in devices:
        runtime.refuse_device(member_device, release)


def check_availability(runtime: Runtime, device: str) -> Availability:
    """Whether cases can be checked for all of these devices; why not for the first that can't."""
    return of_all(
        [runtime.check_availability(device_key) for device_key in runtime.devices_in(device)]
    )


def of_all(states: Sequence[Availability]) -> Availability:
    """Of what each device was said to be: the first that lacks something, else the first."""
    return next((state for state in states if isinstance(state, Unavailable)), states[0])


def cores_near(runtime: Runtime, device: str) -> str:
    """The cores of the nodes of all of these devices; "" where one of them has no node of its own,
    so that no core is farther from it than another."""
    core_sets = [runtime.cores_near(device_key) for device_key in runtime.devices_in(device)]
    return ",".join(core_sets) if all(core_sets) else ""


def refuse_sessions(
    runtime: Runtime, model: ExportedModel, axes: Mapping[str, int], settings: Settings
) -> None:
    """What `runtime.refuse` raises of any of the sessions."""
    for device_settings in each(runtime, settings):
        runtime.refuse(model, axes, device_settings)


def compile_sessions(
    runtime: Runtime, model: ExportedModel, axes: Mapping[str, int], settings: Settings
) -> Session:
    """As many sessions as the option `sessions` asks for, as one whose lanes are all of theirs.

    One is exactly what `runtime.compile` gives. Raises what that raises; the sessions that
    were compiled before one that fails are closed.
    """
    settings_by_device = each(runtime, settings)
    count = sessions_of(options_on(runtime, settings.device), settings.options)
    if count == 1:
        return runtime.compile(model, axes, settings)
    with ExitStack() as resources:
        sessions = [
            resources.enter_context(
                runtime.compile(model, axes, settings_by_device[number % len(settings_by_device)])
            )
            for number in range(count)
        ]
        group = Several(sessions, devices=len(settings_by_device))
        resources.pop_all()
    return group


def check_sessions(
    runtime: Runtime, model: ExportedModel, axes: Mapping[str, int], settings: Settings
) -> Checked:
    """What `runtime.check` tells, or raises, of each device; of several what holds of them all."""
    checks = [
        runtime.check(model, axes, device_settings) for device_settings in each(runtime, settings)
    ]
    executions = [check.execution for check in checks if check.execution is not None]
    if len(checks) == 1 or not executions:
        return checks[0]
    return replace(
        checks[0],
        execution=_common(executions),
        memory=_add_memories([check.memory for check in checks]),
    )


class Several(Session):
    """Owns at least one session; its lanes are theirs, one session's after the other's.

    The sessions are of so many `devices` in turn.
    """

    def __init__(self, sessions: Sequence[Session], devices: int = 1) -> None:
        self._sessions = tuple(sessions)
        self._devices = devices
        self.lanes = tuple(lane for session in sessions for lane in session.lanes)
        self.execution = _common([session.execution for session in sessions])
        self.lanes[0].enter()  # compiling has left the last session's as the one entered

    def fault(self, error: Exception) -> RuntimeFault:
        return self._sessions[0].fault(error)

    def memory(self) -> Memory:
        return _add_memories(
            [
                _on_one_device([session.memory() for session in self._sessions[n :: self._devices]])
                for n in range(self._devices)
            ]
        )

    def close(self) -> None:
        with ExitStack() as closing:
            for session in self._sessions:
                closing.callback(session.close)


def _common(executions: Sequence[Execution]) -> Execution:
    """The first's, or the one that least of ran on its engine; a warning if they differ."""
    common_execution = max(executions, key=lambda execution: len(execution.elsewhere))
    warnings = [warning for execution in executions for warning in execution.warnings]
    if len({_as_compiled(execution) for execution in executions}) > 1:
        warnings.append(diagnostic("sessions_differ"))
    names = list(dict.fromkeys(execution.device_name for execution in executions))
    if len(names) > 1:
        warnings.append(diagnostic("devices_differ", devices=tuple(names)))
    return replace(
        common_execution,
        device_name=" + ".join(names),
        warnings=distinct(warnings),
        inspection_ms=sum(execution.inspection_ms for execution in executions),
    )


def _as_compiled(execution: Execution) -> Hashable:
    """What runs of it on any device, without names: an engine counts on in those that it makes up,
    and may call itself by the device that it is on."""
    own_provider = execution.provider
    nodes = tuple(
        (node.op, "" if node.provider == own_provider else node.provider, node.precision)
        for node in execution.placement
    )
    return execution.precision, nodes


def _on_one_device(memories: Sequence[Memory]) -> Memory:
    return memories[0] if memories[0].of_process else _add_memories(memories)


def _add_memories(known: Sequence[Memory]) -> Memory:
    return Memory(
        _sum([memory.device_peak_bytes for memory in known]),
        _sum([memory.host_peak_bytes for memory in known]),
        of_process=known[0].of_process,
        told_by=known[0].told_by,
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known_values = [value for value in values if value is not None]
    return sum(known_values) if known_values else None


def compile_batches(
    runtime: Runtime, models: Sequence[ExportedModel], settings: Settings
) -> Batches:
    """A session for each of `models`, which are one model at several batches.

    Raises what `runtime.compile` raises, and Unsupported where one has several lanes; the sessions
    that were compiled before one that fails are closed.
    """
    lanes = sessions_of(options_on(runtime, settings.device), settings.options)
    settings = each(runtime, settings)[0]
    with ExitStack() as resources:
        sessions = {
            batch_size(model, model.axes): resources.enter_context(
                runtime.compile(model, model.axes, settings)
            )
            for model in models
        }
        lanes *= max(len(session.lanes) for session in sessions.values())
        if lanes > 1:
            raise Unsupported(
                f"a batcher sends one batch after another, and {runtime.name} runs {lanes} at once",
                "use one session with one stream",
            )
        batches = Batches(sessions)
        resources.pop_all()
    return batches


class Batches(Several):
    """`by_size` are the sessions by their batch; the one lane is that of the first."""

    def __init__(self, by_size: Mapping[int, Session]) -> None:
        super().__init__(tuple(by_size.values()))
        self.by_size = by_size
        self.lanes = self.lanes[:1]
