"""What the time of a run is made of: in an open loop it waits in a queue and is then served."""

from __future__ import annotations

from typing import Literal

import numpy as np

from app.cases.round import latency_ns

Part = Literal["latency", "service", "queue"]


def part_ns(records: np.ndarray, part: Part, from_schedule: bool) -> np.ndarray:
    """Nanoseconds [n] of RECORD records: of the latency, which counts from when a run was due or
    from its start, of its service, or of its wait before that."""
    if part == "queue":
        waited: np.ndarray = records["started_ns"] - records["scheduled_ns"]
        return waited
    return latency_ns(records, part == "latency" and from_schedule)
