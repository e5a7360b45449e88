"""One model that OpenVINO compiled, with a lane for each of its streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from ctypes import c_void_p

from runtimes.base import Session
from runtimes.execution import OpTime
from runtimes.faults import RuntimeFault
from runtimes.ov.faults import run_fault
from runtimes.ov.lane import OpenVinoLane
from runtimes.ov.library import library
from runtimes.ov.operators import Means
from runtimes.ov.pinning import pinned_threads
from runtimes.request import Request

DIRECT_CALL = "ov_infer_request_infer of the C library"


class OpenVinoSession(Session):
    """Owns the compiled model; a lane for each of its streams, with a request of its own, or for
    each of the shapes that its one stream serves.

    `model` is the library's handle of the graph and stays the caller's. The engine may make
    fewer streams than the properties ask for. `executed_on` are the devices that it says it runs
    on, `pinned_threads` how many of its threads have a core of their own. Raises OpenVinoError.
    """

    lanes: tuple[OpenVinoLane, ...]
    by_shape: tuple[OpenVinoLane, ...]

    def __init__(
        self,
        model: c_void_p,
        requests: Sequence[Request],
        device: str,
        properties: Mapping[str, str],
    ) -> None:
        engine = library()
        with ExitStack() as opened:
            compiled = engine.compile(opened, model, device, properties)
            # A device that chooses among others tells of no streams.
            told = int(engine.property(compiled, "OPTIMAL_NUMBER_OF_INFER_REQUESTS"))
            lanes = []
            streams = min(told, int(requests[0].options["streams"]))
            for request in requests if len(requests) > 1 else [*requests] * streams:
                lanes.append(OpenVinoLane(engine, compiled, request))
                opened.callback(lanes[-1].close)
            self.by_shape = tuple(lanes) if len(requests) > 1 else ()
            self.lanes = tuple(lanes[:1] if self.by_shape else lanes)
            self.pinned_threads = pinned_threads(engine, compiled)
            self.executed_on = tuple(engine.property(compiled, "EXECUTION_DEVICES").split())
            self._held = opened.pop_all()
        self._means = Means(self.lanes[0]) if properties.get("PERF_COUNT") == "YES" else None
        self.call_path = DIRECT_CALL
        if self.lanes[0].allocates:
            self.call_path += ", outputs allocated by the engine"

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        if self._means is None:
            return super().operator_times(runs)
        return self._means.op_times(self.lanes[0].run, runs)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        self._held.close()
