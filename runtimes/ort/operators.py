"""The times of operators from the file that ONNX Runtime's profiler writes.

A kernel's time there is the host's, from its call to its return. Of a device that computes on
after the call returned it would be the launch alone: so those of a provider on a GPU are taken with
launches that wait (`LAUNCHES_WAIT`), and a time is the kernel's with its launch. A build of
ONNX Runtime that records the device's own events writes them beside; those come first.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
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

    def op_times(
        self, engine: onnxruntime.InferenceSession, run: Callable[[], object], runs: int
    ) -> tuple[OpTime, ...]:
        """The mean time of each operator over `runs` calls of `run`; ends the recording."""
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
        return sum(event["dur"] for event in self.on_device) or self.event["dur"]

    @property
    def engine_name(self) -> str:
        if self.on_device:
            return str(max(self.on_device, key=lambda event: event["dur"])["name"])
        return f"{self.event['args']['op_name']} of {self.event['args']['provider']}"


def op_times(path: Path, runs: int) -> tuple[OpTime, ...]:
    """The mean time of each kernel in the last `runs` runs, in the order of execution.

    The profiler counts whole microseconds. The time of a node with a body, such as a loop,
    contains that of the nodes in it.
    """
    events = json.loads(path.read_text("utf-8"))
    begun = sorted(event["ts"] for event in events if event["name"] == _RUN)[-runs]
    spent_us: dict[tuple[str, str, str, str], tuple[float, str]] = {}
    for call in sorted(_calls(events), key=lambda call: call.event["ts"]):
        if call.event["ts"] < begun:
            continue
        facts, name = call.event["args"], call.event["name"].removesuffix(_KERNEL)
        key = (name, facts["node_index"], facts["op_name"], facts["provider"])
        total_us, engine_name = spent_us.get(key, (0.0, call.engine_name))
        spent_us[key] = (total_us + call.time_us, engine_name)
    return tuple(
        OpTime(name or f"node {index}", op, total_us / runs, engine_name)
        for (name, index, op, _), (total_us, engine_name) in spent_us.items()
    )


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
