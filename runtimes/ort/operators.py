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
_MEMORY = ("mem_bytes_in_use", "mem_in_use_peak", "mem_arena_held")

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

    def of_pool(self, word: str) -> float | None:
        """Microseconds that the calling thread spent so, `Run` or `Wait`, of a kernel that was
        given to a pool of threads; a session of one thread has none."""
        statistics = self.event["args"].get("thread_scheduling_stats")
        if not isinstance(statistics, dict):
            return None
        value = statistics.get("main_thread", {}).get(word)
        return None if value is None else float(value)


def op_times(path: Path, runs: int) -> tuple[OpTime, ...]:
    """The median time of each kernel in the last `runs` runs, in the order of execution, and the
    memory in all runs: of the first one too, before activations are laid out in one block.

    The profiler counts whole microseconds: within the one that holds the median its place is
    interpolated. The time of a node with a body, such as a loop, contains that of the nodes in it.
    """
    events = json.loads(path.read_text("utf-8"))
    begun = sorted(event["ts"] for event in events if event["name"] == _RUN)[-runs:]
    kernels: dict[tuple[str, str, str, str], _Kernel] = {}
    peaks_before: dict[str, int] = {}
    for call in sorted(_calls(events), key=lambda call: call.event["ts"]):
        facts, name = call.event["args"], call.event["name"].removesuffix(_KERNEL)
        provider = facts["provider"]
        key = (name, facts["node_index"], facts["op_name"], provider)
        kernel = kernels.setdefault(key, _Kernel())
        memory = _Memory.of(facts)
        if memory is not None:
            kernel.use(memory, peaks_before.get(provider))
            peaks_before[provider] = memory.peak_bytes
        if run := bisect_right(begun, call.event["ts"]):
            kernel.add(run, call)
    return tuple(
        kernel.op_time(name or f"node {index}", op)
        for (name, index, op, _), kernel in kernels.items()
        if kernel.spent_us
    )


@dataclass(frozen=True, slots=True)
class _Memory:
    """What the allocator of a provider says at the end of a kernel; `peak_bytes` is its most since
    the session was opened. Earlier releases and sessions without an arena say nothing."""

    in_use_bytes: int
    peak_bytes: int
    arena_bytes: int

    @staticmethod
    def of(facts: Mapping[str, Any]) -> _Memory | None:
        values = [facts.get(name) for name in _MEMORY]
        known = [int(value) for value in values if value is not None]
        return _Memory(*known) if len(known) == len(_MEMORY) else None


@dataclass(slots=True)
class _Kernel:
    """What one kernel took in each run, by the run's number, and of memory the most in any."""

    engine_name: str = ""
    spent_us: dict[int, float] = field(default_factory=dict)
    pool_run_us: dict[int, float] = field(default_factory=dict)
    pool_wait_us: dict[int, float] = field(default_factory=dict)
    on_device: bool = False
    memory: _Memory | None = None

    def add(self, run: int, call: _Call) -> None:
        self.engine_name = self.engine_name or call.engine_name
        self.spent_us[run] = self.spent_us.get(run, 0.0) + call.time_us
        self.on_device |= bool(call.on_device)
        for spent, word in ((self.pool_run_us, "Run"), (self.pool_wait_us, "Wait")):
            time_us = call.of_pool(word)
            if time_us is not None:
                spent[run] = spent.get(run, 0.0) + time_us

    def use(self, memory: _Memory, peak_before: int | None) -> None:
        """The allocator's peak is this kernel's if it rose while the kernel ran."""
        rose = peak_before is not None and memory.peak_bytes > peak_before
        peak = memory.peak_bytes if rose else memory.in_use_bytes
        known = self.memory or _Memory(0, 0, 0)
        self.memory = _Memory(
            max(known.in_use_bytes, memory.in_use_bytes),
            max(known.peak_bytes, peak),
            max(known.arena_bytes, memory.arena_bytes),
        )

    def op_time(self, node: str, op: str) -> OpTime:
        memory = self.memory
        return OpTime(
            node,
            op,
            self._median_us,
            self.engine_name,
            in_use_bytes=memory.in_use_bytes if memory else None,
            peak_bytes=memory.peak_bytes if memory else None,
            arena_bytes=memory.arena_bytes if memory else None,
            pool_run_us=median(self.pool_run_us.values()) if self.pool_run_us else None,
            pool_wait_us=median(self.pool_wait_us.values()) if self.pool_wait_us else None,
        )

    @property
    def _median_us(self) -> float:
        times_us = list(self.spent_us.values())
        return median(times_us) if self.on_device else median_grouped(times_us, interval=1.0)


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
