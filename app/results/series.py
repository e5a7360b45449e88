"""What a plot is given: one case of one run, as values without Qt.

Views draw series and know nothing of run folders; whoever follows a folder makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from app.cases.case import Case
from app.cases.column import Blank
from app.cases.status import Status
from app.results.measured import Measured
from app.results.parts import Part
from app.results.rates_found import RateAnswer
from app.results.tune_answer import TuneAnswer
from app.results.watched import Watched
from app.stats.summary import Summary
from runtimes.execution import Clock

Standing = Status | Literal["waiting", "measuring"]
"""How a case ended, or that it has not."""


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A figure that a source document prints for a model: a reference, never a result."""

    label: str
    statistic: str  # "mean" or "p99"
    value_us: float
    source: str


@dataclass(frozen=True, slots=True)
class Series:
    """One case: who it is, its histogram so far, its raw samples, and its row.

    `key` is the case's id in its run.
    `counts` are those of `app.stats.histogram.Histogram` (measured samples only).
    `rounds` are `app.cases.round.RECORD` record arrays or memory maps, one per round, warm-up
    included and marked. `summary` is None while only bins are known: markers are then
    provisional. `row` is the case's row of results.csv, by column name, once there is one.
    `batch_axis` is the size in the case that the row calls the batch. `timed` are the numbers of
    the rounds that the summary is of, in its order, `cpu_mhz` is the mean clock in them. `sought`
    is of a rate that a search has come to, `ladder` of the default that a search over options
    began with. `watched` is what was recorded beside each of `rounds`; `turn` is `Run.turn_of`.
    `damage` says what is broken of its files, "" for nothing that is known.
    """

    key: str
    case: Case
    label: str
    model: str
    runtime: str
    clock: Clock
    status: Standing
    counts: np.ndarray
    rounds: tuple[np.ndarray, ...] = ()
    summary: Summary | None = None
    published: tuple[ReferenceLine, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict)
    batch_axis: str = "batch"
    timed: tuple[int, ...] = ()
    cpu_mhz: float | None = None
    sought: RateAnswer | None = None
    watched: tuple[Watched, ...] = ()
    ladder: TuneAnswer | None = None
    turn: str = ""
    damage: str = ""

    @property
    def measured(self) -> Measured:
        """The same as comparisons take it."""
        row = Blank({**self.row, "clock": self.clock})
        return Measured(self.case, row, self.summary, self.timed, self.cpu_mhz, self.turn)

    def has(self, part: Part) -> bool:
        """Whether its runs have this part: nothing queues unless runs are due at fixed times."""
        return part != "queue" or self.case.scenario.is_open_loop
