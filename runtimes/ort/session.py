"""An ONNX Runtime session with its one lane, on whatever provider it was opened."""

from __future__ import annotations

import onnxruntime as ort

from runtimes.base import Session
from runtimes.execution import Execution, OpTime
from runtimes.faults import RuntimeFault
from runtimes.ort.faults import run_fault
from runtimes.ort.operators import Recording
from runtimes.session.host import HostLane


class OrtSession(Session):
    """Owns `engine` and `lane`.

    `recording` is what an engine that was opened with profiling writes; it is removed with
    the session.
    """

    def __init__(
        self,
        engine: ort.InferenceSession,
        lane: HostLane,
        execution: Execution,
        recording: Recording | None = None,
    ) -> None:
        self._engine: ort.InferenceSession | None = engine
        self._lane, self._recording = lane, recording
        if recording is not None and recording.graph.exists():
            self.executed_graph = recording.graph
        self.lanes = (lane,)
        self.execution = execution

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        if self._recording is None or self._engine is None:
            return super().operator_times(runs)
        return self._recording.op_times(self._engine, self._lane.run, runs)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        self._lane.close()
        self._engine = None
        if self._recording is not None:
            self._recording.close()
