"""A session of ONNX Runtime's C interface with its lane, or one for each shape."""

from __future__ import annotations

from collections.abc import Sequence

from runtimes.base import Session
from runtimes.execution import Execution
from runtimes.faults import RuntimeFault
from runtimes.ort.faults import run_fault
from runtimes.ort.native_engine import Engine
from runtimes.ort.native_lane import NativeLane


class NativeSession(Session):
    """Owns `engine` and `lanes`, of which there is one for each shape."""

    def __init__(self, engine: Engine, lanes: Sequence[NativeLane], execution: Execution) -> None:
        self._engine, self._owned = engine, tuple(lanes)
        self.lanes = self._owned[:1]
        self.by_shape = self._owned if len(lanes) > 1 else ()
        self.execution = execution

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        for lane in self._owned:
            lane.close()
        self._engine.close()
