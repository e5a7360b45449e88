"""A batcher's server on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from app.cases.round import MEASURED
from app.cases.scenario import Batcher
from app.workers.batcher import Compiled, dispatch
from app.workers.loop import Block
from runtimes.execution import Samples

FOREVER = 2**62


class VirtualServer:
    """Time passes only where somebody waits or a batch is served."""

    def __init__(self, service_ns: Mapping[int, int]) -> None:
        self.now_ns = 0
        self.compiled = {
            size: Compiled(lambda: None, partial(self.serve, lasts))
            for size, lasts in service_ns.items()
        }

    def serve(self, lasts_ns: int) -> None:
        self.now_ns += lasts_ns

    def clock(self) -> int:
        return self.now_ns

    def wait(self, until_ns: int) -> None:
        self.now_ns = max(self.now_ns, until_ns)


def served(
    batcher: Batcher,
    arrivals_ns: Sequence[int],
    service_ns: Mapping[int, int],
    until_ns: int = FOREVER,
) -> Samples:
    """The records of all requests that a server of these times has served."""
    server, block = VirtualServer(service_ns), Block(len(arrivals_ns))
    dispatch(block, arrivals_ns, [until_ns], batcher, server.compiled, server.clock, server.wait)
    records = block.records(len(arrivals_ns), MEASURED)
    records = records[records["finished_ns"] > 0]
    return Samples(
        records["scheduled_ns"], records["started_ns"], records["finished_ns"], "wall", True
    )


def same_service(batcher: Batcher, service_ns: int) -> dict[int, int]:
    return dict.fromkeys(batcher.sizes, service_ns)
