"""The raw samples of a run, a round at a time, so that memory does not grow with the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.cases.case import Case
from app.cases.round import RoundResult, latency_ns
from app.results.run import SAMPLES, Run, read_records

NAMES = (
    "case_id",
    "round",
    "phase",
    "lane",
    "scheduled_ns",
    "started_ns",
    "finished_ns",
    "latency_ns",
)
"""What a table of samples has of each iteration, warm-up included."""
PHASES = ("warmup", "measured", "first_seen")
"""The phase of a record, by its number."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A round with its samples: `app.cases.round.RECORD` records [n]."""

    case: Case
    result: RoundResult
    records: np.ndarray

    @property
    def latency_ns(self) -> np.ndarray:
        """int64 [n]; of an open loop it counts from when a run was due."""
        return latency_ns(self.records, self.result.open_loop is not None)


def recorded(run: Run) -> Iterator[Recorded]:
    """Each round that has samples, in the order of the cases; ResultsError if a file is gone."""
    for case in run.cases:
        for result in run.rounds_of(case):
            if result.samples:
                yield Recorded(case, result, read_records(run.path / SAMPLES / result.samples))
