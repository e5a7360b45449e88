"""Several sessions of one case at once: the option `sessions` made into one session of their lanes.

Any runtime's sessions do; each has its own engine state and buffers, as several processes of a
server would, and shares with the others only the device. Over several devices they are dealt in
turn, so that each device has as many.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.groups import distinct
from exporters.types import ExportedModel
from runtimes.base import Checked, Runtime, Session
from runtimes.dealing import each, options_on
from runtimes.execution import Execution, Memory
from runtimes.faults import RuntimeFault
from runtimes.options import Settings, sessions_of


def refuse_sessions(
    runtime: Runtime, model: ExportedModel, axes: Mapping[str, int], settings: Settings
) -> None:
    """What `runtime.refuse` raises of any of the sessions."""
    for own in each(runtime, settings):
        runtime.refuse(model, axes, own)


def compile_sessions(
    runtime: Runtime, model: ExportedModel, axes: Mapping[str, int], settings: Settings
) -> Session:
    """As many sessions as the option `sessions` asks for, as one whose lanes are all of theirs.

    One is exactly what `runtime.compile` gives. Raises what that raises; the sessions that
    were compiled before one that fails are closed.
    """
    dealt = each(runtime, settings)
    count = sessions_of(options_on(runtime, settings.device), settings.options)
    if count == 1:
        return runtime.compile(model, axes, settings)
    with ExitStack() as opened:
        sessions = [
            opened.enter_context(runtime.compile(model, axes, dealt[number % len(dealt)]))
            for number in range(count)
        ]
        together = Several(sessions, devices=len(dealt))
        opened.pop_all()
    return together


def check_sessions(
    runtime: Runtime, model: ExportedModel, axes: Mapping[str, int], settings: Settings
) -> Checked:
    """What `runtime.check` tells, or raises, of each device; of several what holds of them all."""
    found = [runtime.check(model, axes, own) for own in each(runtime, settings)]
    executions = [one.execution for one in found if one.execution is not None]
    if len(found) == 1 or not executions:
        return found[0]
    return replace(
        found[0],
        execution=_common(executions),
        memory=_added([one.memory for one in found]),
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
        return _added(
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
    told = max(executions, key=lambda execution: len(execution.elsewhere))
    warnings = [warning for execution in executions for warning in execution.warnings]
    if len({_as_compiled(execution) for execution in executions}) > 1:
        warnings.append(diagnostic("sessions_differ"))
    names = list(dict.fromkeys(execution.device_name for execution in executions))
    if len(names) > 1:
        warnings.append(diagnostic("devices_differ", devices=tuple(names)))
    return replace(
        told,
        device_name=" + ".join(names),
        warnings=distinct(warnings),
        inspection_ms=sum(execution.inspection_ms for execution in executions),
    )


def _as_compiled(execution: Execution) -> Hashable:
    """What runs of it on any device, without names: an engine counts on in those that it makes up,
    and may call itself by the device that it is on."""
    own = execution.provider
    nodes = tuple(
        (node.op, "" if node.provider == own else node.provider, node.precision)
        for node in execution.placement
    )
    return execution.precision, nodes


def _on_one_device(known: Sequence[Memory]) -> Memory:
    return known[0] if known[0].of_process else _added(known)


def _added(known: Sequence[Memory]) -> Memory:
    return Memory(
        _sum([memory.device_peak_bytes for memory in known]),
        _sum([memory.host_peak_bytes for memory in known]),
        of_process=known[0].of_process,
        told_by=known[0].told_by,
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
