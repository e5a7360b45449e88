"""The times of operators from the file that ONNX Runtime's profiler writes.

A kernel's time there is the host's, from its call to its return. Of a device that computes on
after the call returned it would be the launch alone: so those of a provider on a GPU are taken with
launches that wait (`LAUNCHES_WAIT`), and a time is the kernel's with its launch. A build of
ONNX Runtime that records the device's own events writes them beside; those come first.
"""

from __future__ import annotations

import json
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, median_grouped
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

from runtimes.execution import OpTime

if TYPE_CHECKING:
    import onnxruntime

LAUNCHES_WAIT = {"CUDA_LAUNCH_BLOCKING": "1"}
"""What the environment must say when the CUDA driver is loaded, for launches to wait."""

_KERNEL, _RUN = "_kernel_time", "model_run"
_DEVICE = "Kernel"

Event = Mapping[str, Any]


class Recording:
    """The folder that a session which was opened with profiling writes to, until `close`."""

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="graphlap-"))
        # A compilation that fails leaves nobody to close this.
        self._remove = finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @property
    def prefix(self) -> Path:
        """What the file's name begins with."""
        return self.folder / "kernels"

    @property
    def graph(self) -> Path:
        """Where the engine may write the graph as it runs it."""
        return self.folder / "executed.onnx"

    def op_times(
        self, engine: onnxruntime.InferenceSession, run: Callable[[], object], runs: int
    ) -> tuple[OpTime, ...]:
        """The median time of each operator over `runs` calls of `run`; ends the recording."""
        for _ in range(runs):
            run()
        return op_times(Path(engine.end_profiling()), runs)

    def close(self) -> None:
        """Remove the folder; idempotent."""
        self._remove()


@dataclass(slots=True)
class _Call:
    """One call of a kernel, and what the device itself recorded of it, if it did."""

    event: Event
    on_device: list[Event] = field(default_factory=list)

    @property
    def time_us(self) -> float:
        """The host's durations are cut to whole microseconds, so half of one is missing."""
        return sum(event["dur"] for event in self.on_device) or self.event["dur"] + 0.5

    @property
    def engine_name(self) -> str:
        if self.on_device:
            return str(max(self.on_device, key=lambda event: event["dur"])["name"])
        return f"{self.event['args']['op_name']} of {self.event['args']['provider']}"


def op_times(path: Path, runs: int) -> tuple[OpTime, ...]:
    """The median time of each kernel in the last `runs` runs, in the order of execution.

    The profiler counts whole microseconds: within the one that holds the median its place is
    interpolated. The time of a node with a body, such as a loop, contains that of the nodes in it.
    """
    events = json.loads(path.read_text("utf-8"))
    begun = sorted(event["ts"] for event in events if event["name"] == _RUN)[-runs:]
    kernels: dict[tuple[str, str, str, str], _Kernel] = {}
    for call in sorted(_calls(events), key=lambda call: call.event["ts"]):
        run = bisect_right(begun, call.event["ts"])
        if run == 0:
            continue
        facts, name = call.event["args"], call.event["name"].removesuffix(_KERNEL)
        key = (name, facts["node_index"], facts["op_name"], facts["provider"])
        kernels.setdefault(key, _Kernel(call.engine_name)).add(run, call)
    return tuple(
        OpTime(name or f"node {index}", op, kernel.median_us, kernel.engine_name)
        for (name, index, op, _), kernel in kernels.items()
    )


@dataclass(slots=True)
class _Kernel:
    """What one kernel took in each run, by the run's number."""

    engine_name: str
    spent_us: dict[int, float] = field(default_factory=dict)
    on_device: bool = False

    def add(self, run: int, call: _Call) -> None:
        self.spent_us[run] = self.spent_us.get(run, 0.0) + call.time_us
        self.on_device |= bool(call.on_device)

    @property
    def median_us(self) -> float:
        told = list(self.spent_us.values())
        return median(told) if self.on_device else median_grouped(told, interval=1.0)


def _calls(events: Iterable[Event]) -> list[_Call]:
    """The calls of kernels; the file has the device's events of a call right after it."""
    calls: list[_Call] = []
    for event in events:
        if event.get("cat") == _DEVICE:
            if calls:
                calls[-1].on_device.append(event)
        elif event["name"].endswith(_KERNEL):
            calls.append(_Call(event))
    return calls
