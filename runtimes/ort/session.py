"""An ONNX Runtime session with its lane, or one for each shape, on whatever provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnxruntime as ort

from runtimes.base import Session
from runtimes.execution import Execution, Memory, OpTime
from runtimes.faults import RuntimeFault
from runtimes.ort.faults import run_fault
from runtimes.ort.operators import Recording
from runtimes.ort.plain_lane import PlainLane
from runtimes.session.host import HostLane


class OrtSession(Session):
    """Owns `engine` and `lanes`, of which there is one for each shape.

    `memory` asks what the engine takes, where that is known. `recording` is what an engine that was
    opened with profiling writes; it is removed with the session.
    """

    def __init__(
        self,
        engine: ort.InferenceSession,
        lanes: Sequence[HostLane | PlainLane],
        execution: Execution,
        recording: Recording | None = None,
        memory: Callable[[], Memory] = Memory,
    ) -> None:
        self._engine: ort.InferenceSession | None = engine
        self._owned, self._recording, self._memory = tuple(lanes), recording, memory
        if recording is not None and recording.graph.exists():
            self.executed_graph = recording.graph
        self.lanes = self._owned[:1]
        self.by_shape = self._owned if len(lanes) > 1 else ()
        self.execution = execution

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        if self._recording is None or self._engine is None:
            return super().operator_times(runs)
        return self._recording.op_times(self._engine, self._owned[0].run, runs)

    def memory(self) -> Memory:
        return self._memory()

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        for lane in self._owned:
            lane.close()
        self._engine = None
        if self._recording is not None:
            self._recording.close()
