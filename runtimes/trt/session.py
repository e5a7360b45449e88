"""One TensorRT engine with a lane for each of its streams."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

from runtimes.base import Session
from runtimes.cuda.driver import Gpu
from runtimes.execution import Execution, Memory, OpTime, Spans
from runtimes.faults import RuntimeFault
from runtimes.request import Request
from runtimes.trt import operators
from runtimes.trt.build import layers_json
from runtimes.trt.engines import Made
from runtimes.trt.faults import Log, run_fault
from runtimes.trt.lane import TensorRtLane

if TYPE_CHECKING:
    import tensorrt


class TensorRtSession(Session):
    """Owns the engine and the GPU; a lane for each stream, with its own execution context."""

    lanes: tuple[TensorRtLane, ...]
    plan_bytes: int
    """The size of the engine as a file."""

    def __init__(
        self,
        trt: ModuleType,
        request: Request,
        made: Made,
        execution: Execution,
        gpu: Gpu,
        log: Log,
    ) -> None:
        self._trt = trt
        self._runtime, self._engine = made.loaded
        self.plan_bytes = made.plan_bytes
        self._gpu = gpu
        streams, tells = int(request.options["streams"]), request.settings.operator_times
        on_host = execution.boundary == "host"
        cuda_graph = bool(request.options["cuda_graph"]) and not tells
        self._tells = tells
        self.lanes = tuple(
            TensorRtLane(trt, request, self._engine, gpu, log, on_host, cuda_graph)
            for _ in range(streams)
        )
        self._memory = Memory(_device_bytes(trt, self._engine, streams, gpu), told_by="sizes")
        path = "cuGraphLaunch" if cuda_graph else "execute_async_v3"
        self.execution = replace(
            execution,
            call_path=f"{path}, cuStreamSynchronize",
            clock="device" if tells else "wall",
        )

    def spans(self, runs: int) -> Spans:
        return self.lanes[0].spans(runs)

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        if not self._tells or self._engine is None:
            return super().operator_times(runs)
        spent_ms = self.lanes[0].layer_times_ms(runs)
        return operators.op_times(layers_json(self._trt, self._engine), spent_ms)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def memory(self) -> Memory:
        return self._memory

    def close(self) -> None:
        # A run that failed may have left work behind which still uses the contexts.
        self._gpu.finish()
        for lane in self.lanes:
            lane.close()
        # In this order: an engine must outlive its contexts, a runtime its engines.
        self._engine, self._runtime = None, None
        self._gpu.close()


def _device_bytes(
    trt: ModuleType, engine: tensorrt.ICudaEngine, contexts: int, gpu: Gpu
) -> int | None:
    """Weights, activations and our buffers; None before TensorRT 10.14, which does not tell."""
    if not hasattr(engine, "get_engine_stat"):
        return None
    weights: int = engine.get_engine_stat(trt.EngineStat.TOTAL_WEIGHTS_SIZE)
    return weights + contexts * int(engine.device_memory_size_v2) + gpu.allocated_bytes
