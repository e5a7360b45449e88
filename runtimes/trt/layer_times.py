"""What each layer of an engine takes in a run, as TensorRT tells a profiler of ours."""

from __future__ import annotations

from types import ModuleType


class LayerTimes:
    """What TensorRT reports of each layer, added up by its name in the order of execution."""

    def __init__(self) -> None:
        self.spent_ms: dict[str, float] = {}

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        self.spent_ms[layer_name] = self.spent_ms.get(layer_name, 0.0) + ms


def layer_times(trt: ModuleType) -> LayerTimes:
    """None so far, as the package takes them: its contexts ask for one of its own IProfiler."""

    class Profiler(LayerTimes, trt.IProfiler):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            trt.IProfiler.__init__(self)
            LayerTimes.__init__(self)

    return Profiler()
