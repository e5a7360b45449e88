"""What a run has of a study so far: its cases by what they are, and figures as cells of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.column import number_of
from app.cases.errors import ResultsError
from app.cases.status import INCOMPLETE
from app.plan.studies import StudyPlan, is_part, is_twin_of_part
from app.results import text
from app.results.hosts_together import HostsTogether, hosts_together
from app.results.measured import Measured
from app.results.rows import Rows
from app.results.run import Run
from app.results.verify import read_whole

NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Found:
    """A run with the rows of those of its cases that are the study's, in the plan's order;
    `others` counts the rest.

    Of a page of one machine the rows are those of `host` where the run has several, and `together`
    is what all of them serve. `damaged` has a sentence for each thing in its folder that could not
    be read.
    """

    run: Run
    measured: tuple[Measured, ...]
    others: int = 0
    host: str = ""
    together: tuple[HostsTogether, ...] = ()
    damaged: tuple[str, ...] = ()

    @property
    def environment(self) -> Mapping[str, Any]:
        """The machine that the rows are of."""
        if self.host and self.measured:
            return self.run.environment_of(self.measured[0].case)
        return self.run.manifest.environment

    def such(self, asked: Callable[[Case], bool]) -> Iterator[Measured]:
        """The cases that are so, in the plan's order."""
        return (one for one in self.measured if asked(one.case))

    def one(self, asked: Callable[[Case], bool]) -> Measured | None:
        """The first of them; None where the run has none."""
        return next(self.such(asked), None)


def found_in(folder: Path, study: StudyPlan, one_host: bool = False) -> Found:
    """A run as it is now, of what is whole in it; ResultsError for a folder that is none, and as
    `refuse_others`."""
    whole = read_whole(folder)
    found = found_of(whole.run, Rows().measured(whole.run), study, one_host)
    return replace(found, damaged=whole.left_out)


def found_of(
    run: Run, measured: Sequence[Measured], study: StudyPlan, one_host: bool = False
) -> Found:
    """The same of a run whose rows are known; ResultsError as `refuse_others`.

    With `one_host` it has of several machines the rows of the one with most that are well, the
    first of such.
    """
    refuse_others(run, study)
    own = tuple(one for one in measured if is_part(one.case, study))
    others = len(measured) - len(own) - sum(is_twin_of_part(one.case, study) for one in measured)
    hosts = sorted({run.host_of(one.case) for one in own})
    if len(hosts) == 1 or not one_host:
        return Found(run, own, others)
    well = Counter(run.host_of(one.case) for one in own if one.is_well)
    host = max(hosts, key=lambda name: well[name])
    kept = tuple(one for one in own if run.host_of(one.case) == host)
    return Found(run, kept, others, host, hosts_together(run, own))


def refuse_others(run: Run, study: StudyPlan) -> None:
    """ResultsError for a run that has nothing of the study."""
    if not any(is_part(case, study) for case in run.cases):
        raise ResultsError(
            f"{run.path} has no case of {study.name}", "name a run that this study made"
        )


def figure(one: Measured | None, column: str) -> float | None:
    """A figure of a case that may be compared; None where there is none, or its row is not well."""
    if one is None or not one.is_well:
        return None
    return number_of(one.row[column])


def cell(
    one: Measured | None, column: str, as_text: Callable[[float | None], str] = text.latency
) -> str:
    """The figure as text, or in a word why there is none: the row's status, or that the samples
    don't bound it (`-`)."""
    if one is None:
        return ""
    if one.row["status"] in INCOMPLETE:
        return NOT_RUN
    if not one.is_well:
        status = str(one.row["status"]).replace("_", " ")
        return status if status != "ok" else "not valid"
    return as_text(figure(one, column))
