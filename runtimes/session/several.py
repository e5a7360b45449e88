"""Several sessions of one case at once: the option `sessions` made into one session of their lanes.

Any runtime's sessions do; each has its own engine state and buffers, as several processes of a
server would, and shares with the others only the device.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from exporters.types import ExportedModel
from runtimes.base import Runtime, Session
from runtimes.execution import Execution, Memory
from runtimes.faults import RuntimeFault
from runtimes.options import Settings, sessions_of


def compile_sessions(
    runtime: Runtime, model: ExportedModel, axes: Mapping[str, int], settings: Settings
) -> Session:
    """As many sessions as the option `sessions` asks for, as one whose lanes are all of theirs.

    One is exactly what `runtime.compile` gives. Raises what that raises; the sessions that
    were compiled before one that fails are closed.
    """
    count = sessions_of(runtime.options, settings.options)
    if count == 1:
        return runtime.compile(model, axes, settings)
    with ExitStack() as opened:
        sessions = [
            opened.enter_context(runtime.compile(model, axes, settings)) for _ in range(count)
        ]
        together = Several(sessions)
        opened.pop_all()
    return together


class Several(Session):
    """Owns at least one session; its lanes are theirs, one session's after the other's."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self._sessions = tuple(sessions)
        self.lanes = tuple(lane for session in sessions for lane in session.lanes)
        self.execution = _common([session.execution for session in sessions])
        self.lanes[0].enter()  # compiling has left the last session's as the one entered

    def fault(self, error: Exception) -> RuntimeFault:
        return self._sessions[0].fault(error)

    def memory(self) -> Memory:
        known = [session.memory() for session in self._sessions]
        if known[0].of_process:
            return known[0]
        return Memory(
            _sum([memory.device_peak_bytes for memory in known]),
            _sum([memory.host_peak_bytes for memory in known]),
            told_by=known[0].told_by,
        )

    def close(self) -> None:
        with ExitStack() as closing:
            for session in self._sessions:
                closing.callback(session.close)


def _common(executions: Sequence[Execution]) -> Execution:
    """The first's, or the one that least of ran on its engine; a warning if they differ."""
    told = max(executions, key=lambda execution: len(execution.elsewhere))
    warnings = [warning for execution in executions for warning in execution.warnings]
    if len({_compiled(execution) for execution in executions}) > 1:
        warnings.append("the engine did not compile all of the sessions alike")
    return replace(
        told,
        warnings=tuple(dict.fromkeys(warnings)),
        inspection_ms=sum(execution.inspection_ms for execution in executions),
    )


def _compiled(execution: Execution) -> Hashable:
    """What runs of it, without names: an engine counts on in those that it makes up."""
    nodes = tuple((node.op, node.provider, node.precision) for node in execution.placement)
    return execution.provider, execution.precision, nodes


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
