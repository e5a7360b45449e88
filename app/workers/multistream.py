"""Several requests at once: queries of so many, one after another, or all that there are.

Lanes share the requests. A query's are dealt out evenly and it ends with the last lane's last
answer: a record is of a query. Of those that all come at once each lane takes the next: a record
is of a run, due when the block began, and a block counts as a whole.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from app.cases.round import MEASURED, RECORD, WARMUP, latency_ns
from app.cases.scenario import Scenario
from app.workers.lanes import BLOCK_CAPACITY, LOOP_NS, counted_records, rewarming
from app.workers.loop import Block, LaneThreads, sets_fed
from app.workers.timing import Requests, query_timing, request_timing
from runtimes.base import Arrays, Lane
from runtimes.calls import GIVEN_UP
from runtimes.errors import Unsupported


class Queries(LaneThreads):
    """`multistream:N`: N requests at once, the next N when all of them are answered.

    Unsupported where a lane would have none of them.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        scenario: Scenario,
        streaming: bool,
        first_ns: float,
        sets: Sequence[Arrays] = (),
    ) -> None:
        if scenario.count < len(lanes):
            raise Unsupported(
                f"{scenario} gives {len(lanes)} lanes too few requests, and some would idle",
                f"use multistream:{len(lanes)}, or fewer sessions or streams",
            )
        super().__init__(lanes)
        self._positions = array("q", bytes(8 * len(lanes)))
        shares = [share(scenario.count, len(lanes), number) for number in range(len(lanes))]
        self._times = [
            query_timing(lane, number, shares[number], self._positions, streaming, sets)
            for number, lane in enumerate(lanes)
        ]
        self._blocks = [Block(0) for _ in lanes]
        self._typical_ns = max(first_ns, 1.0) * shares[0]

    @property
    def run_s(self) -> float:
        return (self._typical_ns + LOOP_NS) * 1e-9

    def block(self, seconds: float, minimum: int) -> np.ndarray:
        counting = min(max(int(seconds / self.run_s), minimum), BLOCK_CAPACITY)
        first = rewarming(counting)
        count = first + counting
        self._positions[:] = array("q", bytes(8 * len(self._positions)))
        self._blocks = [with_room(block, count) for block in self._blocks]
        self.run_all(lambda lane: self._answer(lane, count))
        records = whole_queries([block.records(count, MEASURED) for block in self._blocks])
        records["phase"][:first] = WARMUP
        self._typical_ns = float(np.median(latency_ns(counted_records(records))))
        return records

    def _answer(self, lane: int, count: int) -> None:
        """A lane's part of so many queries; where it fails, no other waits for it."""
        try:
            self._times[lane](self._blocks[lane], count)
        except Exception:
            self._positions[lane] = GIVEN_UP
            raise


class AllAtOnce(LaneThreads):
    """`offline`: all requests of a block are due when it begins, and lanes take them in turn."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        streaming: bool,
        first_ns: float,
        sets: Sequence[Arrays] = (),
    ) -> None:
        super().__init__(lanes)
        self._times = [request_timing(lane, streaming, sets) for lane in lanes]
        self._blocks = [Block(0) for _ in lanes]
        self._sets, self._timed_counts = len(sets), [0] * len(lanes)
        self._typical_ns = max(first_ns, 1.0)

    @property
    def run_s(self) -> float:
        return (self._typical_ns + LOOP_NS) * 1e-9

    def block(self, seconds: float, minimum: int) -> np.ndarray:
        """As `Blocks.block`; those that do not count are over before the others are due."""
        lanes = len(self._times)
        lane_runs = min(max(int(seconds / self.run_s), minimum), BLOCK_CAPACITY // lanes)
        # Room for twice a lane's part: one that is faster than the others takes more.
        self._blocks = [with_room(block, 2 * lane_runs) for block in self._blocks]
        warmup_records = self._run_requests([Requests(rewarming(lane_runs)) for _ in self._times])
        warmup_records["phase"] = WARMUP
        records = self._run_requests([Requests(lane_runs * lanes)] * lanes)
        self._typical_ns = float(np.mean(latency_ns(records)))
        return np.concatenate([warmup_records, records])

    def _run_requests(self, requests: Sequence[Requests]) -> np.ndarray:
        """The runs that the lanes took of their requests."""
        counts = [0] * len(requests)

        def take(lane: int) -> None:
            counts[lane] = self._times[lane](self._blocks[lane], requests[lane])

        self.run_all(take)
        lane_records = [b.records(n, MEASURED) for b, n in zip(self._blocks, counts, strict=True)]
        for lane, part in enumerate(lane_records):
            part["lane"], part["scheduled_ns"] = lane, requests[lane].due_ns
            part["set"] = sets_fed(self._timed_counts[lane], len(part), self._sets)
            self._timed_counts[lane] += len(part)
        records = np.concatenate(lane_records)
        return records[np.argsort(records["started_ns"], kind="stable")]


def share(requests: int, lanes: int, lane: int) -> int:
    """How many of a query's requests a lane has: equally many, the first ones one more."""
    return requests // lanes + (lane < requests % lanes)


def whole_queries(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Of each lane's parts of the same queries [n] the queries [n]: from the first start to the
    last end."""
    records = np.zeros(len(parts[0]), RECORD)
    records["started_ns"] = np.min([part["started_ns"] for part in parts], axis=0)
    records["finished_ns"] = np.max([part["finished_ns"] for part in parts], axis=0)
    records["scheduled_ns"] = records["started_ns"]
    records["phase"] = MEASURED
    return records


def with_room(block: Block, count: int) -> Block:
    """The block, or a new one where it has no room for so many runs."""
    return block if block.capacity >= count else Block(count)
