"""A session of ONNX Runtime's C interface with its one lane."""

from __future__ import annotations

from runtimes.base import Session
from runtimes.execution import Execution
from runtimes.faults import RuntimeFault
from runtimes.ort.faults import run_fault
from runtimes.ort.native_engine import Engine
from runtimes.ort.native_lane import NativeLane


class NativeSession(Session):
    """Owns `engine` and `lane`."""

    def __init__(self, engine: Engine, lane: NativeLane, execution: Execution) -> None:
        self._engine, self._lane = engine, lane
        self.lanes = (lane,)
        self.execution = execution

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        self._lane.close()
        self._engine.close()
