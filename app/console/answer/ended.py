"""A run that has ended, with all that its answer is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from app.cases.case import Case
from app.cases.column import Row
from app.cases.imported import is_imported
from app.console.comparing import Outcome
from app.plan.plan import Plan
from app.results.fastest import Fastest, fastest
from app.results.hosts_together import HostsTogether, hosts_together
from app.results.measured import Measured
from app.results.rates_found import RatesFound, rates_found
from app.results.run import Run
from app.results.together import Together
from app.results.tune_answer import TunesFound, tunes_found
from exporters.twins import is_null


@dataclass(frozen=True)
class EndedRun:
    """`wanted` is how many rounds a case was to have. `compared` is what a comparison came to,
    `rates`, `tunes` and `together` what was searched for and what several hosts serve. `here` is
    the folder of the shell that the answer is for, the current one by default."""

    run: Run
    measured: Sequence[Measured]
    wanted: Callable[[Case], int]
    compared: Outcome | None = None
    rates: RatesFound | None = None
    tunes: TunesFound | None = None
    together: Sequence[HostsTogether] = ()
    hosts_left_out: Sequence[str] = ()
    here: Path | None = None

    @property
    def plan(self) -> Plan:
        return self.run.manifest.asked

    @cached_property
    def rows(self) -> list[Row]:
        return [one.row for one in self.measured]

    @cached_property
    def own(self) -> list[Measured]:
        """Without the no-op copies of models."""
        return [one for one in self.measured if not is_null(one.case.model)]

    @property
    def has_answer(self) -> bool:
        """Whether the plan asks another question than which runtime is fastest."""
        return self.rates is not None or self.tunes is not None or self.compared is not None

    @property
    def is_imported(self) -> bool:
        """Whether all of it was measured by other programs."""
        return all(is_imported(one.case.runtime) for one in self.measured)

    @cached_property
    def contests(self) -> list[Fastest]:
        return fastest(self.own, self.plan.band)

    @cached_property
    def cases(self) -> Together:
        """Describes any set of the run's cases."""
        return Together([one.case for one in self.measured])


def ended_run(run: Run, measured: Sequence[Measured], compared: Outcome | None = None) -> EndedRun:
    """A stored run; of what a budget left out nothing is known."""
    return EndedRun(
        run,
        measured,
        lambda case: len(run.rounds_of(case)),
        compared,
        rates=rates_found(run),
        tunes=tunes_found(run),
        together=hosts_together(run, measured),
    )
