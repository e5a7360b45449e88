"""What a session tells: what really runs and where, what it takes, on which clock.

Values that cross from the adapters to the processes that measure; standard library and numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

import numpy as np

from exporters.diagnostics import Diagnostic

Clock = Literal["wall", "device", "simulated", "imported"]
"""`imported` is that of another program, whose figures were read from a file: no session has it."""
Boundary = Literal["host", "device"]


@dataclass(frozen=True, slots=True)
class NodePlacement:
    """Where the engine put one node of the graph that it executes.

    `counts` is False for the integer shape arithmetic that may stay on the host
    without making the row partial. `position` is its place in the order of execution, which several
    nodes of one kernel share; None where that is not known.
    """

    node: str
    op: str
    provider: str
    precision: str
    counts: bool = True
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """What really runs, read from the compiled session, not from what was asked.

    `elsewhere` names the counted nodes that the asked-for engine did not take: a row with any is
    `partial`. `facts` are figures the runtime knows (`cycles`, `io_us`, `weight_tiles_used`,
    `weight_tiles_total`, `activation_bytes`, `fidelity`, `engine_cache`), by column name.
    `inspection_ms` is the part of `compile` that went into finding this out, not into the engine's
    own work.
    """

    provider: str
    precision: str
    device_name: str
    call_path: str
    clock: Clock = "wall"
    boundary: Boundary = "host"
    placement: tuple[NodePlacement, ...] = ()
    facts: Mapping[str, float | int | str] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    inspection_ms: float = 0.0

    @property
    def elsewhere(self) -> tuple[NodePlacement, ...]:
        return tuple(n for n in self.placement if n.counts and n.provider != self.provider)

    @property
    def partitions(self) -> tuple[tuple[NodePlacement, ...], ...]:
        """The counted nodes in the order of execution, grouped where the provider changes; empty
        where the order is not known."""
        ordered_nodes: list[tuple[int, NodePlacement]] = []
        for node in self.placement:
            if node.counts and node.position is None:
                return ()
            if node.counts and node.position is not None:
                ordered_nodes.append((node.position, node))
        ordered_nodes.sort(key=lambda entry: entry[0])
        groups = groupby((node for _, node in ordered_nodes), key=lambda node: node.provider)
        return tuple(tuple(nodes) for _, nodes in groups)

    @property
    def splitting(self) -> tuple[NodePlacement, ...]:
        """The nodes elsewhere that have nodes of the asked-for engine before and after them."""
        own_partitions = [
            k for k, nodes in enumerate(self.partitions) if nodes[0].provider == self.provider
        ]
        if not own_partitions:
            return ()
        span = self.partitions[own_partitions[0] : own_partitions[-1]]
        return tuple(n for nodes in span for n in nodes if n.provider != self.provider)


@dataclass(frozen=True, slots=True)
class Memory:
    """Peak bytes that the engine itself accounts for; None where it does not say.

    `of_process` where the engine counts all of its sessions in this process together. `told_by` is
    what was asked for the device's: an `allocator` counts tensors alone, `sizes` what is known to
    be laid out, `free memory` all that is gone since.
    """

    device_peak_bytes: int | None = None
    host_peak_bytes: int | None = None
    of_process: bool = False
    told_by: str = ""


@dataclass(frozen=True, slots=True)
class OpTime:
    """What one node of the executed graph takes in one run, the median of several.

    `node` is its name in the graph, or where it stands if it has none; `op` its kind;
    `engine_name` what the engine itself calls the work: a kernel, a layer, an instruction.
    `holds` are the nodes of the file that it was made of, where the engine tells them.

    `in_use_bytes` is the most that was in use when it ended, `peak_bytes` while it ran,
    and `arena_bytes` what the allocator of its provider then held. Of a node that threads share,
    the calling thread computed for `pool_run_us` and waited for the others for `pool_wait_us`, the
    medians of the runs. None where the engine does not report them.
    """

    node: str
    op: str
    time_us: float
    engine_name: str
    holds: tuple[str, ...] = ()
    in_use_bytes: int | None = field(default=None, kw_only=True)
    peak_bytes: int | None = field(default=None, kw_only=True)
    arena_bytes: int | None = field(default=None, kw_only=True)
    pool_run_us: float | None = field(default=None, kw_only=True)
    pool_wait_us: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Spans:
    """Parts of runs on the device's own clock, int64 nanoseconds [n] each.

    `h2d_ns` and `d2h_ns` are the copies in and out, None where they lie outside a run. Of the same
    runs on the host's clock: `queued_ns` until a run was queued, `run_ns` until it was complete.
    None where they are not known.
    """

    device_ns: np.ndarray
    h2d_ns: np.ndarray | None = None
    d2h_ns: np.ndarray | None = None
    queued_ns: np.ndarray | None = None
    run_ns: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class AfterCompletion:
    """Arrivals of a closed loop: the next request `gap_ns` after the last one finished."""

    count: int
    gap_ns: int = 0


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Arrivals fixed beforehand: int64 nanoseconds [n], ascending."""

    times_ns: np.ndarray


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries of `requests` requests each, submitted together; the next when all are answered."""

    count: int
    requests: int


Arrivals = AfterCompletion | Scheduled | Queries


@dataclass(frozen=True, slots=True)
class Samples:
    """One round's raw timings, int64 nanoseconds [n] each, on the clock that is named.

    `from_schedule` says what a latency counts from: when a run was due, as in an open loop, or
    when it began. `lanes` are the numbers of the lanes that ran, `shapes` those of the shapes that
    a session served, or of the sets that it was fed; None where there is one.
    """

    scheduled_ns: np.ndarray
    started_ns: np.ndarray
    finished_ns: np.ndarray
    clock: Clock
    from_schedule: bool = False
    lanes: np.ndarray | None = None
    shapes: np.ndarray | None = None

    @property
    def latency_ns(self) -> np.ndarray:
        """What a user waits, [n]: to the end, from the start or from when the run was due."""
        begin_ns = self.scheduled_ns if self.from_schedule else self.started_ns
        latency: np.ndarray = self.finished_ns - begin_ns
        return latency

    @property
    def service_ns(self) -> np.ndarray:
        """finished - started [n]."""
        service: np.ndarray = self.finished_ns - self.started_ns
        return service

    @property
    def queue_ns(self) -> np.ndarray:
        """started - scheduled [n]."""
        queue_times: np.ndarray = self.started_ns - self.scheduled_ns
        return queue_times
