"""The cases of a run as figures have them: label, colour, how it ended, shape of its samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.cases.case import Case
from app.cases.column import Row, number_of
from app.cases.scenario import CLOSED_LOOP
from app.results.labels import labels
from app.results.measured import Measured
from app.results.run import Run

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999)
_SHARES = (*SHARES, 0.99999, 0.999999)
_LEAST_US = 1e-3
"""A clock's step: a logarithmic axis has no 0."""


@dataclass(slots=True)
class Shown:
    """One case that was timed. `color` and `dash` are numbers that tell it from the others of its
    model."""

    run: Run
    measured: Measured
    label: str
    color: int
    dash: int
    _pooled: np.ndarray | None = None

    @property
    def row(self) -> Row:
        return self.measured.row

    @property
    def case_id(self) -> str:
        return self.measured.case.case_id

    @property
    def simulated(self) -> bool:
        return self.row["clock"] == "simulated"

    @property
    def is_well(self) -> bool:
        return self.measured.is_well

    @property
    def is_hollow(self) -> bool:
        """Whether the figure is simulated, or not to be ranked."""
        return self.simulated or not self.is_well

    @property
    def name(self) -> str:
        """The label with what must not be overlooked."""
        marks = [str(self.row["status"]).replace("_", " ")] if self.row["status"] != "ok" else []
        marks += ["not valid"] if self.row["valid"] is False else []
        marks += ["simulated"] if self.simulated else []
        return f"{self.label} ({', '.join(marks)})" if marks else self.label

    def figure(self, name: str) -> float | None:
        """A number of the row."""
        return number_of(self.row.get(name))

    @property
    def latency_us(self) -> np.ndarray:
        """Of all rounds together, ascending [n]."""
        if self._pooled is None:
            rounds = self.run.rounds_of(self.measured.case)
            parts = [self.run.samples_of(one).latency_ns for one in rounds if one.samples]
            self._pooled = np.sort(np.concatenate(parts)) / 1e3 if parts else np.empty(0)
        return self._pooled

    def percentiles_us(self) -> list[tuple[float, float]]:
        """(share of runs, latency) as far as there is a run beyond."""
        sorted_us = self.latency_us
        count = len(sorted_us)
        supported = [share for share in _SHARES if count * (1.0 - share) >= 1.0]
        ranks = [max(0, int(np.ceil(share * count)) - 1) for share in supported]
        return [(s, float(sorted_us[rank])) for s, rank in zip(supported, ranks, strict=True)]

    @property
    def fastest_and_slow_us(self) -> tuple[float, float] | None:
        """The fastest run and the p99.5; None without samples."""
        sorted_us = self.latency_us
        if not len(sorted_us):
            return None
        slow = sorted_us[max(0, int(np.ceil(0.995 * len(sorted_us))) - 1)]
        return max(float(sorted_us[0]), _LEAST_US), max(float(slow), _LEAST_US)

    def shares(self, edges_us: np.ndarray) -> np.ndarray:
        """The share of all runs between each two edges."""
        sorted_us = self.latency_us
        counts, _ = np.histogram(sorted_us, edges_us)
        return counts / max(1, len(sorted_us))

    @property
    def without_batch(self) -> Case:
        """The case but for its batch size: the same for all that differ in nothing else."""
        return without_batch(self.run, self.measured.case)

    @property
    def without_load(self) -> Case:
        """The same but for when its requests come."""
        return replace(self.measured.case, scenario=CLOSED_LOOP)

    def forget(self) -> None:
        """Let go of the samples."""
        self._pooled = None


def without_batch(run: Run, case: Case) -> Case:
    """The case but for its batch size."""
    model = run.model_of(case)
    axis = model.batch if model is not None and isinstance(model.batch, str) else "batch"
    return replace(case, axes={name: size for name, size in case.axes.items() if name != axis})


def shown(run: Run, measured: Sequence[Measured]) -> list[Shown]:
    """The cases that were timed, in the plan's order."""
    return list(_shown(run, [one for one in measured if one.summary is not None]))


def _shown(run: Run, timed: Sequence[Measured]) -> Iterator[Shown]:
    told = labels([one.case for one in timed])
    runtimes = list(dict.fromkeys(one.case.runtime for one in timed))
    seen: dict[tuple[str, str], int] = {}
    for one in timed:
        own = (one.case.model, one.case.runtime)
        number = seen[own] = seen.get(own, -1) + 1
        yield Shown(run, one, told[one.case.case_id], runtimes.index(one.case.runtime), number)
